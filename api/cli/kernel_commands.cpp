// compile, check, list, show, explain.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <regex>

#include "api/cli/context.hpp"
#include "api/cli/source_text.hpp"
#include "engine/base/fd.hpp"
#include "engine/ir/target/target.hpp"
#include "engine/ir/tile/program.hpp"

namespace kiln::cli {

using protocol::Json;

namespace {

void print_resources(const Json& report) {
  const auto& r = report["resources"];
  std::vector<std::vector<std::string>> rows{{}, {}};
  for (const char* name : {"vgprs", "agprs", "sgprs", "vgpr_spills", "sgpr_spills", "lds_bytes", "scratch_bytes",
                           "matrix_instructions", "instructions", "waves_per_simd", "lds_conflict_cycles",
                           "tile_bytes", "code_bytes"}) {
    const bool host = r.contains("tile_bytes");
    if (!r.contains(name) || (!host && name == std::string("code_bytes"))) continue;
    rows[0].push_back(name);
    rows[1].push_back(text_of(r[name]));
  }
  print_table(rows);
}

// The text with places of the program's file, as far as they are known, instead of JSON pointers.
std::string with_places(const Context& context, const std::string& text) {
  static const std::regex pointer("/launches/[0-9]+(/[a-z0-9_]+)*");
  std::string out;
  auto rest = text.cbegin();
  for (std::sregex_iterator at(text.begin(), text.end(), pointer), end; at != end; ++at) {
    out.append(rest, text.cbegin() + at->position());
    rest = text.cbegin() + at->position() + at->length();
    const auto place = place_of_statement(context, at->str());
    out += place.empty() ? at->str() : place;
  }
  return out.append(rest, text.cend());
}

std::string sizes_text(const Json& symbols) {
  std::string line;
  for (const auto& [name, size] : symbols.items()) line += " " + name + "=" + size.get<std::string>();
  return line;
}

void print_outcome(const Json& o) {
  const std::string how = o.value("cached", false) ? "found (" + o.value("origin", "") + ")" : "compiled in " + number_text(o.value("compile_ms", 0.0)) + " ms";
  std::cout << o.value("program", "") << " for " << o.value("target", "") << ": " << how << ", key " << o.value("key", "") << "\n";
  if (const auto tuning = o.find("tuning"); tuning != o.end() && tuning->is_object())
    std::cout << "tuned: " << protocol::dump((*tuning)["set"]) << ", " << number_text(tuning->value("ratio", 1.0)) << " of the defaults by "
              << tuning->value("ranked_by", "") << ", measured at" << sizes_text((*tuning)["symbols"]) << ", record " << tuning->value("record", "").substr(0, 16) << "\n";
  if (!o.value("stored", true)) std::cout << "not stored: " << o.value("why_not_stored", "") << "\n";
  for (const auto& part : o.value("key_parts", Json::array()))
    std::cout << "  " << part.value("name", "") << ": " << part.value("sha256", "").substr(0, 16) << "  " << part.value("value", "") << "\n";
}

void print_tiles(const Json& report) {
  if (report["shared_tiles"].empty()) return;
  const bool host = report["resources"].contains("tile_bytes");
  std::cout << (host ? "\nshared tiles\n"
                     : "\nshared tiles (cost/ideal in LDS cycles of one wave, each instruction once)\n");
  std::vector<std::vector<std::string>> rows{{"tile", "dtype", "shape", "layout", "bytes", "stages"}};
  if (!host) rows.front().insert(rows.front().end(), {"writes", "reads", "conflicts"});
  for (const auto& t : report["shared_tiles"]) {
    rows.push_back({text_of(t["tile"]), text_of(t["dtype"]), text_of(t["shape"]), text_of(t["layout"]),
                    text_of(t["lds_bytes"]), text_of(t["stages"])});
    if (!host)
      rows.back().insert(rows.back().end(), {text_of(t["write_cost"]) + "/" + text_of(t["write_ideal"]),
                                             text_of(t["read_cost"]) + "/" + text_of(t["read_ideal"]),
                                             text_of(t["conflict_cycles"])});
  }
  print_table(rows);
}

void print_lds_rows(const Json& report) {
  if (!report.contains("lds_instructions") || report["lds_instructions"].empty()) return;
  std::cout << "\nLDS instructions\n";
  std::vector<std::vector<std::string>> rows{{"tile", "instruction", "cost", "ideal", "conflicts", "statement"}};
  bool inferred = false;
  for (const auto& r : report["lds_instructions"]) {
    const bool mark = r.value("inferred", false);
    inferred = inferred || mark;
    rows.push_back({text_of(r["tile"]), text_of(r["instruction"]) + (mark ? "*" : ""), text_of(r["cost"]), text_of(r["active_phases"]),
                    text_of(r["conflict_cycles"]), text_of(r["statement"])});
  }
  print_table(rows);
  if (inferred) std::cout << "* by a bank rule that is not published for this target\n";
}

void print_symbols(const Json& report) {
  if (report["symbols"].empty()) return;
  std::cout << "\ndynamic symbols: one object serves all their values\n";
  std::vector<std::vector<std::string>> rows{{"symbol", "min", "max", "multiple of"}};
  for (const auto& s : report["symbols"])
    rows.push_back({text_of(s["name"]), text_of(s["min"]), text_of(s["max"]), text_of(s["multiple_of"])});
  print_table(rows);
}

void print_explanation(const Context& context, const Json& report, bool with_source) {
  print_symbols(report);
  std::cout << "\nresources\n";
  print_resources(report);
  print_tiles(report);
  print_lds_rows(report);
  std::cout << "\nbounds checks that remain\n";
  if (report["bounds_left"].empty()) std::cout << "  none\n";
  for (const auto& b : report["bounds_left"]) std::cout << "  " << with_places(context, text_of(b)) << "\n";
  std::cout << "\ndecisions\n";
  for (const auto& d : report["decisions"]) std::cout << "  " << with_places(context, text_of(d)) << "\n";
  if (with_source) std::cout << "\nkernel program\n" << text_of(report["kernel_program"]) << "\nsource\n" << text_of(report["source"]);
}

int compile_command(Context& context, const KernelArguments& arguments, bool explain, bool source, const std::string& output) {
  auto params = arguments.params(context);
  if (!params) return report(context, params.error());
  Json request = *params;
  if (!output.empty()) request["want"] = "fd";
  auto answer = context.ask_with_fds("kernel.compile", std::move(request));
  if (!answer) return report(context, answer.error());
  auto outcome = std::move(answer->result);
  if (!output.empty()) {
    auto object = answer->fds.empty() ? Result<Bytes>(Error(ErrorCode::protocol_error, "no object came")) : read_all(answer->fds[0].get(), std::size_t(1) << 30);
    auto written = object ? write_file(output, *object) : Status(object.error());
    if (!written) return report(context, written.error());
  }
  if (explain || source) {
    auto explained = context.ask("kernel.explain", Json{{"key", outcome["key"]}});
    if (!explained) return report(context, explained.error());
    explained->update(outcome);
    outcome = std::move(*explained);
  }
  if (context.json) { print_json(outcome); return exit_ok; }
  print_outcome(outcome);
  if (explain || source) print_explanation(context, outcome, source);
  else if (outcome.value("target", "").rfind("host", 0) != 0) print_resources(outcome);
  return exit_ok;
}

int check_command(Context& context, const KernelArguments& arguments, bool bound) {
  auto params = arguments.params(context);
  if (!params) return report(context, params.error());
  if (!bound) { params->erase("set"); params->erase("target"); }
  auto answer = context.ask("program.check", std::move(*params));
  if (!answer) return report(context, answer.error());
  if (context.json) {
    print_json(*answer);
    return answer->value("ok", false) ? exit_ok : exit_failed;
  }
  Json wrapped{{"message", ""}, {"data", {{"code", "program_invalid"}, {"diagnostics", (*answer)["diagnostics"]}}}};
  auto error = protocol::error_from_json(wrapped);
  if (context.located) error = context.located(std::move(error));
  for (const auto& d : error.diagnostics) std::cout << render(d, context.source_file, context.source_text);
  if (answer->value("ok", false)) std::cout << arguments.program << ": sound\n";
  return answer->value("ok", false) ? exit_ok : exit_failed;
}

int list_command(Context& context) {
  auto programs = context.ask("program.list", Json::object());
  if (!programs) return report(context, programs.error());
  if (context.json) {
    (*programs)["targets"] = target::known_targets();
    print_json(*programs);
    return exit_ok;
  }
  std::cout << "built-in programs:";
  for (const auto& name : (*programs)["programs"]) std::cout << " " << text_of(name);
  std::cout << "\ntargets:";
  for (const auto& name : target::known_targets()) std::cout << " " << name;
  std::cout << "\n";
  return exit_ok;
}

// In canonical form, whatever it was written as.
Result<std::string> canonical_text(Context& context, const KernelArguments& arguments) {
  KILN_TRY(auto params, arguments.params(context));
  if (params["program"].is_string()) {
    KILN_TRY(auto shown, context.ask("program.show", Json{{"name", params["program"]}}));
    params["program"] = std::move(shown["program"]);
  }
  KILN_TRY(const auto program, tile::read_program(protocol::dump(params["program"])));
  return tile::write_program(program);
}

int show_command(Context& context, const KernelArguments& arguments) {
  const auto program = canonical_text(context, arguments);
  if (!program) return report(context, program.error());
  if (!context.json) {
    std::cout << *program;
    return exit_ok;
  }
  auto json = protocol::parse_json(*program, protocol::Limits{});
  if (!json) return report(context, json.error());
  print_json({{"name", (*json)["name"]}, {"program", *json}});
  return exit_ok;
}

}  // namespace

void add_kernel_commands(CLI::App& app, Context& context, int& status) {
  {
    auto* command = app.add_subcommand("compile", "compile a program, or find it in the cache");
    auto arguments = std::make_shared<KernelArguments>();
    auto explain = std::make_shared<bool>(false), source = std::make_shared<bool>(false);
    auto output = std::make_shared<std::string>();
    arguments->add_to(*command, "host");
    command->add_flag("--explain", *explain, "the whole report");
    command->add_flag("--source", *source, "the report with the kernel program and the emitted text");
    command->add_option("-o,--output", *output, "write the code object to a file");
    command->callback([&context, &status, arguments, explain, source, output] { status = compile_command(context, *arguments, *explain, *source, *output); });
  }
  {
    auto* command = app.add_subcommand("explain", "resources, layouts, bank conflicts, bounds and decisions of a kernel");
    auto arguments = std::make_shared<KernelArguments>();
    auto source = std::make_shared<bool>(false);
    arguments->add_to(*command, "host");
    command->add_flag("--source", *source, "also the kernel program and the emitted text");
    command->callback([&context, &status, arguments, source] { status = compile_command(context, *arguments, true, *source, ""); });
  }
  {
    auto* command = app.add_subcommand("check", "all mistakes of a program; with --set also those of a binding");
    auto arguments = std::make_shared<KernelArguments>();
    arguments->add_to(*command, "host");
    command->callback([&context, &status, arguments, command] { status = check_command(context, *arguments, command->count("--set") + command->count("--target") > 0); });
  }
  app.add_subcommand("list", "built-in programs and targets")->callback([&context, &status] { status = list_command(context); });
  {
    auto* command = app.add_subcommand("show", "print a program in canonical form: a built-in, a tile/1 file, a Python function");
    auto arguments = std::make_shared<KernelArguments>();
    arguments->add_program(*command);
    command->add_option("--target", arguments->target, "whose facts a Python function asks for")->capture_default_str();
    command->callback([&context, &status, arguments] { status = show_command(context, *arguments); });
  }
}

}  // namespace kiln::cli
