// emulate: any HIP kernel on the emulated card, with counters, for people who write HIP by hand.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <sstream>

#include "api/cli/context.hpp"
#include "api/cli/profile_tables.hpp"
#include "api/cli/temporary_folder.hpp"
#include "api/cli/watched_process.hpp"
#include "api/service/profile_json.hpp"
#include "engine/base/process.hpp"
#include "engine/compile/hip_text.hpp"

namespace kiln::cli {

using protocol::Json;

namespace {

constexpr std::size_t source_bytes_max = 64 << 20;

struct EmulateFlags {
  std::string file, target = "gfx942", kernel, grid, block, lds, check, seed, budget, print_bytes, optimize = "3";
  std::vector<std::string> arguments, prints, defines, includes, options;
  bool instructions = false;
};

class Emulation {
 public:
  Emulation(Context& context, const EmulateFlags& flags) : context_(context), flags_(flags) {}
  Result<Json> run();

 private:
  Status prepare();
  Status compile();
  Result<Json> launch();
  Result<Json> make_report(const Json& result);
  [[nodiscard]] profile::ReportInput report_input(const profile::LaunchCounters& counted, const Json& result) const;

  Context& context_;
  const EmulateFlags& flags_;
  target::Target target_;
  TemporaryFolder scratch_;
  std::string directory_, object_, name_;
  std::vector<std::string> lines_;   // of the HIP text; empty for objects
};

bool is_object(ByteView bytes) {
  const auto begins = [&](std::string_view magic) { return text(bytes).starts_with(magic); };
  return begins("\x7f" "ELF") || begins("__CLANG_OFFLOAD_BUNDLE__") || begins("CCOB");
}

Status Emulation::prepare() {
  KILN_CHECK(context_.configure());
  const auto& configuration = *context_.configuration;
  if (configuration.emulated_hip.empty()) return Error(ErrorCode::unsupported, "built without the emulated card");
  const auto target = target::parse_target(flags_.target);
  if (!target) {
    context_.wrong_usage = true;
    return target.error();
  }
  target_ = *target;
  std::error_code error;
  directory_ = std::filesystem::current_path(error).string();
  name_ = std::filesystem::path(flags_.file).filename().string();
  KILN_CHECK(scratch_.create(configuration.temporary_folder, "kiln-emulate-"));
  KILN_TRY(const auto bytes, read_file(flags_.file));
  // A file with such a name is taken for an object whatever is in it: what is wrong with it is said then.
  if (is_object(bytes) || name_.ends_with(".co") || name_.ends_with(".hsaco")) {
    object_ = std::filesystem::absolute(flags_.file, error).string();
    return ok();
  }
  if (bytes.size() > source_bytes_max) return Error(ErrorCode::resource_limit, flags_.file + " is over 64 MiB");
  std::istringstream text{std::string(kiln::text(bytes))};
  for (std::string line; std::getline(text, line);) lines_.push_back(line);
  return compile();
}

Status Emulation::compile() {
  const auto& configuration = *context_.configuration;
  if (configuration.worker_hip.empty()) return Error(ErrorCode::no_compiler, configuration.no_hip);
  object_ = scratch_.path + "/kernel.co";
  auto command = configuration.worker_hip;
  std::error_code error;
  const auto file = std::filesystem::absolute(flags_.file, error);
  command.insert(command.end(), {compile::compile_text_flag, target_.full, file.string(), flags_.file, object_,
                                 "-O" + flags_.optimize, "-I" + file.parent_path().string()});
  for (const auto& define : flags_.defines) command.push_back("-D" + define);
  for (const auto& folder : flags_.includes) command.push_back("-I" + std::filesystem::absolute(folder, error).string());
  command.insert(command.end(), flags_.options.begin(), flags_.options.end());
  KILN_TRY(const auto output, run_watched(command, configuration.environment, directory_, scratch_.path,
                                          std::chrono::seconds(std::max(1, static_cast<int>(configuration.compile_deadline_ms / 1000)))));
  if (!output.end.empty()) {
    Error failed(output.end == "it ended with exit status 3" ? ErrorCode::no_compiler : ErrorCode::compile_failed,
                 flags_.file + " was not compiled for " + target_.full + ": " +
                     (output.end == "it ended with exit status 1" ? "the compiler refuses it" : output.end));
    if (!output.text.empty()) failed.context.push_back(output.text);
    return failed;
  }
  if (!context_.quiet) std::cerr << output.text;   // warnings
  return ok();
}

Result<Json> Emulation::launch() {
  const auto& configuration = *context_.configuration;
  const auto result = scratch_.path + "/result.json";
  std::vector<std::string> command{executable_folder() + "/kiln-emulate", result, configuration.emulated_hip, object_, target_.full};
  const auto add = [&](const char* flag, const std::string& value) {
    if (!value.empty()) command.insert(command.end(), {flag, value});
  };
  add("--kernel", flags_.kernel);
  add("--grid", flags_.grid);
  add("--block", flags_.block);
  add("--lds", flags_.lds);
  add("--check", flags_.check);
  add("--seed", flags_.seed);
  add("--budget", flags_.budget);
  add("--print-bytes", flags_.print_bytes);
  for (const auto& argument : flags_.arguments) add("--arg", argument);
  for (const auto& print : flags_.prints) add("--print", print);
  auto environment = configuration.environment;
  std::erase_if(environment, [](const std::string& entry) { return entry.rfind("KILN_EMULATOR_TARGETS=", 0) == 0; });
  environment.push_back("KILN_EMULATOR_TARGETS=" + target_.full);
  KILN_TRY(const auto output, run_watched(command, environment, directory_, scratch_.path, std::nullopt));
  if (!output.end.empty()) {
    const bool interrupted = interrupt_token().cancelled();
    Error died = interrupted ? Error(ErrorCode::cancelled, "interrupted")
                             : Error(ErrorCode::device_lost, "the emulated card's process did not finish: " + output.end);
    if (!interrupted && !output.text.empty()) died.context.push_back(output.text);
    if (const auto printed = read_file(result + ".printed"); printed && !printed->empty())
      died.context.push_back("the kernel printed: " + std::string(text(*printed)));
    return died;
  }
  KILN_TRY(const auto bytes, read_file(result));
  auto value = Json::parse(bytes.begin(), bytes.end(), nullptr, false);
  if (!value.is_object()) return Error(ErrorCode::corrupt, "the emulated card's process answered nonsense");
  if (value.contains("error")) return protocol::error_from_json(value["error"]);
  return value;
}

// Rows by line of the source: what make_report knows as statements of a program are the lines here.
profile::ReportInput Emulation::report_input(const profile::LaunchCounters& counted, const Json& result) const {
  profile::ReportInput input;
  input.target = target_;
  input.counted = counted;
  const auto& r = result["resources"];
  const auto number = [&](const char* name) { return r.value(name, std::int64_t(0)); };
  input.resources = {number("vgprs"), number("agprs"), number("sgprs"), number("vgpr_spills"), number("sgpr_spills"),
                     static_cast<std::int64_t>(counted.lds_bytes), number("scratch_bytes"),
                     static_cast<std::int64_t>(counted.threads[0] * counted.threads[1] * counted.threads[2])};
  std::map<std::pair<std::string, std::uint32_t>, std::uint32_t> numbers;   // of the lines that there are, from 1
  for (const auto& row : counted.rows)
    if (row.line != 0) numbers[{row.file, row.line}] = 0;
  input.statement_of_line.emplace_back();
  for (auto& [place, number] : numbers) {
    number = static_cast<std::uint32_t>(input.statement_of_line.size());
    const auto file = std::filesystem::path(place.first).filename().string();
    auto shown = file + ":" + std::to_string(place.second);
    input.statement_of_line.push_back(shown);
    std::string code;
    if (file == name_ && place.second <= lines_.size()) code = lines_[place.second - 1];
    code.erase(0, std::min(code.find_first_not_of(" \t"), code.size()));
    input.statements.push_back({shown, code.empty() ? shown : shown + "  " + code});
  }
  for (auto& row : input.counted.rows)
    if (row.line != 0) row.line = numbers[{row.file, row.line}];
  return input;
}

Result<Json> Emulation::make_report(const Json& result) {
  KILN_TRY(const auto launches, profile::read_launch_counters(protocol::dump(result["profiles"])));
  Json report{{"file", flags_.file}, {"target", target_.full}, {"emulated", true}};
  for (const char* name : {"kernel", "name", "grid", "block", "fault", "printed", "output"}) report[name] = result[name];
  report["counters"] = Json::object();
  if (launches.empty()) return report;   // the launch was refused before it began
  const auto& counted = launches.back();
  auto made = profile::make_report(report_input(counted, result));
  made.statements.back().text = "no line";
  for (std::size_t i = 0; i < counted.rows.size(); ++i) made.counted.rows[i] = counted.rows[i];
  Json launch = service::launch_json(made);
  report["duration_ms"] = counted.duration_ms;
  for (const char* name : {"counters", "modelled", "models", "resources", "occupancy", "roofline", "estimate", "instructions"})
    report[name] = launch[name];
  report["lines"] = Json::array();
  for (auto& share : launch["statements"]) {
    share["line"] = share["pointer"];
    share.erase("pointer");
    if (share["instructions"] != 0) report["lines"].push_back(share);
  }
  report["lds_instructions"] = Json::array();
  for (const auto& row : launch["lds_instructions"])
    report["lds_instructions"].push_back({{"offset", row["offset"]}, {"instruction", row["instruction"]}, {"line", row["statement"]},
                                          {"executed", row["executed"]}, {"cycles", row["cycles"]}, {"conflicts", row["conflicts"]}});
  return report;
}

Result<Json> Emulation::run() {
  KILN_CHECK(prepare());
  KILN_TRY(const auto result, launch());
  return make_report(result);
}

void print_printed(const Json& report) {
  for (const auto& printed : report["printed"]) {
    std::cout << "\nargument " << printed["argument"] << " (" << printed.value("print", "") << "):";
    for (const auto& value : printed["values"]) std::cout << " " << (value.is_string() ? value.get<std::string>() : protocol::dump(value));
    std::cout << "\n";
  }
}

void print_lds_lines(const Json& report) {
  if (report["lds_instructions"].empty()) return;
  std::cout << "\nLDS instructions (cycles of all waves)\n";
  std::vector<std::vector<std::string>> rows{{"line", "instruction", "executed", "cycles", "conflicts"}};
  for (const auto& r : report["lds_instructions"]) {
    const auto text = r.value("instruction", "");
    rows.push_back({r.value("line", ""), text.substr(0, text.find(' ')), protocol::dump(r["executed"]), protocol::dump(r["cycles"]),
                    protocol::dump(r["conflicts"])});
  }
  print_table(rows);
}

void print_emulated(const Json& report, const EmulateFlags& flags) {
  std::cout << report.value("output", "") << report.value("name", "") << " of " << report.value("file", "") << " for " << report.value("target", "") << ": "
            << number_text(report.value("duration_ms", 0.0)) << " ms on this machine's processor, which says nothing about the card's time\n";
  if (report.contains("resources")) {
    print_counters(report);
    print_resources(report);
    print_roofline(report);
    print_shares(report["lines"], "by line of the source", "line");
    print_lds_lines(report);
    if (flags.instructions) print_instructions(report);
  }
  print_printed(report);
}

int emulate_command(Context& context, const EmulateFlags& flags) {
  const auto done = Emulation(context, flags).run();
  if (!done) return report(context, done.error());
  if (context.json) print_json(*done);
  else print_emulated(*done, flags);
  if (!(*done)["fault"].is_string()) return exit_ok;
  if (!context.json) std::cerr << "\n" << (*done)["fault"].get<std::string>() << "\n";
  return exit_failed;
}

}  // namespace

void add_emulate_commands(CLI::App& app, Context& context, int& status) {
  auto* command = app.add_subcommand("emulate", "run any HIP kernel, from its text or its code object, on the emulated card, with counters");
  auto flags = std::make_shared<EmulateFlags>();
  command->add_option("file", flags->file, "FILE.hip, compiled by hipRTC; or FILE.co, a code object or a bundle")->required();
  command->add_option("--target", flags->target, "the card: gfx90a, gfx942, gfx950, gfx1100")->capture_default_str();
  command->add_option("--kernel", flags->kernel, "its name, where the file has several: scale, reduce<float>, a symbol");
  command->add_option("--grid", flags->grid, "X,Y,Z: blocks");
  command->add_option("--block", flags->block, "X,Y,Z: threads of a block");
  command->add_option("--lds", flags->lds, "bytes of dynamic LDS");
  command->add_option("--arg", flags->arguments,
                      "each argument in order: i32:5, f32:1.5, f16:…, u64:… (a value); bytes:HEX (a structure); buffer:BYTES (zeroed); in:FILE; "
                      "inout:FILE and out:FILE:BYTES (written afterwards); random:TYPE:COUNT[:SEED]; ptr:null")->allow_extra_args(false);
  command->add_option("--print", flags->prints, "ARGUMENT:TYPE:COUNT: first elements of an argument's memory, as 0:f32:8")->allow_extra_args(false);
  command->add_option("--check", flags->check, "races, shared, global, uninitialised, lds, registers, barriers, bounds, all");
  command->add_option("--seed", flags->seed, "not 0: waves and work groups run in an order shuffled by it");
  command->add_option("--budget", flags->budget, "wave instructions of the launch at most");
  command->add_option("--print-bytes", flags->print_bytes, "of what the kernel prints, at most (default 16 MiB)");
  command->add_flag("--profile,--instructions", flags->instructions, "also every executed instruction");
  command->add_option("-O", flags->optimize, "how the text is optimized: 0, 1, 2, 3")->capture_default_str();
  command->add_option("-D", flags->defines, "NAME[=VALUE]: a macro for the text")->allow_extra_args(false);
  command->add_option("-I", flags->includes, "a folder for the text's headers")->allow_extra_args(false);
  command->add_option("--option", flags->options, "one more option for the compiler")->allow_extra_args(false);
  command->callback([&context, &status, flags] { status = emulate_command(context, *flags); });
}

}  // namespace kiln::cli
