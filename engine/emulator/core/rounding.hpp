// The host's rounding mode follows the wave's mode for f32. Operations of other types that round by MODE bits 2..3 set
// theirs for as long as they compute.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace kiln::emulator {

// MXCSR with all exceptions masked, denormals kept, and the rounding of MODE's two bits (0 nearest even, 1 up, 2 down,
// 3 to zero; the host's order is nearest, down, up, to zero).
inline std::uint32_t host_control(std::uint32_t rounding) {
  constexpr std::uint32_t host[4] = {0, 2, 1, 3};
  return 0x1f80u | host[rounding & 3] << 13;
}

// Sets the host's rounding for a scope.
class Rounding {
 public:
  explicit Rounding(std::uint32_t rounding) : before_(_mm_getcsr()) { _mm_setcsr(host_control(rounding)); }
  ~Rounding() { _mm_setcsr(before_); }
  Rounding(const Rounding&) = delete;
  Rounding& operator=(const Rounding&) = delete;

 private:
  std::uint32_t before_;
};

inline constexpr std::uint32_t mode_index_registers = 1u << 27;  // MODE.GPR_IDX_EN

}  // namespace kiln::emulator
