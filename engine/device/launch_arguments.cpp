#include "engine/device/launch_arguments.hpp"

#include <algorithm>
#include <string>

namespace kiln::device {

Status check_argument_count(const std::vector<compile::TensorInfo>& tensors,
                            const std::vector<LaunchArgument>& arguments) {
  if (arguments.size() == tensors.size()) return ok();
  return Error(ErrorCode::invalid_argument, "the kernel takes " + std::to_string(tensors.size()) + " arguments, " +
                                                std::to_string(arguments.size()) + " given");
}

Status check_argument(const compile::TensorInfo& tensor, const LaunchArgument& argument,
                      const std::optional<MappedRange>& buffer) {
  const auto wrong = [&](const std::string& what) {
    return Error(ErrorCode::invalid_argument, "argument " + tensor.name + ": " + what);
  };
  const auto needed = static_cast<std::uint64_t>(tensor.bytes);
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
