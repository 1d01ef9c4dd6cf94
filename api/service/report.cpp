#include "api/service/report.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "api/service/json_text.hpp"
#include "engine/compile/launch_sizes.hpp"

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

bool is_host(const compile::Metadata& metadata) { return metadata.target.starts_with("host"); }

void write_lds_rows(JsonText& out, const compile::Metadata& metadata, const bound::Program* program) {
  out.key("lds_instructions");
  out.begin_array();
  for (const auto& row : metadata.lds_rows) {
    out.begin_object();
    out.field("tile", tile_name(program, row.tile, row.name));
    out.field("instruction", row.mnemonic);
    out.field("operation", row.operation);
    out.field("bytes", row.bytes);
    out.field("cost", row.cost);
    out.field("active_phases", row.active_phases);
    out.field("conflict_cycles", row.cost - row.active_phases);
    out.field("statement", row.statement);
    out.field("inferred", row.inferred);
    out.end_object();
  }
  out.end_array();
}

// What a kernel's report is about: the kernel by a program's names, at sizes that are known or not.
struct Described {
  const compile::Metadata& metadata;
  const bound::Program* program = nullptr;
  std::optional<compile::LaunchSizes> sizes;   // where every symbol has a value
  [[nodiscard]] const std::vector<bound::Symbol>& symbols() const { return symbols_of(metadata, program); }
};

Described described(const compile::Metadata& metadata, const bound::Program* program, const SetValues& set) {
  Described what{metadata, program, {}};
  const auto values = specialize::symbol_values(what.symbols(), set);
  if (metadata.symbols.empty() || !values) return what;
  if (auto sizes = compile::sizes_at(metadata, *values)) what.sizes = std::move(*sizes);
  return what;
}

// Numbers, and expressions where symbols decide.
void write_extents(JsonText& out, std::string_view name, const bound::Extents& extents,
                   const std::vector<bound::Symbol>& symbols) {
  out.key(name);
  out.begin_array();
  for (const auto& extent : extents)
    if (extent.is_static()) out.value(extent.value());
    else out.value(bound::print(extent, symbols));
  out.end_array();
}

void write_symbols(JsonText& out, const std::vector<bound::Symbol>& symbols) {
  out.key("symbols");
  out.begin_array();
  for (const auto& symbol : symbols) {
    out.begin_object();
    out.field("name", symbol.name);
    out.field("min", symbol.min);
    out.field("max", symbol.max);
    out.field("multiple_of", symbol.multiple_of);
    out.end_object();
  }
  out.end_array();
}

void write_launches(JsonText& out, const Described& what) {
  out.key("launches");
  out.begin_array();
  for (std::size_t i = 0; i < what.metadata.launches.size(); ++i) {
    const auto& launch = what.metadata.launches[i];
    out.begin_object();
    out.field("symbol", launch.symbol);
    if (what.sizes) out.field("grid", what.sizes->grids[i]);
    else write_extents(out, "grid", launch.grid, what.symbols());
    out.field("threads", launch.threads);
    out.field("wave", launch.wave);
    out.field(is_host(what.metadata) ? "tile_bytes" : "lds_bytes", launch.lds_bytes);
    out.end_object();
  }
  out.end_array();
}

void write_shared_tiles(JsonText& out, const compile::Metadata& metadata, const bound::Program* program) {
  out.key("shared_tiles");
  out.begin_array();
  for (const auto& tile : metadata.shared_tiles) {
    out.begin_object();
    out.field("tile", tile_name(program, tile.tile, tile.name));
    out.field("dtype", tile.dtype);
    out.field("shape", tile.shape);
    out.field("layout", tile.layout);
    out.field("lds_bytes", tile.lds_bytes);
    out.field("stages", tile.stages);
    out.field("write_cost", tile.write_cost);
    out.field("write_ideal", tile.write_ideal);
    out.field("read_cost", tile.read_cost);
    out.field("read_ideal", tile.read_ideal);
    out.field("conflict_cycles", tile.write_cost - tile.write_ideal + tile.read_cost - tile.read_ideal);
    out.end_object();
  }
  out.end_array();
}

