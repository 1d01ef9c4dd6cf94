#include "engine/compile/host_compiler.hpp"
#include "engine/ir/bound/symbols.hpp"

namespace kiln::compile {
namespace {

TensorInfo tensor_info(const bound::Tensor& tensor) {
  TensorInfo info;
  info.name = tensor.name;
  info.dtype = tensor.dtype;
  info.scalar = tensor.scalar;
  info.shape = tensor.shape;
  info.strides = tensor.strides;
  info.access = tensor.access;
  info.align_bytes = tensor.align_bytes;
  info.may_alias = tensor.may_alias;
  const std::int64_t element_bytes = dtype_bytes(tensor.dtype);
  info.bytes = tensor.scalar ? bound::Extent(element_bytes)
                             : bound::make_binary(Op::mul, bound::elements_span(tensor).expr(),
                                                  bound::make_integer(element_bytes));
  return info;
}

SharedTile shared_tile(const kernel::Storage& storage, std::size_t launch) {
  SharedTile row;
  row.launch = static_cast<std::int64_t>(launch);
  row.tile = storage.tile;
  row.name = storage.name;
  row.dtype = dtype_name(storage.dtype);
  row.layout = storage.lds_layout.text();
  row.shape = storage.shape;
  row.lds_bytes = storage.stages * storage.stage_bytes();
  row.stages = storage.stages;
  return row;
}

}  // namespace

Metadata host_metadata(const bound::Program& program, const lower::Lowered& lowered, const std::string& text) {
  Metadata metadata;
  metadata.program = program.name;
  metadata.target = program.target;
  metadata.symbols = program.symbols;
  metadata.sites = program.sites;
  if (program.records >= 0) metadata.records = program.records - static_cast<int>(program.arguments());
  for (const auto& tensor : program.tensors) {
    if (tensor.workspace) metadata.workspaces.push_back({tensor.name, tensor.dtype, bound::values(tensor.shape), tensor.bytes()});
    else metadata.tensors.push_back(tensor_info(tensor));
  }
  for (std::size_t number = 0; number < lowered.program.launches.size(); ++number) {
    const auto& launch = lowered.program.launches[number];
    LaunchInfo info;
    info.symbol = launch.symbol;
    info.grid = launch.grid;
    info.order = program.launches[number].schedule.order;
    info.threads = launch.threads;
    info.wave = launch.wave;
    info.lds_bytes = launch.lds_bytes;
    info.resources.lds_bytes = launch.lds_bytes;
    metadata.launches.push_back(std::move(info));
    const auto& tiles = program.launches[number].tiles;
    for (const auto& storage : launch.storages) {
      if (storage.tile >= 0 && tiles[storage.tile].space == Space::shared)
        metadata.shared_tiles.push_back(shared_tile(storage, number));
    }
  }
  metadata.bounds_left = lowered.bounds_left;
  for (const auto& decision : lowered.decisions) {
    metadata.decisions.push_back(decision.step + ": " + decision.subject + ": " + decision.text);
  }
  metadata.kernel_program = kernel::print(lowered.program);
  metadata.source = text;
  return metadata;
}

}  // namespace kiln::compile
