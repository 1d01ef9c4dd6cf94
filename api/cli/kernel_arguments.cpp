// The program of a command and what it is compiled with.
#include <filesystem>

#include "api/cli/configurations.hpp"
#include "api/cli/python_source.hpp"
#include "engine/base/fd.hpp"

namespace kiln::cli {

using protocol::Json;

void KernelArguments::add_program(CLI::App& command) {
  command.add_option("program", program, "a built-in's name, a file with a tile/1 program (- for standard input), or FILE.py[:FUNCTION]")->required();
  command.add_option("--arg", types, "NAME=DTYPE[EXTENTS] …: what a Python function is called with: Q=f16[8, seq, 64]")->expected(1, 100);
  command.add_option("--grid", grid, grid_help);
  command.add_option("--set", set, "NAME=VALUE …: symbols, options and tunables")->expected(1, 1000);
}

void KernelArguments::add_to(CLI::App& command, const std::string& default_target) {
  target = default_target;
  configurations = Configurations::recorded;
  add_program(command);
  command.add_option("--target", target, "host, gfx90a, gfx942, gfx950, gfx1100, with features as in gfx942:sramecc+:xnack-")->capture_default_str();
  command.add_option("--layout", layouts, "TILE=LAYOUT …: auto, row_major, pad:BYTES, swizzle:CHUNK,DIVISOR,ROWS")->expected(1, 100);
  command.add_option("--align", align, "PARAMETER=BYTES …: alignment of a tensor's base, 1 to 16")->expected(1, 100);
  command.add_flag("--must-hit", must_hit, "fail (status 4) instead of compiling");
  command.add_flag("--untuned", untuned, "by the program's defaults, whatever tuning records say");
  command.add_flag("--explain-key", explain_key, "also print the parts of the key with their hashes");
}

// Several pairs in one word are not accepted, several words are.
Result<Json> name_values(Context& context, const std::vector<std::string>& words, const std::string& flag) {
  Json object = Json::object();
  for (const auto& word : words) {
    const auto equals = word.find('=');
    if (equals == std::string::npos || equals == 0) return context.usage_error(flag + " " + word + ": expected NAME=VALUE");
    const auto [member, fresh] = object.get_ref<Json::object_t&>().try_emplace(word.substr(0, equals), word.substr(equals + 1));
    if (!fresh) return context.usage_error(flag + " " + word + ": " + member->first + " is given already, as " + member->second.get<std::string>());
  }
  return object;
}

Result<Json> read_program_argument(Context& context, const std::string& name) {
  std::error_code ignored;
  const bool file = name == "-" || name.find('/') != std::string::npos || name.find('.') != std::string::npos ||
                    std::filesystem::is_regular_file(name, ignored);
  if (!file) return Json(name);
  auto bytes = name == "-" ? read_all_of_stream(STDIN_FILENO, 4 << 20) : read_file(name, 4 << 20);
  if (!bytes) return std::move(bytes).error();
  context.source_file = name == "-" ? "standard input" : name;
  context.source_text.assign(text(*bytes));
  return protocol::parse_json(context.source_text, protocol::Limits{});
}

// A Python function as a program: it may take the settings for its own constants; the others are the program's.
Status KernelArguments::read_function(Context& context, Json& params) const {
  KILN_TRY(const auto spec, parse_program_spec(context, program));
  KILN_TRY(auto source, ProgramSource::open(context, spec));
  Settings settings;
  for (const auto& [name, value] : params["set"].items()) settings.emplace_back(name, value.get<std::string>());
  FunctionArguments given{types, grid, settings, target.empty() ? "host" : target};
  given.every = configurations == Configurations::every;
  KILN_TRY(auto emitted, source.emit(context, given));
  if (given.every) {
    params.update(candidates_of(emitted));
  } else {
    const bool recorded = configurations == Configurations::recorded && !untuned;
    if (recorded && emitted.configurations > 1)
      KILN_CHECK(choose_recorded(context, {source, given, target, device}, emitted));
    note_configuration(context, emitted);
    params["program"] = emitted.program;
    params["set"] = set_json(emitted.set);
  }
  context.numbers = emitted.numbers;
  const auto file = spec.text.substr(0, spec.text.rfind(".py") + 3);
  context.located = [emitted = std::move(emitted), file](Error error) { return located_in_python(std::move(error), emitted, file); };
  return ok();
}

Result<Json> KernelArguments::params(Context& context) const {
  Json params = Json::object();
  KILN_TRY(params["set"], name_values(context, set, "--set"));
  params["target"] = target;
  if (!layouts.empty()) {
    KILN_TRY(params["layouts"], name_values(context, layouts, "--layout"));
  }
  if (!align.empty()) {
    KILN_TRY(auto values, name_values(context, align, "--align"));
    for (auto& [name, value] : values.items()) {
      const auto digits = value.get<std::string>();
      if (digits.empty() || digits.size() > 2 || digits.find_first_not_of("0123456789") != std::string::npos)
        return context.usage_error("--align " + name + "=" + digits + ": expected a number from 1 to 16");
      params["align"][name] = std::stoi(digits);
    }
  }
  if (names_python(program)) {
    KILN_CHECK(read_function(context, params));
  } else if (!types.empty() || !grid.empty()) {
    return context.usage_error((types.empty() ? "--grid says how a Python function is launched"
                                              : "--arg tells what a Python function is called with") +
                               std::string(", and ") + program + " is none");
  } else {
    KILN_TRY(params["program"], read_program_argument(context, program));
  }
  if (must_hit) params["must_hit"] = true;
  if (explain_key) params["explain_key"] = true;
  if (untuned) params["tuned"] = false;
  return params;
}

}  // namespace kiln::cli
