#include "api/cli/profile_tables.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "api/cli/context.hpp"

namespace kiln::cli {

using protocol::Json;

namespace {

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

// A line of source as a cell: cut where tables of usual terminals would wrap.
std::string cell(std::string text) {
  constexpr std::size_t bytes_max = 72;
  if (text.size() <= bytes_max) return text;
  std::size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

bool is_modelled(const Json& report, const std::string& name) {
  const auto names = report.find("modelled");
  return names != report.end() && std::find(names->begin(), names->end(), name) != names->end();
}

}  // namespace

void print_counters(const Json& report) {
  std::cout << "\ncounters (rocprof's names; KILN_ ones are ours; all waves)\n";
  std::vector<std::vector<std::string>> rows{{"counter", "value"}};
  for (const auto& [name, value] : report["counters"].items())
    if (value != 0 || name == "SQ_LDS_BANK_CONFLICT") rows.push_back({name + (is_modelled(report, name) ? "*" : ""), count_text(value)});
  print_table(rows);
  const Json models = report.value("models", Json::object());
  for (const auto& [name, model] : models.items())
    std::cout << (model.value("complete", false) ? "* " : "no counters of the " + name + ": the launch was too large for ") << model.value("text", "") << "\n";
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

namespace {

// What the row is about, behind the line of the user's file where that is known.
std::string subject_text(const Json& share) {
  auto place = share.value("place", "");
  place = place.substr(0, place.rfind(':'));  // without the column
  place = place.substr(place.rfind('/') + 1);
  return (place.empty() ? "" : place + "  ") + share.value("text", "");
}

}  // namespace

void print_shares(const Json& shares, const std::string& title, const std::string& first) {
  std::cout << "\n" << title << " (instructions of all waves)\n";
  std::vector<std::vector<std::string>> rows{{first, "share", "valu", "mfma", "lds", "memory", "conflicts", "bytes"}};
  for (const auto& s : shares) {
    if (s["instructions"] == 0) continue;
    rows.push_back({cell(subject_text(s)), percent(s.value("share", 0.0)), count_text(s["valu"]), count_text(s["mfma"]), count_text(s["lds"]),
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

}  // namespace kiln::cli
