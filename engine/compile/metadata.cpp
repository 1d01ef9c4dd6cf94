#include "engine/compile/metadata.hpp"

#include "engine/ir/bound/symbols.hpp"

namespace kiln::compile {
namespace {

constexpr std::uint32_t format = 2;  // of this encoding; entries of another format are misses

using Integers = std::vector<std::int64_t>;
using Strings = std::vector<std::string>;

void write(Writer& w, const Integers& values) {
  w.list(values, [](Writer& out, std::int64_t v) { out.i64(v); });
}
void write(Writer& w, const Strings& values) {
  w.list(values, [](Writer& out, const std::string& v) { out.string(v); });
}
void write(Writer& w, const bound::Extents& extents) {
  w.list(extents, [](Writer& out, const bound::Extent& extent) { bound::write_extent(out, extent); });
}
bound::Extents read_extents(Reader& r) {
  return r.list<bound::Extent>([](Reader& in) { return bound::read_extent(in); });
}
Integers read_integers(Reader& r) {
  return r.list<std::int64_t>([](Reader& in) { return in.i64(); });
}
Strings read_strings(Reader& r) {
  return r.list<std::string>([](Reader& in) { return in.string(); });
}

// The fields of Resources in their order in the encoding; one list for both directions.
constexpr std::int64_t Resources::* resource_fields[] = {
    &Resources::vgprs,         &Resources::agprs,        &Resources::sgprs,      &Resources::vgpr_spills,
    &Resources::sgpr_spills,   &Resources::lds_bytes,    &Resources::scratch_bytes, &Resources::kernarg_bytes,
    &Resources::matrix_instructions, &Resources::instructions, &Resources::code_bytes, &Resources::waves_per_simd};

void write(Writer& w, const LaunchInfo& launch) {
  w.string(launch.symbol);
  write(w, launch.grid);
  w.i64(launch.order.panel);
  w.boolean(launch.order.along_y);
  w.i64(launch.threads);
  w.i64(launch.wave);
  w.i64(launch.lds_bytes);
  for (const auto field : resource_fields) w.i64(launch.resources.*field);
  w.list(launch.arguments, [](Writer& out, const KernelArgument& argument) {
    out.string(argument.kind);
    out.i64(argument.offset);
    out.i64(argument.size);
  });
}

LaunchInfo read_launch(Reader& r) {
  LaunchInfo launch;
  launch.symbol = r.string();
  launch.grid = read_extents(r);
  launch.order.panel = r.i64();
  launch.order.along_y = r.boolean();
  launch.threads = r.i64();
  launch.wave = r.i64();
  launch.lds_bytes = r.i64();
  for (const auto field : resource_fields) launch.resources.*field = r.i64();
  launch.arguments = r.list<KernelArgument>([](Reader& in) {
    KernelArgument argument;
    argument.kind = in.string();
    argument.offset = in.i64();
    argument.size = in.i64();
    return argument;
  });
  return launch;
}

void write(Writer& w, const bound::Symbol& symbol) {
  w.string(symbol.name);
  for (const auto v : {symbol.min, symbol.max, symbol.multiple_of}) w.i64(v);
}

bound::Symbol read_symbol(Reader& r) {
  bound::Symbol symbol;
  symbol.name = r.string();
  for (auto* v : {&symbol.min, &symbol.max, &symbol.multiple_of}) *v = r.i64();
  return symbol;
}

// Extents that can be evaluated, whatever else they say.
Status check_extents(const Metadata& metadata) {
  for (const auto& symbol : metadata.symbols) KILN_CHECK(bound::check(symbol));
  const auto all = [&](const bound::Extents& extents) -> Status {
    for (const auto& extent : extents) KILN_CHECK(bound::check_form(extent, metadata.symbols));
    return ok();
  };
  for (const auto& launch : metadata.launches) KILN_CHECK(all(launch.grid));
  for (const auto& tensor : metadata.tensors) {
    KILN_CHECK(all(tensor.shape));
    KILN_CHECK(all(tensor.strides));
    KILN_CHECK(bound::check_form(tensor.bytes, metadata.symbols));
  }
  return ok();
}

void write(Writer& w, const TensorInfo& tensor) {
  w.string(tensor.name);
  w.enumeration(tensor.dtype);
  w.boolean(tensor.scalar);
  write(w, tensor.shape);
  write(w, tensor.strides);
  w.enumeration(tensor.access);
  w.i64(tensor.align_bytes);
  w.boolean(tensor.may_alias);
  bound::write_extent(w, tensor.bytes);
}

TensorInfo read_tensor(Reader& r) {
  TensorInfo tensor;
  tensor.name = r.string();
  tensor.dtype = r.enumeration(dtype_last);
  tensor.scalar = r.boolean();
  tensor.shape = read_extents(r);
  tensor.strides = read_extents(r);
  tensor.access = r.enumeration(Access::readwrite);
  tensor.align_bytes = r.i64();
  tensor.may_alias = r.boolean();
  tensor.bytes = bound::read_extent(r);
  return tensor;
}

void write(Writer& w, const SharedTile& tile) {
  w.i64(tile.launch);
  w.i64(tile.tile);
  w.string(tile.name);
  w.string(tile.dtype);
  w.string(tile.layout);
  write(w, tile.shape);
  for (const auto v : {tile.lds_bytes, tile.stages, tile.write_cost, tile.write_ideal, tile.read_cost, tile.read_ideal,
                       tile.better_conflicts})
    w.i64(v);
  w.string(tile.better);
}

SharedTile read_shared_tile(Reader& r) {
  SharedTile tile;
  tile.launch = r.i64();
  tile.tile = static_cast<int>(r.i64());
  tile.name = r.string();
  tile.dtype = r.string();
  tile.layout = r.string();
  tile.shape = read_integers(r);
  for (auto* v :
       {&tile.lds_bytes, &tile.stages, &tile.write_cost, &tile.write_ideal, &tile.read_cost, &tile.read_ideal,
        &tile.better_conflicts})
    *v = r.i64();
  tile.better = r.string();
  return tile;
}

void write(Writer& w, const LdsRow& row) {
  w.i64(row.launch);
  w.string(row.statement);
  w.string(row.mnemonic);
  w.string(row.operation);
  w.i64(row.tile);
  w.string(row.name);
  w.i64(row.address);
  w.i64(row.bytes);
  w.i64(row.cost);
  w.i64(row.active_phases);
  w.boolean(row.inferred);
}

LdsRow read_lds_row(Reader& r) {
  LdsRow row;
  row.launch = r.i64();
  row.statement = r.string();
  row.mnemonic = r.string();
  row.operation = r.string();
  row.tile = static_cast<int>(r.i64());
  row.name = r.string();
  row.address = r.i64();
  row.bytes = r.i64();
  row.cost = r.i64();
  row.active_phases = r.i64();
  row.inferred = r.boolean();
  return row;
}

}  // namespace

namespace {

bool may_be_records(const Metadata& metadata, std::size_t number) {
  return number < metadata.workspaces.size() && metadata.workspaces[number].bytes == bound::records_words * 8;
}

}  // namespace

std::uint64_t Metadata::workspace_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& one : workspaces) bytes += static_cast<std::uint64_t>(one.bytes);
  return bytes;
}

