// compare: two programs, or one with two settings, on the same inputs.
#include <iostream>

#include "api/cli/compare.hpp"
#include "api/cli/compare_tables.hpp"
#include "api/daemon/flags.hpp"

namespace kiln::cli {

namespace {

struct CompareCommand {
  CompareArguments words;
  std::string csv;
  bool markdown = false;
};

int compare_command(Context& context, const CompareCommand& command) {
  const auto document = run_comparison(context, command.words, "kiln compare");
  if (!document) return report(context, document.error());
  if (!command.csv.empty())
    if (auto status = write_comparison_csv(command.csv, *document); !status) return report(context, status.error());
  if (context.json)
    print_json(*document);
  else
    std::cout << comparison_text(*document, command.markdown);
  return comparison_status(*document);
}

}  // namespace

void add_compare_commands(CLI::App& app, Context& context, int& status) {
  auto* command = app.add_subcommand(
      "compare", "two programs, or one with two settings, on the same inputs: timed, or counted on an emulated card");
  auto options = std::make_shared<CompareCommand>();
  options->words.add_to(*command);
  command->add_option("--csv", options->csv, "write the figures as a file")->check(daemon::path_flag_mistake);
  command->add_flag("--markdown", options->markdown, "print the tables as Markdown");
  command->callback([&context, &status, options] { status = compare_command(context, *options); });
}

}  // namespace kiln::cli
