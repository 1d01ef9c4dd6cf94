// What every device checks of a launch's arguments before it takes them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/compile/metadata.hpp"
#include "engine/device/device.hpp"

namespace kiln::device {

struct MappedRange {
  std::uint64_t address = 0, size = 0;  // as the kernel sees it
  bool writable = false;
};

// Errors: invalid_argument, with both counts.
Status check_argument_count(const std::vector<compile::TensorInfo>& tensors,
                            const std::vector<LaunchArgument>& arguments);
// A scalar must have the tensor's size; else `buffer`, what the argument's buffer is mapped as (empty: there is no such
// buffer), must hold the range, be long enough, writable where the kernel writes, and aligned as it was compiled for.
// Errors: invalid_argument, naming the tensor.
Status check_argument(const compile::TensorInfo& tensor, const LaunchArgument& argument,
                      const std::optional<MappedRange>& buffer);

}  // namespace kiln::device
