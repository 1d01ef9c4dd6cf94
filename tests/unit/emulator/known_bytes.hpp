// Memory whose every byte is known, for tests of what loads and stores move.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kiln::emulator_test {

inline constexpr int lanes = 64;
inline constexpr std::uint32_t untouched = 0xabcd1234;   // what registers hold before a load

inline std::uint8_t byte_at(std::size_t n) { return static_cast<std::uint8_t>(n * 37 + n / 251 + 128); }
inline void fill(std::uint8_t* memory, std::size_t bytes) {
  for (std::size_t n = 0; n < bytes; ++n) memory[n] = byte_at(n);
}
// Little-endian value of `bytes` of the filled memory.
inline std::uint32_t value_at(std::size_t at, int bytes) {
  std::uint32_t value = 0;
  for (int n = 0; n < bytes; ++n) value |= std::uint32_t(byte_at(at + static_cast<std::size_t>(n))) << (8 * n);
  return value;
}

}  // namespace kiln::emulator_test
