#include "api/service/profile_json.hpp"

namespace kiln::service {

using protocol::Json;

namespace {

Json resources_json(const profile::KernelResources& r) {
  return {{"vgprs", r.vgprs}, {"agprs", r.agprs}, {"sgprs", r.sgprs}, {"vgpr_spills", r.vgpr_spills}, {"sgpr_spills", r.sgpr_spills},
          {"lds_bytes", r.lds_bytes}, {"scratch_bytes", r.scratch_bytes}, {"threads", r.threads}};
}

Json occupancy_json(const profile::Occupancy& o) {
  return {{"waves_per_simd", o.waves_per_simd}, {"waves_max", o.waves_max}, {"by_registers", o.by_registers}, {"by_lds", o.by_lds},
          {"limit", o.limit}};
}

Json roofline_json(const profile::Roofline& r) {
  return {{"card", r.card}, {"operations_of", r.operations_of}, {"operations", r.operations}, {"bytes", r.bytes},
          {"intensity", r.intensity}, {"ridge", r.ridge}, {"bound", r.bound}, {"peak_operations_s", r.peak_operations},
          {"peak_bytes_s", r.peak_bytes}};
}

Json statements_json(const profile::Report& report) {
  Json list = Json::array();
  for (const auto& s : report.statements)
    list.push_back({{"pointer", s.pointer}, {"text", s.text}, {"share", s.share}, {"instructions", s.executed}, {"valu", s.vector},
                    {"mfma", s.matrix}, {"lds", s.lds}, {"memory", s.memory}, {"lds_cycles", s.lds_cycles},
                    {"lds_conflicts", s.lds_conflicts}, {"bytes", s.bytes}});
  return list;
}

Json lds_json(const profile::Report& report) {
  Json list = Json::array();
  for (const auto& row : report.lds) {
    Json entry{{"offset", row.offset}, {"instruction", row.instruction}, {"tile", row.tile}, {"statement", row.statement},
               {"executed", row.executed}, {"cycles", row.cycles}, {"conflicts", row.conflicts}, {"inferred", row.inferred}};
    entry["predicted_conflicts"] = row.predicted_conflicts ? Json(*row.predicted_conflicts) : Json(nullptr);
    list.push_back(std::move(entry));
  }
  return list;
}

Json instructions_json(const profile::LaunchCounters& counted) {
  Json list = Json::array();
  for (const auto& row : counted.rows)
    list.push_back({{"offset", row.offset}, {"text", row.text}, {"executed", row.executed}, {"lds_cycles", row.lds_cycles},
                    {"lds_conflicts", row.lds_conflicts}, {"bytes", row.bytes}, {"segments", row.segments}, {"line", row.line}});
  return list;
}

Json models_json(const profile::LaunchCounters& counted) {
  Json models = Json::object();
  if (const auto& l2 = counted.l2_model)
    models["l2"] = {{"text", l2->text}, {"line_bytes", l2->line_bytes}, {"bytes", l2->bytes}, {"ways", l2->ways},
                    {"caches", l2->caches}, {"complete", l2->complete}};
  return models;
}

}  // namespace

Json launch_json(const profile::Report& report) {
  const auto& counted = report.counted;
  Json estimate = Json::array();
  for (const auto& unit : report.estimate) estimate.push_back({{"unit", unit.unit}, {"cycles", unit.cycles}});
  Json value{{"symbol", counted.kernel}, {"target", counted.target}, {"blocks", counted.blocks}, {"threads", counted.threads},
             {"lds_bytes", counted.lds_bytes}, {"emulated_ms", counted.duration_ms}, {"counters", counted.counters},
             {"modelled", counted.modelled}, {"models", models_json(counted)},
             {"resources", resources_json(report.resources)}, {"occupancy", occupancy_json(report.occupancy)},
             {"estimate", std::move(estimate)}, {"statements", statements_json(report)}, {"lds_instructions", lds_json(report)},
             {"instructions", instructions_json(counted)}};
  value["roofline"] = report.roofline ? roofline_json(*report.roofline) : Json(nullptr);
  return value;
}

Json profile_json(const jit::KernelProfile& profile) {
  Json launches = Json::array(), advice = Json::array();
  std::map<std::string, std::uint64_t> counters;
  for (const auto& report : profile.launches) {
    launches.push_back(launch_json(report));
    for (const auto& [name, count] : report.counted.counters) counters[name] += count;
  }
  for (const auto& a : profile.advice)
    advice.push_back({{"tile", a.tile}, {"instruction", a.instruction}, {"offset", a.offset}, {"statement", a.statement},
                      {"conflict_cycles", a.conflict_cycles}, {"layout", a.layout}, {"better", a.better},
                      {"better_conflicts", a.better_conflicts}, {"text", a.text}});
  Json value{{"counters", counters}, {"advice", std::move(advice)}};
  if (!profile.launches.empty()) {
    const auto& first = launches.front();
    for (const char* name : {"modelled", "models", "resources", "occupancy", "roofline", "estimate", "statements", "lds_instructions"})
      value[name] = first[name];
  }
  value["launches"] = std::move(launches);
  return value;
}

}  // namespace kiln::service
