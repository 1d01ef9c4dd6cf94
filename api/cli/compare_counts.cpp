#include "api/cli/compare_counts.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace kiln::cli {

using protocol::Json;

const CountedFigure counted_figures[9] = {
    {"instructions", "executed instructions"},
    {"cycles_busiest", "estimated cycles, busiest unit"},
    {"cycles_sum", "estimated cycles, all units in turn"},
    {"SQ_LDS_BANK_CONFLICT", "SQ_LDS_BANK_CONFLICT"},
    {"SQ_LDS_IDX_ACTIVE", "SQ_LDS_IDX_ACTIVE"},
    {"SQ_INSTS_VALU", "SQ_INSTS_VALU"},
    {"SQ_INSTS_MFMA", "SQ_INSTS_MFMA"},
    {"read_bytes", "global bytes read"},
    {"write_bytes", "global bytes written"},
};

namespace {

constexpr const char* counters_of_figures[][2] = {{"instructions", "SQ_INSTS"},
                                                  {"SQ_LDS_BANK_CONFLICT", "SQ_LDS_BANK_CONFLICT"},
                                                  {"SQ_LDS_IDX_ACTIVE", "SQ_LDS_IDX_ACTIVE"},
                                                  {"SQ_INSTS_VALU", "SQ_INSTS_VALU"},
                                                  {"SQ_INSTS_MFMA", "SQ_INSTS_MFMA"},
                                                  {"read_bytes", "KILN_GLOBAL_READ_BYTES"},
                                                  {"write_bytes", "KILN_GLOBAL_WRITE_BYTES"}};

double figure(const Json& counts, const char* name) { return counts.value(name, 0.0); }

}  // namespace

void add_counts(const Json& report, Json& row) {
  const auto& counters = report["counters"];
  Json counts = Json::object();
  for (const auto& [name, counter] : counters_of_figures)
    if (counters.contains(counter)) counts[name] = counters[counter];
  double busiest = 0, sum = 0;
  std::string unit;
  for (const auto& launch : report["launches"]) {
    double most = 0;
    for (const auto& entry : launch["estimate"]) {
      const double cycles = entry.value("cycles", 0.0);
      sum += cycles;
      if (cycles > most) unit = entry.value("unit", "");
      most = std::max(most, cycles);
    }
    busiest += most;
  }
  counts["cycles_busiest"] = busiest;
  counts["cycles_sum"] = sum;
  row["busiest_unit"] = unit;
  row["counts"] = std::move(counts);
  for (const char* name : {"counters", "occupancy", "advice", "estimate", "resources", "modelled"})
    if (report.contains(name)) row[name] = report[name];
}

std::string count_text(double value) {
  char text[32];
  const bool whole = value == std::floor(value) || value >= 1000;
  std::snprintf(text, sizeof text, whole ? "%.0f" : "%.3g", value);
  return text;
}

std::string change_text(double a, double b) {
  if (a == b) return "0";
  if (a == 0) return "from 0";
  if (b == 0) return "to 0";
  char text[32];
  const double change = 100 * (b / a - 1);
  std::snprintf(text, sizeof text, std::abs(change) < 10 ? "%+.2g %%" : "%+.0f %%", change);
  return text;
}

Json counted_verdict(const Json& a, const Json& b) {
  // The first one that differs decides; cycles have the conflicts in them, so that the others are told beside it.
  constexpr const char* judged[][2] = {{"cycles_busiest", "estimated cycles of the busiest unit"},
                                       {"cycles_sum", "estimated cycles of all units"},
                                       {"SQ_LDS_BANK_CONFLICT", "LDS bank conflict cycles"}};
  std::string rises, falls;
  bool worse = false, decided = false;
  for (const auto& [name, title] : judged) {
    const double before = figure(a, name), after = figure(b, name);
    if (before == after) continue;
    if (!decided) worse = after > before;
    decided = true;
    auto& text = after > before ? rises : falls;
    auto change = change_text(before, after);
    if (after > before) change.erase(0, 1);  // "worse by 29 %"
    text += (text.empty() ? "" : ", ") + (before != 0 && after != 0
                                              ? change + " " + title
                                              : count_text(std::max(before, after)) + " " + title +
                                                    (before == 0 ? " where there were none" : " gone"));
  }
  if (!decided) return {{"verdict", "equal"}, {"verdict_text", "no worse: the same estimate and conflicts"}};
  if (worse) return {{"verdict", "worse"}, {"verdict_text", "worse by " + rises + (falls.empty() ? "" : " (" + falls + ")")}};
  return {{"verdict", "better"}, {"verdict_text", "no worse (" + falls + ")" + (rises.empty() ? "" : "; against it " + rises)}};
}

}  // namespace kiln::cli