compile::Resources total_resources(const compile::Metadata& metadata) {
  compile::Resources total;
  for (const auto& launch : metadata.launches) {  // of several, the most demanding
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
    const bool first = &launch == &metadata.launches.front();
    total.waves_per_simd = first ? r.waves_per_simd : std::min(total.waves_per_simd, r.waves_per_simd);
  }
  return total;
}

void write_resources(JsonText& out, const compile::Metadata& metadata) {
  const auto total = total_resources(metadata);
  out.key("resources");
  out.begin_object();
  if (is_host(metadata)) {  // no registers that anybody counts, and no LDS: a block's tiles lie in ordinary memory
    out.field("tile_bytes", total.lds_bytes);
    out.field("code_bytes", total.code_bytes);
    return out.end_object();
  }
  out.field("vgprs", total.vgprs);
  out.field("agprs", total.agprs);
  out.field("sgprs", total.sgprs);
  out.field("vgpr_spills", total.vgpr_spills);
  out.field("sgpr_spills", total.sgpr_spills);
  out.field("lds_bytes", total.lds_bytes);
  out.field("scratch_bytes", total.scratch_bytes);
  out.field("kernarg_bytes", total.kernarg_bytes);
  out.field("matrix_instructions", total.matrix_instructions);
  out.field("instructions", total.instructions);
  out.field("code_bytes", total.code_bytes);
  out.field("waves_per_simd", total.waves_per_simd);
  out.field("lds_conflict_cycles", metadata.lds_conflict_cycles);
  out.end_object();
}

void write_tensors(JsonText& out, const Described& what) {
  const auto& tensors = what.sizes ? what.sizes->tensors : what.metadata.tensors;
  out.key("tensors");
  out.begin_array();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto& t = tensors[i];
    out.begin_object();
    out.field("name", tensor_name(what.metadata, what.program, i));
    out.field("dtype", dtype_name(t.dtype));
    if (t.scalar) {
      out.field("scalar", true);
    } else {
      write_extents(out, "shape", t.shape, what.symbols());
      write_extents(out, "strides", t.strides, what.symbols());
      out.field("access", access_name(t.access));
      if (t.bytes.is_static()) out.field("bytes", t.bytes.value());
      out.field("align_bytes", t.align_bytes);
    }
    out.end_object();
  }
  out.end_array();
}

void write_workspace(JsonText& out, const compile::Metadata& metadata, const bound::Program* program) {
  if (metadata.workspaces.empty()) return;
  out.key("workspace");
  out.begin_array();
  for (std::size_t i = 0; i < metadata.workspaces.size(); ++i) {
    const auto& w = metadata.workspaces[i];
    const std::size_t index = metadata.tensors.size() + i;
    out.begin_object();
    out.field("name", program && index < program->tensors.size() ? program->tensors[index].name : w.name);
    out.field("dtype", dtype_name(w.dtype));
    out.field("shape", w.shape);
    out.field("bytes", w.bytes);
    out.end_object();
  }
  out.end_array();
}

