#include "api/service/report.hpp"

#include <cmath>

namespace kiln::service {

using protocol::Fields;
using protocol::Json;

namespace {

std::string tile_name(const bound::Program* program, int tile, const std::string& fallback) {
  if (!program) return fallback;
  for (const auto& launch : program->launches)
    if (tile >= 0 && std::size_t(tile) < launch.tiles.size()) return launch.tiles[std::size_t(tile)].name;
  return fallback;
}

// NaN and infinity have no JSON number.
Json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

Json lds_rows_json(const compile::Metadata& metadata, const bound::Program* program) {
  Json rows = Json::array();
  for (const auto& row : metadata.lds_rows)
    rows.push_back({{"tile", tile_name(program, row.tile, row.name)}, {"instruction", row.mnemonic}, {"operation", row.operation},
                    {"bytes", row.bytes}, {"cost", row.cost}, {"active_phases", row.active_phases},
                    {"conflict_cycles", row.cost - row.active_phases}, {"statement", row.statement}, {"inferred", row.inferred}});
  return rows;
}

Json launches_json(const compile::Metadata& metadata) {
  Json launches = Json::array();
  for (const auto& launch : metadata.launches)
    launches.push_back({{"symbol", launch.symbol}, {"grid", launch.grid}, {"threads", launch.threads}, {"wave", launch.wave},
                        {"lds_bytes", launch.lds_bytes}});
  return launches;
}

Json shared_tiles_json(const compile::Metadata& metadata, const bound::Program* program) {
  Json tiles = Json::array();
  for (const auto& tile : metadata.shared_tiles)
    tiles.push_back({{"tile", tile_name(program, tile.tile, tile.name)}, {"dtype", tile.dtype}, {"shape", tile.shape},
                     {"layout", tile.layout}, {"lds_bytes", tile.lds_bytes}, {"stages", tile.stages},
                     {"write_cost", tile.write_cost}, {"write_ideal", tile.write_ideal}, {"read_cost", tile.read_cost},
                     {"read_ideal", tile.read_ideal},
                     {"conflict_cycles", tile.write_cost - tile.write_ideal + tile.read_cost - tile.read_ideal}});
  return tiles;
}

Status read_set(const Json& params, specialize::Bindings& bindings) {
  const Fields fields(params, "/params");
  if (!fields.has("set")) return ok();
  KILN_TRY(const Json* set, fields.object("set"));
  const Fields values(*set, "/params/set");
  for (const auto& [name, value] : set->items()) {
    if (value.is_string()) bindings.set[name] = value.get<std::string>();
    else if (value.is_boolean()) bindings.set[name] = value.get<bool>() ? "true" : "false";
    else if (value.is_number_integer()) bindings.set[name] = std::to_string(value.get<std::int64_t>());
    else return values.error(name, "an integer, a string or a boolean");
  }
  return ok();
}

}  // namespace

Json resources_json(const compile::Metadata& metadata) {
  compile::Resources total;
  for (const auto& launch : metadata.launches) {  // one launch is the rule; of several, the most demanding
    const auto& r = launch.resources;
    total.vgprs = std::max(total.vgprs, r.vgprs);
    total.agprs = std::max(total.agprs, r.agprs);
    total.sgprs = std::max(total.sgprs, r.sgprs);
    total.vgpr_spills = std::max(total.vgpr_spills, r.vgpr_spills);
    total.sgpr_spills = std::max(total.sgpr_spills, r.sgpr_spills);
    total.lds_bytes = std::max(total.lds_bytes, r.lds_bytes);
    total.scratch_bytes = std::max(total.scratch_bytes, r.scratch_bytes);
    total.kernarg_bytes = std::max(total.kernarg_bytes, r.kernarg_bytes);
    total.matrix_instructions += r.matrix_instructions;
    total.instructions += r.instructions;
    total.code_bytes += r.code_bytes;
    total.waves_per_simd = std::max(total.waves_per_simd, r.waves_per_simd);
  }
  return {{"vgprs", total.vgprs}, {"agprs", total.agprs}, {"sgprs", total.sgprs}, {"vgpr_spills", total.vgpr_spills},
          {"sgpr_spills", total.sgpr_spills}, {"lds_bytes", total.lds_bytes}, {"scratch_bytes", total.scratch_bytes},
          {"kernarg_bytes", total.kernarg_bytes}, {"matrix_instructions", total.matrix_instructions},
          {"instructions", total.instructions}, {"code_bytes", total.code_bytes}, {"waves_per_simd", total.waves_per_simd},
          {"lds_conflict_cycles", metadata.lds_conflict_cycles}};
}

const std::string& tensor_name(const compile::Metadata& metadata, const bound::Program* program, std::size_t index) {
  return program && index < program->tensors.size() ? program->tensors[index].name : metadata.tensors[index].name;
}

Json tensors_json(const compile::Metadata& metadata, const bound::Program* program) {
  Json tensors = Json::array();
  for (std::size_t i = 0; i < metadata.tensors.size(); ++i) {
    const auto& t = metadata.tensors[i];
    Json entry{{"name", tensor_name(metadata, program, i)}, {"dtype", dtype_name(t.dtype)}};
    if (t.scalar) {
      entry["scalar"] = true;
    } else {
      entry["shape"] = t.shape;
      entry["strides"] = t.strides;
      entry["access"] = access_name(t.access);
      entry["bytes"] = t.bytes;
      entry["align_bytes"] = t.align_bytes;
    }
    tensors.push_back(std::move(entry));
  }
  return tensors;
}

Json outcome_json(const jit::CompileOutcome& outcome) {
  const auto& metadata = outcome.kernel->metadata;
  Json value{{"key", outcome.kernel->key.hex()}, {"cached", outcome.cached}, {"origin", outcome.origin},
             {"compile_ms", metadata.compile_ms}, {"total_ms", outcome.total_ms}, {"target", metadata.target},
             {"program", metadata.program}, {"stored", outcome.stored}, {"resources", resources_json(metadata)},
             {"lds_conflict_cycles", metadata.lds_conflict_cycles}, {"lds_instructions", lds_rows_json(metadata, outcome.program.get())},
             {"launches", launches_json(metadata)}, {"tensors", tensors_json(metadata, outcome.program.get())}};
  if (!outcome.stored) value["why_not_stored"] = outcome.why_not_stored;
  if (!outcome.key_parts.empty()) {
    Json parts = Json::array();
    for (const auto& part : outcome.key_parts) parts.push_back({{"name", part.name}, {"value", part.value}, {"sha256", part.sha256}});
    value["key_parts"] = std::move(parts);
  }
  return value;
}

Json explain_json(const jit::Kernel& kernel, const bound::Program* program) {
  const auto& m = kernel.metadata;
  return {{"key", kernel.key.hex()}, {"program", m.program}, {"target", m.target}, {"compiler", m.compiler},
          {"compile_ms", m.compile_ms}, {"attempt", m.attempt}, {"elf_flags", m.elf_flags}, {"resources", resources_json(m)},
          {"lds_conflict_cycles", m.lds_conflict_cycles}, {"lds_instructions", lds_rows_json(m, program)},
          {"launches", launches_json(m)}, {"tensors", tensors_json(m, program)}, {"shared_tiles", shared_tiles_json(m, program)},
          {"bounds_left", m.bounds_left}, {"decisions", m.decisions}, {"kernel_program", m.kernel_program}, {"source", m.source},
          {"log", m.log}};
}

Json store_stats_json(const jit::StoreStats& s) {
  Json value{{"path", s.path}, {"writable", s.writable}, {"entries", s.entries}, {"bytes", s.bytes}, {"entries_max", s.entries_max},
             {"bytes_max", s.bytes_max}, {"hits", s.hits}, {"misses", s.misses}, {"stores", s.stores},
             {"store_failures", s.store_failures}, {"evictions", s.evictions}, {"quarantined", s.quarantined}};
  if (!s.why_not_writable.empty()) value["why_not_writable"] = s.why_not_writable;
  if (!s.why_no_locks.empty()) value["why_no_locks"] = s.why_no_locks;
  return value;
}

Json session_stats_json(const jit::SessionStats& s) {
  Json pool{{"compiles", s.pool.compiles}, {"failures", s.pool.failures}, {"deaths", s.pool.deaths}, {"started", s.pool.started},
            {"recycled", s.pool.recycled}, {"running", s.pool.running}, {"queued", s.pool.queued}};
  return {{"requests", s.requests}, {"memory_hits", s.memory_hits}, {"joined", s.joined}, {"kernels_loaded", s.kernels_loaded},
          {"workers", std::move(pool)}, {"store", store_stats_json(s.store)}};
}

Json comparison_json(const reference::Comparison& c) {
  return {{"elements", c.elements}, {"wrong", c.wrong}, {"error_max", number(c.error_max)},
          {"tolerance_at_max", number(c.tolerance_at_max)}, {"ratio_max", number(c.ratio_max)}, {"first_wrong", c.first_wrong},
          {"passed", c.wrong == 0}};
}

Result<specialize::Bindings> read_bindings(const Json& params) {
  specialize::Bindings bindings;
  KILN_CHECK(read_set(params, bindings));
  const Fields fields(params, "/params");
  if (fields.has("layouts")) {
    KILN_TRY(const Json* layouts, fields.object("layouts"));
    const Fields values(*layouts, "/params/layouts");
    for (const auto& [name, value] : layouts->items()) {
      const auto spec = value.is_string() ? layout_spec_from_text(value.get<std::string>()) : std::nullopt;
      if (!spec) return values.error(name, "a layout: auto, row_major, pad:BYTES or swizzle:CHUNK,DIVISOR,ROWS");
      bindings.layouts[name] = *spec;
    }
  }
  if (fields.has("align")) {
    KILN_TRY(const Json* align, fields.object("align"));
    const Fields values(*align, "/params/align");
    for (const auto& [name, value] : align->items()) {
      KILN_TRY(bindings.align_bytes[name], values.integer(name, 1, 16));
    }
  }
  return bindings;
}

}  // namespace kiln::service
