// profile: what a kernel executes, counted on an emulated card; where it is spent; what to do about it.
#include <iostream>

#include "api/cli/operands.hpp"
#include "api/cli/profile_files.hpp"
#include "api/cli/profile_tables.hpp"
#include "api/cli/rocprof.hpp"
#include "api/daemon/flags.hpp"

namespace kiln::cli {

using protocol::Json;

namespace {

struct ProfileOptions {
  RunOptions run;
  std::string csv, trace;
  bool all = false;
};

void print_report(const Json& report, const ProfileOptions& options) {
  std::cout << report.value("program", "") << " for " << report.value("target", "") << " on " << report.value("device", "") << ": "
            << number_text(report.value("duration_ms", 0.0)) << " ms"
            << (report.value("emulated", false) ? " on this machine's processor, which says nothing about the card's time" : "") << "\n";
  if (report["launches"].empty()) {
    if (report.value("device", "") == "host") std::cout << "the host counts nothing: profile on an emulated card (--device emu:gfx942)\n";
    if (report.contains("note")) std::cout << report.value("note", "") << "\n";
    if (!report["counters"].empty()) print_counters(report);
    return;
  }
  print_counters(report);
  for (const auto& launch : report["launches"]) {
    if (report["launches"].size() > 1) std::cout << "\nlaunch " << launch.value("symbol", "") << "\n";
    print_resources(launch);
    print_roofline(launch);
    print_shares(launch["statements"], "by line of the program", "statement");
    print_lds(launch);
    if (options.all) print_instructions(launch);
  }
  std::cout << "\nadvice\n";
  for (const auto& a : report["advice"]) std::cout << "  " << a.value("text", "") << "\n";
  if (report["advice"].empty())
    std::cout << (report["counters"].value("SQ_LDS_BANK_CONFLICT", 0) == 0 ? "  no bank conflicts\n" : "  none: the conflicts are not a shared tile's\n");
}

// A real card counts through rocprofv3, where that is installed.
Status add_real_counters(const ProfileOptions& options, const Json& outcome, Json& report) {
  const auto& device = options.run.device;
  if (device == "host" || report.value("emulated", false)) return ok();
  const auto rocprof = find_rocprof();
  if (rocprof.empty()) {
    report["note"] = "rocprofv3 is not installed (ROCm's package rocprofiler-sdk): no counters, the duration alone";
    return ok();
  }
  Json symbols = Json::array();
  for (const auto& launch : outcome["launches"]) symbols.push_back(launch["symbol"]);
  KILN_TRY(report["counters"], rocprof_counters(rocprof, options.run, symbols));
  report["note"] = "counters by " + rocprof;
  return ok();
}

int profile_command(Context& context, const ProfileOptions& options) {
  auto run = prepare_run(context, options.run);
  if (!run) return report(context, run.error());
  Json request = run->params;   // with the program, so that the answer can name its statements
  request.erase("explain_key");
  request["device"] = options.run.device;
  request["args"] = run->arguments();
  if (!run->symbols.empty()) request["symbols"] = run->symbols;
  request["seeds"] = run->seeds();
  options.run.add_switches(request);
  auto answer = context.ask("kernel.profile", std::move(request));
  if (!answer) return report(context, answer.error());
  if (auto status = add_real_counters(options, run->outcome, *answer); !status) return report(context, status.error());
  if (auto status = run->write_outputs(); !status) return report(context, status.error());
  if (auto status = options.csv.empty() ? ok() : write_counter_csv(options.csv, *answer); !status) return report(context, status.error());
  if (auto status = options.trace.empty() ? ok() : write_trace(options.trace, *answer); !status) return report(context, status.error());
  for (auto& launch : (*answer)["launches"])
    for (auto& statement : launch["statements"])
      if (auto place = place_of_statement(context, statement.value("pointer", "")); !place.empty())
        statement["place"] = std::move(place);
  if (context.json) print_json(*answer);
  else print_report(*answer, options);
  return exit_ok;
}

}  // namespace

void add_profile_commands(CLI::App& app, Context& context, int& status) {
  auto* command = app.add_subcommand("profile", "run a kernel and report its counters, roofline, occupancy and bank conflicts");
  auto options = std::make_shared<ProfileOptions>();
  options->run.device = "emu:gfx942";
  options->run.add_to(*command);
  command->add_option("--csv", options->csv, "write the counters as rocprofv3's counter_collection.csv")
      ->check(daemon::path_flag_mistake);
  command->add_option("--trace", options->trace, "write a trace for Perfetto or chrome://tracing")->check(daemon::path_flag_mistake);
  command->add_flag("--instructions", options->all, "also every executed instruction");
  command->callback([&context, &status, options] { status = profile_command(context, *options); });
}

}  // namespace kiln::cli
