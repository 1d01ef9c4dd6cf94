// What every device checks of a launch's arguments before it takes them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/compile/launch_sizes.hpp"
#include "engine/device/device.hpp"

namespace kiln::device {

struct MappedRange {
  std::uint64_t address = 0, size = 0;  // as the kernel sees it
  bool writable = false;
};

using LaunchSizesPtr = std::shared_ptr<const compile::LaunchSizes>;
// The sizes of all of a kernel's launches; null where dynamic symbols decide. Errors: corrupt.
Result<LaunchSizesPtr> fixed_sizes(const compile::Metadata& metadata);
// Those of one launch, by the values of its last arguments; `fixed` where there is one. Errors: invalid_argument
// (another number of arguments, with both counts; as compile::sizes_at).
Result<LaunchSizesPtr> launch_sizes(const compile::Metadata& metadata, const LaunchSizesPtr& fixed,
                                    const std::vector<LaunchArgument>& arguments);
// A scalar must have the tensor's size; else `buffer`, what the argument's buffer is mapped as (empty: there is no such
// buffer), must hold the range, be long enough, writable where the kernel writes, and aligned as it was compiled for.
// Errors: invalid_argument, naming the tensor.
Status check_argument(const compile::TensorInfo& tensor, const LaunchArgument& argument,
                      const std::optional<MappedRange>& buffer);

}  // namespace kiln::device
