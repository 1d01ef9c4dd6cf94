// Whether memory can be had, asked before it is touched: the system promises more than it has and then ends processes.
#pragma once

#include <cstdint>
#include <string>

#include "engine/base/result.hpp"

namespace kiln {

// resource_limit, with the figures, when `bytes` are more than the machine has available (MemAvailable of /proc/meminfo)
// or more than the address space limit of this process (RLIMIT_AS) leaves. `what` takes them: "softmax's tensors".
Status check_memory_left(std::uint64_t bytes, const std::string& what);

std::string bytes_text(double bytes);   // "1.5 MiB"

}  // namespace kiln