// What the short answer and the whole report share.
void write_kernel(JsonText& out, const jit::Kernel& kernel, const bound::Program* program, const SetValues& set) {
  const auto& metadata = kernel.metadata;
  out.field("key", kernel.key.hex());
  out.field("program", metadata.program);
  out.field("target", metadata.target);
  out.field("compile_ms", metadata.compile_ms);
  write_resources(out, metadata);
  if (!is_host(metadata)) {
    out.field("lds_conflict_cycles", metadata.lds_conflict_cycles);
    write_lds_rows(out, metadata, program);
  }
  const auto what = described(metadata, program, set);
  write_launches(out, what);
  write_symbols(out, what.symbols());
  write_tensors(out, what);
  write_workspace(out, metadata, program);
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

const std::string& tensor_name(const compile::Metadata& metadata, const bound::Program* program, std::size_t index) {
  return program && index < program->tensors.size() ? program->tensors[index].name : metadata.tensors[index].name;
}

const std::vector<bound::Symbol>& symbols_of(const compile::Metadata& metadata, const bound::Program* program) {
  return program && program->symbols.size() == metadata.symbols.size() ? program->symbols : metadata.symbols;
}

std::string outcome_head(bool cached, std::string_view origin, double total_ms) {
  JsonText out;
  out.begin_object();
  out.field("cached", cached);
  out.field("origin", origin);
  out.field("total_ms", total_ms);
  return out.take() + ",";
}

std::string outcome_rest(const jit::CompileOutcome& outcome, const SetValues& set) {
  JsonText out;
  write_kernel(out, *outcome.kernel, outcome.program.get(), set);
  out.field("stored", outcome.stored);
  if (!outcome.stored) out.field("why_not_stored", outcome.why_not_stored);
  if (!outcome.key_parts.empty()) {
    out.key("key_parts");
    out.begin_array();
    for (const auto& part : outcome.key_parts) {
      out.begin_object();
      out.field("name", part.name);
      out.field("value", part.value);
      out.field("sha256", part.sha256);
      out.end_object();
    }
    out.end_array();
  }
  return out.take();
}

std::string explain_text(const jit::Kernel& kernel, const bound::Program* program, const SetValues& set) {
  const auto& m = kernel.metadata;
  JsonText out;
  out.begin_object();
  write_kernel(out, kernel, program, set);
  out.field("compiler", m.compiler);
  out.field("attempt", m.attempt);
  out.field("elf_flags", m.elf_flags);
  write_shared_tiles(out, m, program);
  out.field("bounds_left", m.bounds_left);
  out.field("decisions", m.decisions);
  out.field("kernel_program", m.kernel_program);
  out.field("source", m.source);
  out.field("log", m.log);
  out.end_object();
  return out.take();
}

Json store_stats_json(const jit::StoreStats& s) {
  Json value{{"path", s.path}, {"writable", s.writable}, {"entries", s.entries}, {"bytes", s.bytes}, {"entries_max", s.entries_max},
             {"bytes_max", s.bytes_max}, {"hits", s.hits}, {"misses", s.misses}, {"stores", s.stores},
             {"store_failures", s.store_failures}, {"evictions", s.evictions}, {"quarantined", s.quarantined}};
  if (!s.why_not_writable.empty()) value["why_not_writable"] = s.why_not_writable;
  if (!s.why_no_locks.empty()) value["why_no_locks"] = s.why_no_locks;
  for (const auto& layer : s.layers) {
    Json one{{"path", layer.path}, {"kind", layer.kind}, {"entries", layer.entries}, {"hits", layer.hits}};
    if (!layer.problem.empty()) one["problem"] = layer.problem;
    value["layers"].push_back(std::move(one));
  }
  return value;
}

Json tier_stats_json(const jit::TierStats& s) {
  Json value{{"url", s.url}, {"state", s.state}, {"hits", s.hits}, {"misses", s.misses}, {"errors", s.errors}, {"timeouts", s.timeouts},
             {"refused", s.refused}, {"skipped", s.skipped}, {"stored", s.stored}, {"dropped", s.dropped}, {"queued", s.queued}};
  if (!s.last_error.empty()) value["last_error"] = s.last_error;
  return value;
}

Json session_stats_json(const jit::SessionStats& s) {
  Json pool{{"compiles", s.pool.compiles}, {"failures", s.pool.failures}, {"deaths", s.pool.deaths}, {"started", s.pool.started},
            {"recycled", s.pool.recycled}, {"running", s.pool.running}, {"queued", s.pool.queued}};
  Json value{{"requests", s.requests}, {"memory_hits", s.memory_hits}, {"joined", s.joined}, {"kernels_loaded", s.kernels_loaded},
             {"workers", std::move(pool)}, {"store", store_stats_json(s.store)}};
  if (s.tier) value["tier"] = tier_stats_json(*s.tier);
  return value;
}

Json compilers_json(const std::vector<jit::FamilyCompiler>& families) {
  Json all = Json::object();
  for (const auto& f : families) {
    Json one{{"command", f.command}};
    if (!f.description.empty()) one["description"] = f.description;
    if (f.absent) one["error"] = f.absent->message;
    all[f.family] = std::move(one);
  }
  return all;
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
