// What the values of a kernel's dynamic symbols make of its sizes. Pure.
#pragma once

#include <span>
#include <vector>

#include "engine/compile/metadata.hpp"

namespace kiln::compile {

struct LaunchSizes {
  std::vector<TensorInfo> tensors;                 // every extent known
  std::vector<std::vector<std::int64_t>> grids;    // by launch: x y z
};
// Errors: invalid_argument, located at "/symbols/<name>" (no value, or one that breaks a promise) or at
// "/launches/<number>/grid" (more blocks than a device takes).
Result<LaunchSizes> sizes_at(const Metadata& metadata, std::span<const std::int64_t> symbols);

// The kernel as one of known sizes, for the same object: what was a dynamic symbol is an i32 scalar behind the tensors.
// Errors: as sizes_at; unsupported for a kernel with workspaces, whose arguments lie between the two.
Result<Metadata> with_values(const Metadata& metadata, std::span<const std::int64_t> symbols);
// Such a scalar's bytes, as launches take them.
Bytes symbol_argument(std::int64_t value);

}  // namespace kiln::compile
