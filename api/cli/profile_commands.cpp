// profile: what a kernel executes, counted on an emulated card; where it is spent; what to do about it.
#include <algorithm>
#include <cstdio>
#include <iostream>

#include "api/cli/operands.hpp"
#include "api/cli/profile_files.hpp"
#include "api/cli/rocprof.hpp"

namespace kiln::cli {

using protocol::Json;

namespace {

struct ProfileOptions {
  RunOptions run;
  std::string csv, trace, check;
  bool all = false;
};

std::string count_text(const Json& value) { return protocol::dump(value); }
std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f%%", 100 * share);
  return text;
}
std::string scaled(double value, const char* unit) {
  const char* prefixes[] = {"", "k", "M", "G", "T", "P"};
  int step = 0;
  for (; value >= 1000 && step < 5; ++step) value /= 1000;
  return number_text(value) + " " + prefixes[step] + unit;
}

void print_counters(const Json& report) {
  std::cout << "\ncounters (rocprof's names; KILN_ ones are ours; all waves)\n";
  std::vector<std::vector<std::string>> rows{{"counter", "value"}};
  for (const auto& [name, value] : report["counters"].items())
    if (value != 0 || name == "SQ_LDS_BANK_CONFLICT") rows.push_back({name, count_text(value)});
  print_table(rows);
}

void print_resources(const Json& launch) {
  const auto& r = launch["resources"];
  std::cout << "\nresources\n";
  std::vector<std::vector<std::string>> rows{{}, {}};
  for (const char* name : {"vgprs", "agprs", "sgprs", "vgpr_spills", "sgpr_spills", "lds_bytes", "scratch_bytes", "threads"}) {
    rows[0].push_back(name);
    rows[1].push_back(count_text(r[name]));
  }
  print_table(rows);
  const auto& o = launch["occupancy"];
  std::cout << "occupancy: " << o["waves_per_simd"] << " of " << o["waves_max"] << " waves a SIMD, limited by " << o.value("limit", "")
            << " (registers allow " << o["by_registers"] << ", LDS " << o["by_lds"] << ")\n";
}

void print_roofline(const Json& launch) {
  if (const auto& r = launch["roofline"]; r.is_object()) {
    std::cout << "roofline (" << r.value("card", "") << "): " << scaled(r.value("operations", 0.0), (r.value("operations_of", "") + " operations").c_str())
              << ", " << scaled(r.value("bytes", 0.0), "B") << ", " << number_text(r.value("intensity", 0.0)) << " operations a byte; the ridge is at "
              << number_text(r.value("ridge", 0.0)) << ": bound by " << r.value("bound", "") << "\n";
  }
  std::string line;
  for (const auto& unit : launch["estimate"])
    line += (line.empty() ? "" : ", ") + unit.value("unit", "") + " " + number_text(unit.value("cycles", 0.0));
  if (!line.empty()) std::cout << "estimate, not measured (cycles of one compute unit, work spread evenly): " << line << "\n";
}

void print_statements(const Json& launch) {
  std::cout << "\nby line of the tile program (instructions of all waves)\n";
  std::vector<std::vector<std::string>> rows{{"statement", "share", "valu", "mfma", "lds", "memory", "conflicts", "bytes"}};
  for (const auto& s : launch["statements"]) {
    if (s["instructions"] == 0) continue;
    rows.push_back({s.value("text", ""), percent(s.value("share", 0.0)), count_text(s["valu"]), count_text(s["mfma"]), count_text(s["lds"]),
                    count_text(s["memory"]), count_text(s["lds_conflicts"]), count_text(s["bytes"])});
  }
  print_table(rows);
}

void print_lds(const Json& launch) {
  if (launch["lds_instructions"].empty()) return;
  std::cout << "\nLDS instructions (cycles of all waves)\n";
  std::vector<std::vector<std::string>> rows{{"tile", "instruction", "executed", "cycles", "conflicts", "predicted"}};
  for (const auto& r : launch["lds_instructions"]) {
    const auto text = r.value("instruction", "");
    rows.push_back({r.value("tile", ""), text.substr(0, text.find(' ')) + (r.value("inferred", false) ? "*" : ""), count_text(r["executed"]),
                    count_text(r["cycles"]), count_text(r["conflicts"]),
                    r["predicted_conflicts"].is_null() ? "-" : count_text(r["predicted_conflicts"])});
  }
  print_table(rows);
}

void print_instructions(const Json& launch) {
  std::cout << "\ninstructions\n";
  std::vector<std::vector<std::string>> rows{{"offset", "executed", "conflicts", "bytes", "instruction"}};
  for (const auto& r : launch["instructions"]) {
    char offset[32];
    std::snprintf(offset, sizeof offset, "0x%llx", static_cast<unsigned long long>(r.value("offset", std::uint64_t(0))));
    rows.push_back({offset, count_text(r["executed"]), count_text(r["lds_conflicts"]), count_text(r["bytes"]), r.value("text", "")});
  }
  print_table(rows);
}

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
    print_statements(launch);
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
  if (!options.check.empty()) request["switches"] = {{"check", options.check}};
  auto answer = context.ask("kernel.profile", std::move(request));
  if (!answer) return report(context, answer.error());
  if (auto status = add_real_counters(options, run->outcome, *answer); !status) return report(context, status.error());
  if (auto status = run->write_outputs(); !status) return report(context, status.error());
  if (auto status = options.csv.empty() ? ok() : write_counter_csv(options.csv, *answer); !status) return report(context, status.error());
  if (auto status = options.trace.empty() ? ok() : write_trace(options.trace, *answer); !status) return report(context, status.error());
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
  command->add_option("--csv", options->csv, "write the counters as rocprofv3's counter_collection.csv");
  command->add_option("--trace", options->trace, "write a trace for Perfetto or chrome://tracing");
  command->add_option("--check-memory", options->check, "also switch checks on: races, uninitialised, barriers, all …");
  command->add_flag("--instructions", options->all, "also every executed instruction");
  command->callback([&context, &status, options] { status = profile_command(context, *options); });
}

}  // namespace kiln::cli
