// Scalar operands, inlined for the instructions that work on them all the time.
#pragma once

#include "engine/emulator/core/families.hpp"

namespace kiln::emulator {

// Value of an operand that is no register: src_*_base and the flags. 64 bits; 32-bit readers take the low half.
std::uint64_t read_special(const Wave& wave, int code);

inline std::uint32_t scalar32(const Wave& wave, const Source& source) {
  if (source.kind == Source::Kind::scalar) return wave.scalar[source.index];
  if (source.kind == Source::Kind::special) return static_cast<std::uint32_t>(read_special(wave, source.index));
  return static_cast<std::uint32_t>(source.value);
}

inline std::uint64_t scalar64(const Wave& wave, const Source& source) {
  if (source.kind == Source::Kind::scalar) return wave.scalar64(source.index);
  if (source.kind == Source::Kind::special) return read_special(wave, source.index);
  return source.value;
}

// What is written to `null` is lost; it goes on reading 0.
inline void write_scalar32(Wave& wave, const Source& destination, std::uint32_t value) {
  if (destination.index != code::null) wave.scalar[destination.index] = value;
}
inline void write_scalar64(Wave& wave, const Source& destination, std::uint64_t value) {
  if (destination.index != code::null) wave.set_scalar64(destination.index, value);
}

}  // namespace kiln::emulator
