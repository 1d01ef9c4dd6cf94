#include "engine/compile/launch_sizes.hpp"

#include "engine/ir/bound/symbols.hpp"

namespace kiln::compile {
namespace {

constexpr std::int64_t bytes_max = std::int64_t(1) << 62;

// A tensor whose size leaves 64 bits was refused when its kernel was bound.
Status put(bound::Extent& extent, std::span<const std::int64_t> symbols, const std::string& tensor) {
  if (extent.is_static()) return ok();
  const auto value = extent.at(symbols);
  if (!value || *value < 0 || *value > bytes_max)
    return Error(ErrorCode::corrupt, "the kernel's metadata give \"" + tensor + "\" no size");
  extent = *value;
  return ok();
}

}  // namespace

Result<LaunchSizes> sizes_at(const Metadata& metadata, std::span<const std::int64_t> symbols) {
  KILN_CHECK(bound::check_values(metadata.symbols, symbols));
  LaunchSizes sizes;
  sizes.tensors = metadata.tensors;
  for (auto& tensor : sizes.tensors) {
    for (auto& extent : tensor.shape) KILN_CHECK(put(extent, symbols, tensor.name));
    for (auto& stride : tensor.strides) KILN_CHECK(put(stride, symbols, tensor.name));
    KILN_CHECK(put(tensor.bytes, symbols, tensor.name));
  }
  for (std::size_t i = 0; i < metadata.launches.size(); ++i) {
    const auto& grid = metadata.launches[i].grid;
    if (bound::all_static(grid)) {
      sizes.grids.push_back(bound::values(grid));
      continue;
    }
    KILN_TRY(auto blocks, bound::grid_at(grid, i, symbols));
    sizes.grids.push_back(std::move(blocks));
  }
  return sizes;
}

Result<Metadata> with_values(const Metadata& metadata, std::span<const std::int64_t> symbols) {
  KILN_TRY(auto sizes, sizes_at(metadata, symbols));
  if (!metadata.symbols.empty() && !metadata.workspaces.empty())
    return Error(ErrorCode::unsupported, "not yet: a capture of a kernel that has dynamic symbols and a workspace");
  Metadata made = metadata;
  made.symbols.clear();
  made.tensors = std::move(sizes.tensors);
  for (const auto& symbol : metadata.symbols) {
    TensorInfo info;
    info.name = symbol.name;
    info.dtype = DType::i32;
    info.scalar = true;
    info.bytes = dtype_bytes(DType::i32);
    made.tensors.push_back(std::move(info));
  }
  for (std::size_t i = 0; i < made.launches.size(); ++i)
    made.launches[i].grid = bound::extents_of(sizes.grids[i]);
  return made;
}

Bytes symbol_argument(std::int64_t value) {
  Writer writer;
  writer.u32(static_cast<std::uint32_t>(value));
  return writer.take();
}

}  // namespace kiln::compile
