#include "engine/base/processor.hpp"

#include <sched.h>

#include <algorithm>
#include <fstream>

#include "engine/base/bytes.hpp"

namespace kiln {

std::string processor_name() {
  constexpr std::size_t bytes_max = 200;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const auto colon = line.find(':');
    return colon == std::string::npos || colon + 2 > line.size() ? "x86-64"
                                                                 : make_valid_utf8(line.substr(colon + 2, bytes_max));
  }
  return "x86-64";
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(CPU_COUNT(&set), 1);
}

}  // namespace kiln
