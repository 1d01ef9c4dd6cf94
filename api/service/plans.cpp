#include "api/service/plans.hpp"

#include <algorithm>

#include "api/service/state.hpp"

namespace kiln::service {

bool Plan::has_kernel(const jit::Key& key) const {
  return std::any_of(kernels.begin(), kernels.end(), [&](const auto& kernel) { return kernel->key == key; });
}

void Plan::add_copied(const std::shared_ptr<Buffer>& buffer, std::uint64_t offset, std::uint64_t bytes, bool written) {
  const auto same = std::find_if(copied.begin(), copied.end(), [&](const Copied& range) {
    return range.buffer == buffer && range.offset == offset && range.bytes == bytes;
  });
  if (same == copied.end()) copied.push_back({buffer, offset, bytes, written});
  else same->written = same->written || written;
}

namespace {

Error in_plan(std::uint64_t plan, const char* what) {
  return Error(ErrorCode::busy, "plan " + std::to_string(plan) + " of this connection uses the " + what +
                                    ": release the plan first");
}

}  // namespace

Status not_in_plan(const ConnectionState& connection, std::uint64_t buffer) {
  for (const auto& [id, plan] : connection.plans)
    if (plan->buffers.contains(buffer)) return in_plan(id, "buffer");
  return ok();
}

Status not_in_plan(const ConnectionState& connection, const jit::Key& kernel) {
  for (const auto& [id, plan] : connection.plans)
    if (plan->has_kernel(kernel)) return in_plan(id, "kernel");
  return ok();
}

}  // namespace kiln::service
