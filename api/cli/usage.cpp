#include "api/cli/usage.hpp"

#include <charconv>
#include <cstdint>
#include <iostream>

#include "api/cli/context.hpp"
#include "engine/ir/tile/nearest_name.hpp"

namespace kiln::cli {
namespace {

// The command that was named, as far as its words were understood.
struct Named {
  const CLI::App* command;
  std::string words;  // "kiln cache evict"
};

Named named_command(const CLI::App& app) {
  Named named{&app, "kiln"};
  for (auto parsed = app.get_subcommands(); !parsed.empty(); parsed = named.command->get_subcommands()) {
    named.command = parsed.front();
    named.words += " " + named.command->get_name();
  }
  return named;
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; })) names.push_back(command->get_name());
  return names;
}

void add_options_of(const CLI::App& app, std::vector<std::string>& names) {
  for (const auto* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  }
}

std::string with_nearest(const std::string& mistake, const std::string& word, const std::vector<std::string>& names) {
  const auto hint = tile::nearest_hint(word, names);
  return hint.empty() ? mistake : mistake + "; " + hint;
}

// `word`: the first one that nothing took.
std::string unknown_word(const CLI::App& app, const Named& named, const std::string& word) {
  if (word.size() > 1 && word[0] == '-') {
    std::vector<std::string> names;
    add_options_of(*named.command, names);
    if (named.command != &app) add_options_of(app, names);
    const auto option = word.substr(0, word.find('='));
    return with_nearest(named.words + " has no option " + option, option, names);
  }
  const auto commands = commands_of(*named.command);
  if (commands.empty()) return named.words + " takes no further argument: \"" + word + "\"";
  const auto mistake = named.words + " has no command \"" + word + "\"";
  const auto near = with_nearest(mistake, word, commands);
  return near == mistake ? mistake + "; there are " + tile::name_list(commands) : near;
}

std::string mistake_text(const CLI::App& app, const Named& named, const CLI::ParseError& thrown) {
  // By the code: CLI11 gives an ExtrasError the command's name.
  const bool required = thrown.get_exit_code() == int(CLI::ExitCodes::RequiredError);
  const bool extras = thrown.get_exit_code() == int(CLI::ExitCodes::ExtrasError);
  const auto left = app.remaining(true);
  if (!left.empty() && (required || extras)) return unknown_word(app, named, left.front());
  const auto commands = commands_of(*named.command);
  if (required && !commands.empty()) return named.words + " takes a command: " + tile::name_list(commands);
  return named.words + ": " + thrown.what();
}

}  // namespace

int report_parse(const CLI::App& app, const CLI::ParseError& thrown, bool json) {
  if (thrown.get_exit_code() == 0) return app.exit(thrown);
  const auto named = named_command(app);
  const Error error(ErrorCode::invalid_argument, mistake_text(app, named, thrown));
  if (json) print_json({{"error", protocol::error_json(error)}});
  else std::cerr << "error: " << error.message << "\n`" << named.words << " --help` tells what it takes\n";
  return exit_usage;
}

CLI::Validator whole_number() {
  return {[](const std::string& text) {
            const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
            if (!digits) return "takes a whole number from 0, not \"" + text + "\"";
            std::int64_t value = 0;
            const bool fits = std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc();
            return fits ? std::string() : "takes a whole number below 2^63, not " + text;
          },
          ""};
}

}  // namespace kiln::cli
