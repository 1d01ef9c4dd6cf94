// Which cards this process is shown (ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES), and what the daemon, which sees all,
// calls them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/base/paths.hpp"
#include "engine/base/result.hpp"

namespace kiln::client {

class VisibleCards {
 public:
  VisibleCards() = default;  // all
  // As HIP reads the variables: ROCR_VISIBLE_DEVICES chooses among the machine's cards by number or UUID,
  // HIP_VISIBLE_DEVICES, or else CUDA_VISIBLE_DEVICES, among those; each list ends at its first entry that is neither.
  static VisibleCards of(const Environment& environment);
  // The daemon's name of what this process calls `device`: hip:0 is the first card that it is shown. Other names are
  // the same for both. Errors: unknown_target, with the variable.
  [[nodiscard]] Result<std::string> daemon_name(const std::string& device) const;

 private:
  std::optional<std::vector<std::string>> shown_;  // "3", "GPU-1f2e3d4c5b6a7988"
  std::string variable_;                           // that decided last, with its value
};

}  // namespace kiln::client
