// report: a comparison as one Markdown file.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "api/cli/compare.hpp"
#include "api/cli/report_chart.hpp"
#include "api/cli/report_text.hpp"
#include "api/cli/verdicts.hpp"
#include "api/daemon/flags.hpp"

namespace kiln::cli {

using protocol::Json;

namespace {

struct ReportCommand {
  CompareArguments words;
  std::string out, title;
  bool single_file = true;
};

Status write_text(const std::string& path, const std::string& text) {
  return write_file(path, ByteView(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

// What ran the comparison, each device once.
Result<Json> cards_of(Context& context, const Json& document) {
  Json cards = Json::array();
  std::vector<std::string> seen;
  for (const char* list : {"rows", "also"}) {
    for (const auto& row : document[list]) {
      const auto device = row.value("device", "");
      if (row.contains("not_run") || std::find(seen.begin(), seen.end(), device) != seen.end()) continue;
      seen.push_back(device);
      KILN_TRY(const auto entry, card_entry(context, device));
      Json card{{"device", device}, {"description", entry.value("description", "")}};
      if (device.starts_with("hip:")) {
        Verdicts verdicts(false);
        probe_hip(*context.configuration, device, "", "", verdicts);
        for (const auto& verdict : verdicts.json())
          if (verdict.value("what", "") == "HIP library") card["driver"] = verdict.value("text", "");
      }
      cards.push_back(std::move(card));
    }
  }
  return cards;
}

Result<ReportFacts> gather_facts(Context& context, const ReportCommand& command, const Json& document) {
  ReportFacts facts;
  facts.title = command.title;
  KILN_TRY(facts.cards, cards_of(context, document));
  utsname names{};
  ::uname(&names);
  facts.system = document["machine"].value("system", "");
  facts.kernel = std::string(names.sysname) + " " + names.release + " " + names.machine;
  if (document["a"]["kind"] == "python" || document["b"]["kind"] == "python") {
    KILN_TRY(facts.python, python_version(context));
  }
  return facts;
}

// The picture beside the report, "x.md" and "x.svg", or inside it.
Status place_chart(const ReportCommand& command, const Json& document, ReportFacts& facts) {
  const auto title = facts.title.empty() ? report_title(document) : facts.title;
  const auto svg = chart_svg(document, title);
  if (command.single_file) {
    facts.chart = "data:image/svg+xml;base64," + base64(svg);
    return ok();
  }
  const auto path = std::filesystem::path(command.out).replace_extension(".svg");
  facts.chart = path.filename().string();
  return write_text(path.string(), svg);
}

// Before the work is done for nothing: the report can be written, and is not its own chart.
Status check_output(Context& context, const ReportCommand& command) {
  std::error_code error;
  const std::filesystem::path path = command.out;
  const auto folder = std::filesystem::absolute(path, error).parent_path();
  if (!std::filesystem::is_directory(folder, error))
    return Error(ErrorCode::not_found, "-o " + command.out + ": there is no folder " + folder.string());
  if (!command.single_file && path.extension() == ".svg")
    return context.usage_error("-o " + command.out + ": the chart beside it would have the same name");
  for (const auto* side : {&command.words.a, &command.words.b}) {
    if (side->empty()) continue;
    KILN_TRY(const auto spec, parse_program_spec(context, *side));
    if (!spec.file.empty() && std::filesystem::equivalent(spec.file, path, error))
      return context.usage_error("-o " + command.out + ": the report would replace the program " + *side);
  }
  const bool there = std::filesystem::exists(path, error);
  const UniqueFd file(::open(command.out.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (!file.valid()) return errno_error(errno, "-o " + command.out);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return context.usage_error("-o " + command.out + ": expected a file");
  if (!there) ::unlink(command.out.c_str());
  return ok();
}

Result<Json> make_report(Context& context, const ReportCommand& command) {
  KILN_CHECK(check_output(context, command));
  KILN_TRY(auto document, run_comparison(context, command.words, "kiln report"));
  auto more = " -o " + shell_quoted(command.out);
  if (!command.title.empty()) more += " --title " + shell_quoted(command.title);
  if (!command.single_file) more += " --separate-chart";
  document["command"] = document["command"].get<std::string>() + more;
  KILN_TRY(auto facts, gather_facts(context, command, document));
  KILN_CHECK(place_chart(command, document, facts));
  KILN_CHECK(write_text(command.out, report_text(document, facts)));
  document["report"] = command.out;
  document["result"] = result_paragraph(document);
  return document;
}

int report_command(Context& context, const ReportCommand& command) {
  const auto document = make_report(context, command);
  if (!document) return report(context, document.error());
  if (context.json)
    print_json(*document);
  else
    std::cout << (*document)["result"].get<std::string>() << "\n" << command.out << " written\n";
  return comparison_status(*document);
}

}  // namespace

void add_report_commands(CLI::App& app, Context& context, int& status) {
  auto* command = app.add_subcommand("report", "a comparison (see compare) as one Markdown file for a pull request");
  auto options = std::make_shared<ReportCommand>();
  options->words.add_to(*command);
  command->add_option("-o,--out", options->out, "FILE.md: the report")->required()->check(daemon::path_flag_mistake);
  command->add_option("--title", options->title, "its first line; else made of the two names");
  command->add_flag("--single-file,!--separate-chart", options->single_file,
                    "the chart inside the file (the default), or beside it as FILE.svg");
  command->callback([&context, &status, options] { status = report_command(context, *options); });
}

}  // namespace kiln::cli
