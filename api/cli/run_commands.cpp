// run: a kernel on memory of this process, with seeded inputs or files, timed, and compared with the definition on request.
#include <algorithm>
#include <iostream>

#include "api/cli/operands.hpp"

namespace kiln::cli {

using protocol::Json;

namespace {

// What `run` adds.
struct Timing {
  RunOptions options;
  bool check = false;
  int repeat = 1;
};

// As Triton's device_print shows it: "pid (0, 0, 0) idx (3) x is: 1.5".
void print_records(const Json& outcome) {
  const auto tuple = [](const Json& numbers) {
    std::string text;
    for (const auto& number : numbers) text += (text.empty() ? "" : ", ") + protocol::dump(number);
    return "(" + text + ")";
  };
  for (const auto& record : outcome.value("printed", Json::array())) {
    std::string line = "pid " + tuple(record["block"]);
    if (!record["index"].empty()) line += " idx " + tuple(record["index"]);
    const auto text = record["text"].get<std::string>();
    if (!text.empty()) line += " " + text;
    std::string values;
    for (const auto& value : record["values"])
      values += (values.empty() ? " " : ", ") + (value.is_string() ? value.get<std::string>() : protocol::dump(value));
    std::cout << line << (values.empty() || text.empty() || text.back() == ':' ? "" : ":") << values << "\n";
  }
  if (const auto dropped = outcome.value("printed_dropped", std::uint64_t(0)); dropped > 0)
    std::cout << "(" << dropped << " more were not kept)\n";
}

Result<Json> run_kernel(Context& context, const Timing& timing) {
  const auto& options = timing.options;
  KILN_TRY(auto run, prepare_run(context, options));
  std::vector<double> times;
  Json verified, printed;
  for (int i = 0; i < std::max(timing.repeat, 1); ++i) {
    const bool check = timing.check && i == 0;
    Json request = check ? run.params : Json{{"key", run.outcome["key"]}};
    request.erase("explain_key");
    request["device"] = options.device;
    request["args"] = run.arguments();
    if (!run.symbols.empty()) request["symbols"] = run.symbols;
    request["seeds"] = run.seeds();
    options.add_switches(request);
    KILN_TRY(auto answer, context.ask(check ? "kernel.verify" : "kernel.launch", std::move(request)));
    if (i == 0 && answer.contains("printed"))
      printed = {{"printed", answer["printed"]}, {"printed_dropped", answer["printed_dropped"]}};
    times.push_back(answer.value(check ? "launch_ms" : "duration_ms", 0.0));
    if (check) verified = std::move(answer);
  }
  KILN_CHECK(run.write_outputs());
  std::sort(times.begin(), times.end());
  Json outcome = std::move(run.outcome);
  if (printed.is_object()) outcome.update(printed);
  outcome["device"] = options.device;
  outcome["seed"] = options.seed;
  outcome["launches_timed"] = times.size();
  outcome["emulated"] = options.device.starts_with("emu:");
  outcome["duration_ms"] = {{"min", times.front()}, {"median", times[times.size() / 2]}, {"max", times.back()}};
  if (!verified.is_null()) outcome["check"] = {{"passed", verified["passed"]}, {"tensors", verified["tensors"]}, {"reference_ms", verified["reference_ms"]}};
  return outcome;
}

int run_command(Context& context, const Timing& timing) {
  const auto& options = timing.options;
  auto outcome = run_kernel(context, timing);
  if (!outcome) return report(context, outcome.error());
  const bool passed = !outcome->contains("check") || (*outcome)["check"].value("passed", false);
  if (context.json) {
    print_json(*outcome);
    return passed ? exit_ok : exit_wrong_result;
  }
  print_records(*outcome);
  const auto& time = (*outcome)["duration_ms"];
  const auto ms = [&](const char* which) { return number_text(time.value(which, 0.0)); };
  std::cout << outcome->value("program", "") << " on " << options.device << ": " << ms("median") << " ms"
            << (outcome->value("emulated", false) ? " of emulation, not the card's time" : "");
  if (timing.repeat > 1)
    std::cout << " (median of " << timing.repeat << ", min " << ms("min") << ", max " << ms("max") << ")";
  std::cout << ", " << (outcome->value("cached", false) ? "kernel found" : "kernel compiled") << ", seed "
            << options.seed << "\n";
  if (outcome->contains("check")) {
    std::vector<std::vector<std::string>> rows{{"tensor", "elements", "largest error", "tolerance there", "error/tolerance", "wrong"}};
    for (const auto& t : (*outcome)["check"]["tensors"]) {
      auto number = [&](const char* name) { return t[name].is_number() ? number_text(t[name].get<double>()) : t[name].get<std::string>(); };
      rows.push_back({t.value("name", ""), protocol::dump(t["elements"]), number("error_max"), number("tolerance_at_max"), number("ratio_max"), protocol::dump(t["wrong"])});
    }
    print_table(rows);
    std::cout << (passed ? "equal to the definition within its tolerance\n" : "DIFFERENT from the definition\n");
  }
  return passed ? exit_ok : exit_wrong_result;
}

}  // namespace

void add_run_commands(CLI::App& app, Context& context, int& status) {
  auto* command = app.add_subcommand("run", "run a program on memory of this process");
  auto timing = std::make_shared<Timing>();
  timing->options.add_to(*command);
  command->add_option("--repeat", timing->repeat, "launches to time")->check(CLI::Range(1, 1000000));
  command->add_flag("--check", timing->check, "compare with the interpreter (status 5 when different)");
  command->callback([&context, &status, timing] { status = run_command(context, *timing); });
}

}  // namespace kiln::cli
