#include "engine/device/launch_arguments.hpp"

#include <algorithm>
#include <string>

namespace kiln::device {

Result<LaunchSizesPtr> fixed_sizes(const compile::Metadata& metadata) {
  if (!metadata.symbols.empty()) return LaunchSizesPtr();
  KILN_TRY(auto sizes, compile::sizes_at(metadata, {}));
  return std::make_shared<const compile::LaunchSizes>(std::move(sizes));
}

Result<LaunchSizesPtr> launch_sizes(const compile::Metadata& metadata, const LaunchSizesPtr& fixed,
                                    const std::vector<LaunchArgument>& arguments) {
  const std::size_t tensors = metadata.tensors.size(), all = tensors + metadata.symbols.size();
  if (arguments.size() != all)
    return Error(ErrorCode::invalid_argument, "the kernel takes " + std::to_string(all) + " arguments, " +
                                                  std::to_string(arguments.size()) + " given");
  if (fixed) return fixed;
  bound::SymbolValues values;
  for (std::size_t i = tensors; i < all; ++i) {
    if (arguments[i].buffer != 0 || arguments[i].scalar.size() != 4)
      return Error(ErrorCode::invalid_argument, "the symbol " + metadata.symbols[i - tensors].name +
                                                    ": a scalar of 4 bytes is needed");
    values.push_back(static_cast<std::int32_t>(Reader(arguments[i].scalar).u32()));
  }
  KILN_TRY(auto sizes, compile::sizes_at(metadata, values));
  return std::make_shared<const compile::LaunchSizes>(std::move(sizes));
}

Status check_argument(const compile::TensorInfo& tensor, const LaunchArgument& argument,
                      const std::optional<MappedRange>& buffer) {
  const auto wrong = [&](const std::string& what) {
    return Error(ErrorCode::invalid_argument, "argument " + tensor.name + ": " + what);
  };
  const auto needed = static_cast<std::uint64_t>(tensor.bytes.value());
  if (tensor.scalar) {
    if (argument.buffer != 0 || argument.scalar.size() != needed)
      return wrong("a scalar of " + std::to_string(needed) + " bytes is needed");
    return ok();
  }
  if (!buffer) return wrong("no such buffer");
  if (argument.offset > buffer->size || argument.bytes > buffer->size - argument.offset)
    return wrong("the range leaves its buffer");
  if (argument.bytes < needed)
    return wrong(std::to_string(needed) + " bytes are needed, " + std::to_string(argument.bytes) + " given");
  if (tensor.access != Access::read && !buffer->writable) return wrong("the buffer is not mapped for writing");
  const auto align = static_cast<std::uint64_t>(std::max<std::int64_t>(tensor.align_bytes, 1));
  if (needed > 0 && (buffer->address + argument.offset) % align != 0)
    return wrong("the kernel was compiled for an alignment of " + std::to_string(align) + " bytes");
  return ok();
}

}  // namespace kiln::device