Status check_records(const Metadata& metadata, ByteView records) {
  if (metadata.records < 0) return ok();
  KILN_TRY(const auto read, bound::read_records(records, metadata.sites));
  return bound::check_assertions(read, metadata.sites);
}

Bytes encode(const Metadata& metadata) {
  Writer w;
  w.u32(format);
  w.string(metadata.program);
  w.string(metadata.target);
  w.string(metadata.compiler);
  w.list(metadata.launches, [](Writer& out, const LaunchInfo& v) { write(out, v); });
  w.list(metadata.symbols, [](Writer& out, const bound::Symbol& v) { write(out, v); });
  w.list(metadata.tensors, [](Writer& out, const TensorInfo& v) { write(out, v); });
  w.list(metadata.workspaces, [](Writer& out, const WorkspaceInfo& v) {
    out.string(v.name);
    out.enumeration(v.dtype);
    write(out, v.shape);
    out.i64(v.bytes);
  });
  w.list(metadata.shared_tiles, [](Writer& out, const SharedTile& v) { write(out, v); });
  w.list(metadata.lds_rows, [](Writer& out, const LdsRow& v) { write(out, v); });
  w.i64(metadata.lds_conflict_cycles);
  write(w, metadata.bounds_left);
  write(w, metadata.decisions);
  w.string(metadata.kernel_program);
  w.string(metadata.source);
  w.string(metadata.log);
  w.i64(metadata.attempt);
  w.f64(metadata.compile_ms);
  w.u32(metadata.elf_flags);
  if (metadata.records >= 0) {  // nothing otherwise: of other programs the encoding is what it was
    w.u32(static_cast<std::uint32_t>(metadata.records));
    w.list(metadata.sites, [](Writer& out, const bound::RecordSite& v) { bound::write_site(out, v); });
  }
  return w.take();
}

Result<Metadata> decode_metadata(ByteView bytes) {
  Reader r(bytes);
  if (r.u32() != format) return Error(ErrorCode::corrupt, "metadata of another format");
  Metadata metadata;
  metadata.program = r.string();
  metadata.target = r.string();
  metadata.compiler = r.string();
  metadata.launches = r.list<LaunchInfo>(read_launch);
  metadata.symbols = r.list<bound::Symbol>(read_symbol);
  metadata.tensors = r.list<TensorInfo>(read_tensor);
  metadata.workspaces = r.list<WorkspaceInfo>([](Reader& in) {
    WorkspaceInfo v;
    v.name = in.string();
    v.dtype = in.enumeration(dtype_last);
    v.shape = read_integers(in);
    v.bytes = in.i64();
    if (v.bytes < 0) in.fail();
    return v;
  });
  metadata.shared_tiles = r.list<SharedTile>(read_shared_tile);
  metadata.lds_rows = r.list<LdsRow>(read_lds_row);
  metadata.lds_conflict_cycles = r.i64();
  metadata.bounds_left = read_strings(r);
  metadata.decisions = read_strings(r);
  metadata.kernel_program = r.string();
  metadata.source = r.string();
  metadata.log = r.string();
  metadata.attempt = r.i64();
  metadata.compile_ms = r.f64();
  metadata.elf_flags = r.u32();
  if (r.ok() && r.left() > 0) {
    const std::size_t records = r.u32();
    metadata.sites = r.list<bound::RecordSite>(bound::read_site);
    if (!may_be_records(metadata, records)) r.fail();
    metadata.records = static_cast<int>(records);
  }
  KILN_CHECK(r.finish());
  KILN_CHECK(check_extents(metadata));
  return metadata;
}

}  // namespace kiln::compile
