// bench: ratios against named peers, each side measured in alternating rounds of one run.
#include "api/cli/bench_commands.hpp"
#include "engine/base/memory_left.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>

namespace kiln::cli {

using protocol::Json;

namespace bench {
namespace {

const std::vector<Area>& areas() {
  static const std::vector<Area> all{
      {"service", "a hit's round trip against a bare socket", "a daemon (started when none runs)", "5 s", ""},
      {"host", "GEMM on this machine's cores against OpenBLAS; an edited GEMM against the built-in",
       "bench_host of the build, OpenBLAS", "1 min", "host_bench.py"},
      {"emulator", "kernels and loops on the emulated card against the wanted times", "bench_emulator of the build, hipRTC",
       "1 min", "emulator_bench.py"},
      {"compile", "cold compiles for gfx942 against hipRTC called directly, an empty kernel, one worker", "hipRTC",
       "2 min", "compile_bench.py"},
      {"warm-start", "100 kernels from disk against Triton's cache", "hipRTC, a Python with Triton", "3 min",
       "warm_start_bench.py"}};
  return all;
}

constexpr int rounds_quotable = 7;

// Four digits and more are whole: "2530", not "2.53e+03".
std::string figure_text(double value) {
  return value < 1000 ? number_text(value) : std::to_string(std::llround(value));
}

std::string machine_line(const Json& machine) {
  const auto text = [&](const char* name) { return machine[name].get<std::string>(); };
  return "machine: " + text("cpu") + ", " + machine["cores"].dump() + " cores, " +
         bytes_text(machine["memory_bytes"].get<double>()) + ", " + text("system") + ", load " +
         machine["load"].dump() + ", " + text("date");
}

std::vector<std::string> table_row(const Json& row) {
  const auto number = [&](const char* name) { return figure_text(row[name].get<double>()); };
  const auto& passed = row["passed"];
  return {row["what"].get<std::string>(), row["against"].get<std::string>(), number("kiln"), number("peer"),
          number("ratio"), number("q1"), number("q3"), row["target"].is_null() ? "" : row["target"].get<std::string>(),
          passed.is_null() ? "" : passed.get<bool>() ? "passed" : "missed"};
}

void print_area(const Area& area, const Measured& measured, const Json& rows, const Json& machine) {
  std::cout << area.name << ": " << area.measures << "\n" << machine_line(machine) << "\n\n";
  const auto& unit = measured.rows.front().unit;
  std::vector<std::vector<std::string>> table{
      {"what", "against", "kiln " + unit, "peer " + unit, "ratio", "q1", "q3", "target", "result"}};
  for (const auto& row : rows) table.push_back(table_row(row));
  print_table(table);
  std::cout << "\n";
  for (const auto& note : measured.notes) std::cout << "- " << note << "\n";
  std::cout << std::endl;
}

// What one `kiln bench` prints with --json.
struct Report {
  Json machine, rows = Json::array(), notes = Json::array(), not_run = Json::array();
};

Status measure_area(Context& context, const Area& area, const Options& options, Report& report) {
  const auto machine_now = machine();   // its load is the one before this area
  if (report.machine.is_null()) report.machine = machine_now;
  KILN_TRY(auto measured, area.script.empty() ? measure_service(context, options.rounds)
                                              : run_script(context, area, options));
  if (measured.rows.empty()) return Error(ErrorCode::protocol_error, "bench " + area.name + " gave no rows");
  measured.notes.push_back("ratio: kiln / peer (with a target >=: peer / kiln) of the medians of " +
                           std::to_string(options.rounds) + " alternating rounds; q1, q3: of the rounds' own; " +
                           "passed: the ratio and the worse quartile are within the target");
  if (options.rounds < rounds_quotable) measured.notes.push_back("fewer than 7 rounds: no figures to quote");
  Json rows = Json::array();
  for (const auto& samples : measured.rows) rows.push_back(judged(area.name, samples));
  if (!context.json) print_area(area, measured, rows, machine_now);
  for (auto& row : rows) report.rows.push_back(std::move(row));
  for (const auto& note : measured.notes) report.notes.push_back({{"area", area.name}, {"text", note}});
  return ok();
}

// Areas that were named: what is missing or fails is the command's error.
Status measure_named(Context& context, const Options& options, Report& report) {
  for (const auto& area : areas()) {
    if (std::find(options.areas.begin(), options.areas.end(), area.name) == options.areas.end()) continue;
    KILN_TRY(const auto missing, what_is_missing(context, area, options));
    if (!missing.empty()) return Error(ErrorCode::unsupported, "bench " + area.name + " cannot run here: " + missing);
    KILN_CHECK(measure_area(context, area, options, report));
  }
  return ok();
}

// All areas: one that cannot run is told with the reason, one that fails makes the status 1; the others run.
Result<int> measure_all(Context& context, const Options& options, Report& report) {
  int status = exit_ok;
  for (const auto& area : areas()) {
    auto missing = what_is_missing(context, area, options);
    Status measured;
    if (!missing) measured = Error(missing.error());
    else if (missing->empty()) measured = measure_area(context, area, options, report);
    if (!measured && measured.error().code == ErrorCode::cancelled) return std::move(measured).error();
    if (!measured) status = exit_failed;
    const auto reason = !measured ? measured.error().message : *missing;
    if (reason.empty()) continue;
    report.not_run.push_back({{"area", area.name}, {"reason", reason}, {"failed", !measured}});
    if (context.json) continue;
    std::cout << area.name << ": " << (measured ? "cannot run here: " : "failed: ") << reason << "\n" << std::endl;
  }
  return status;
}

Result<int> list_areas(Context& context, const Options& options) {
  Json list = Json::array();
  std::vector<std::vector<std::string>> table{{"area", "measures", "needs", "takes about", "here"}};
  for (const auto& area : areas()) {
    KILN_TRY(const auto missing, what_is_missing(context, area, options));
    list.push_back({{"area", area.name}, {"measures", area.measures}, {"needs", area.needs},
                    {"takes_about", area.takes}, {"runs_here", missing.empty()}, {"missing", missing}});
    table.push_back({area.name, area.measures, area.needs, area.takes, missing.empty() ? "yes" : "no: " + missing});
  }
  if (context.json) print_json({{"areas", std::move(list)}});
  else print_table(table);
  return exit_ok;
}

Result<int> run_bench(Context& context, Options options) {
  KILN_CHECK(context.configure());
  if (options.triton_python.empty()) options.triton_python = context.environment.get("KILN_TRITON_PYTHON");
  if (options.list) return list_areas(context, options);
  Report report;
  int status = exit_ok;
  if (options.areas.empty()) {
    KILN_TRY(status, measure_all(context, options, report));
  } else {
    KILN_CHECK(measure_named(context, options, report));
  }
  if (context.json)
    print_json({{"machine", std::move(report.machine)}, {"rounds", options.rounds}, {"rows", std::move(report.rows)},
                {"notes", std::move(report.notes)}, {"not_run", std::move(report.not_run)}});
  return status;
}

std::string area_help() {
  std::string text = "Areas (time with 9 rounds on two cores):\n";
  for (const auto& area : areas()) {
    text += "  " + area.name + std::string(12 - area.name.size(), ' ') + area.measures + "; needs " + area.needs +
            "; about " + area.takes + "\n";
  }
  return text + "Every figure is a ratio of medians over alternating rounds of one run. A missed target is no\n"
                "failure: the status is 0. `kiln bench --list` says which areas can run here and what the others lack.";
}

}  // namespace
}  // namespace bench

void add_bench_commands(CLI::App& app, Context& context, int& status) {
  auto* command = app.add_subcommand(
      "bench", "ratios against named peers, measured in one run: service, host, emulator, compile, warm-start");
  auto options = std::make_shared<bench::Options>();
  std::vector<std::string> names;
  for (const auto& area : bench::areas()) names.push_back(area.name);
  command->add_option("area", options->areas, "what to measure; all that can run here when none is named")
      ->check(CLI::IsMember(names))->expected(0, int(names.size()));
  command->add_option("--rounds", options->rounds, "alternating rounds; at least 7 for figures that are quoted")
      ->check(CLI::Range(1, 1000))->capture_default_str();
  command->add_option("--triton-python", options->triton_python,
                      "for warm-start: the Python of an environment that has Triton, instead of $KILN_TRITON_PYTHON");
  command->add_flag("--list", options->list,
                    "say what each area needs, how long it takes, and whether it can run here");
  command->footer(bench::area_help());
  command->callback([&context, &status, options] {
    const auto ended = bench::run_bench(context, *options);
    status = ended ? *ended : report(context, ended.error());
  });
}

}  // namespace kiln::cli
