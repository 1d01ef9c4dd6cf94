// Output modifiers of vector instructions and the place in the destination that a result goes to.
#include <bit>
#include <cmath>

#include "engine/emulator/core/float_half.hpp"
#include "engine/emulator/core/vector.hpp"

namespace kiln::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr double omod_factor[4] = {1, 2, 4, 0.5};

struct Output {
  float factor;
  bool clamps, nan_to_zero, flushes, no_negative_zero;
};

// Result times factor, then clamped; a product that omod makes is never a negative zero.
template <class T>
inline T modify(T value, const Output& out, T smallest_normal) {
  value = value * static_cast<T>(out.factor);
  if (out.flushes && value < smallest_normal && value > -smallest_normal) value = std::copysign(T(0), value);
  if (out.no_negative_zero && value == 0) value = 0;
  if (out.clamps) {
    if (value != value) return out.nan_to_zero ? T(0) : value;
    value = value > 0 ? (value < 1 ? value : T(1)) : T(0);
  }
  return value;
}

void modify_row32(u32* row, const Output& out) {
  for (int i = 0; i < lanes; ++i) row[i] = std::bit_cast<u32>(modify(std::bit_cast<float>(row[i]), out, 0x1p-126f));
}

void modify_row16(u32* row, const Output& out, bool packed) {
  for (int i = 0; i < lanes; ++i) {
    u32 result = half_bits(modify(half_value(row[i] & 0xffffu), out, 0x1p-14f));
    if (packed) result |= half_bits(modify(half_value(row[i] >> 16), out, 0x1p-14f)) << 16;
    row[i] = result;
  }
}

void modify_row64(u32* row, const Output& out) {
  for (int i = 0; i < lanes; ++i) {
    const double value = std::bit_cast<double>(row[i] | u64{row[i + lanes]} << 32);
    const u64 bits = std::bit_cast<u64>(modify(value, out, 0x1p-1022));
    row[i] = static_cast<u32>(bits);
    row[i + lanes] = static_cast<u32>(bits >> 32);
  }
}

// "Output modifiers are ignored while denormal results are allowed or IEEE mode is on."
void modify_output(const Instruction& in, const VectorRow& row, u32 mode, u32* value) {
  const Type type = row.d;
  const bool is32 = uses_mode32(type);
  if (!is32 && !uses_mode_wide(type)) return;
  const bool keeps_denormals = (mode & (is32 ? mode_bit::denormal_out32 : mode_bit::denormal_out_wide)) != 0;
  Output out;
  const int omod = keeps_denormals || (mode & mode_bit::ieee) != 0 || (row.flags & plain_bits) != 0 ? 0 : in.omod;
  out.factor = static_cast<float>(omod_factor[omod]);
  out.no_negative_zero = omod != 0;
  out.clamps = in.clamp && (row.flags & saturates) == 0;
  out.nan_to_zero = (mode & mode_bit::dx10_clamp) != 0;
  out.flushes = !keeps_denormals && (row.flags & floats) != 0;
  if (omod == 0 && !out.clamps && !out.flushes) return;
  switch (type) {
    case Type::f64: modify_row64(value, out); break;
    case Type::f16: modify_row16(value, out, false); break;
    case Type::pkf16: modify_row16(value, out, true); break;
    case Type::pkf32: modify_row32(value + lanes, out); [[fallthrough]];
    default: modify_row32(value, out); break;
  }
}

// SDWA: the result's low part goes to the chosen part; the rest is 0, the sign above the part, or what was there.
void place_part(const Sdwa& sdwa, const u32* old, u32* value) {
  const int select = sdwa.destination_select;
  if (select == 6) return;
  const int width = select < 4 ? 8 : 16, at = select < 4 ? 8 * select : select == 5 ? 16 : 0;
  const u32 part = (width == 8 ? 0xffu : 0xffffu) << at;
  for (int i = 0; i < lanes; ++i) {
    const u32 placed = value[i] << at & part;
    if (sdwa.destination_unused == 2) {
      value[i] = placed | (old[i] & ~part);
    } else if (sdwa.destination_unused == 1) {
      const int up = 32 - width - at;
      value[i] = static_cast<u32>(static_cast<std::int32_t>(placed << up) >> up);
    } else {
      value[i] = placed;
    }
  }
}

bool is_half(Type type) {
  return type == Type::b16 || type == Type::i16 || type == Type::u16 || type == Type::f16 || type == Type::bf16;
}

}  // namespace

void finish(Wave& wave, const Instruction& in, const VectorRow& row, u32* value, u64 writable) {
  const Type type = row.d;
  modify_output(in, row, wave.mode, value);
  u32* destination = wave.vector[in.dst.index];
  if (in.sdwa.used) {
    place_part(in.sdwa, destination, value);
  } else if (is_half(type) && (in.op_sel & 8) != 0) {
    for (int i = 0; i < lanes; ++i) value[i] = value[i] << 16 | (destination[i] & 0xffffu);
  } else if (is_half(type) && ((row.flags & keeps_high) != 0 || wave.execution->family == Family::gfx11)) {
    for (int i = 0; i < lanes; ++i) value[i] = (value[i] & 0xffffu) | (destination[i] & 0xffff0000u);
  }
  for (int i = 0; i < rows_of(type); ++i) merge_row(destination + i * lanes, value + i * lanes, writable);
}

}  // namespace kiln::emulator
