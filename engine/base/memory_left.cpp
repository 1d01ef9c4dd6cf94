#include "engine/base/memory_left.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>

namespace kiln {
namespace {

std::optional<std::uint64_t> memory_available() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  for (std::uint64_t kib; file >> name >> kib; file.ignore(64, '\n'))
    if (name == "MemAvailable:") return kib << 10;
  return std::nullopt;
}

std::optional<std::uint64_t> address_space_left() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0;
  file >> pages;
  return limit.rlim_cur - std::min<std::uint64_t>(limit.rlim_cur, pages * std::uint64_t(::sysconf(_SC_PAGESIZE)));
}

std::string in_units(std::uint64_t bytes) {
  return bytes_text(static_cast<double>(bytes)) + " (" + std::to_string(bytes) + " bytes)";
}

Error too_much(std::uint64_t bytes, const std::string& what, const std::string& bound, std::uint64_t left) {
  return Error(ErrorCode::resource_limit, what + " take " + in_units(bytes) + ", " + bound + " " + in_units(left));
}

}  // namespace

std::string bytes_text(double bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  for (; bytes >= 1024 && unit < 4; ++unit) bytes /= 1024;
  char text[64];
  std::snprintf(text, sizeof text, "%.*g %s", bytes >= 100 ? 4 : 3, bytes, units[unit]);
  return text;
}

Status check_memory_left(std::uint64_t bytes, const std::string& what) {
  if (const auto left = memory_available(); left && bytes > *left) return too_much(bytes, what, "the machine has available", *left);
  if (const auto left = address_space_left(); left && bytes > *left)
    return too_much(bytes, what, "the address space limit (ulimit -v) leaves", *left);
  return ok();
}

}  // namespace kiln
