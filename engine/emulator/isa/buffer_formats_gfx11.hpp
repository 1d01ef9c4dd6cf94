// RDNA3's buffer formats: one number for the data's shape and what its numbers mean. Here as the pair of numbers that
// CDNA has for them. Source: "RDNA3 Instruction Set Architecture", "Buffer Resource Descriptor" and MTBUF's formats.
#pragma once

#include <cstdint>

namespace kiln::emulator {

struct BufferFormat {
  std::uint8_t data = 0, number = 0;   // CDNA's DATA_FORMAT and NUM_FORMAT; data 0: none
};

constexpr BufferFormat buffer_format_gfx11(std::uint32_t format) {
  constexpr std::uint8_t unorm = 0, sint = 5, uint_ = 4, float_ = 7;
  struct Shape {
    std::uint8_t data;                 // CDNA's
    bool normalised, integers, floats; // unorm, snorm, uscaled, sscaled; uint, sint; float
  };
  constexpr Shape shapes[] = {{1, true, true, false},   {2, true, true, true},    {3, true, true, false},
                              {4, false, true, true},   {5, true, true, true},    {6, false, false, true},
                              {7, false, false, true},  {8, false, false, false}, {9, true, true, false},
                              {10, true, true, false},  {11, false, true, true},  {12, true, true, true},
                              {13, false, true, true},  {14, false, true, true}};
  std::uint32_t next = 1;
  for (const Shape& shape : shapes) {
    if (shape.data == 8) {             // 10_10_10_2: unorm, snorm, uint, sint
      constexpr std::uint8_t numbers[] = {0, 1, 4, 5};
      if (format >= next && format < next + 4) return {8, numbers[format - next]};
      next += 4;
      continue;
    }
    std::uint32_t first = shape.normalised ? unorm : uint_;
    for (std::uint32_t number = first; number <= sint && (shape.normalised || shape.integers); ++number) {
      if (format == next++) return {shape.data, static_cast<std::uint8_t>(number)};
    }
    if (shape.floats && format == next++) return {shape.data, float_};
  }
  return {};
}
static_assert(buffer_format_gfx11(22).data == 4 && buffer_format_gfx11(22).number == 7);   // 32_FLOAT
static_assert(buffer_format_gfx11(63).data == 14 && buffer_format_gfx11(63).number == 7);  // 32_32_32_32_FLOAT
static_assert(buffer_format_gfx11(64).data == 0);

}  // namespace kiln::emulator
