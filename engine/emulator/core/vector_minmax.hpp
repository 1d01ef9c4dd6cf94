// Minimum and maximum by the rules of the ISA documents (V_MIN_F32, V_MAX_F32, V_MED3_F32): in IEEE mode a signalling
// NaN makes the result that NaN made quiet; else a NaN gives way to the other operand; -0 is less than +0. On the bits
// of a float format F: sign bit, exponent mask, quiet bit.
#pragma once

#include <bit>
#include <cstdint>

#include "engine/emulator/core/vector_loops.hpp"

namespace kiln::emulator {

struct Format32 {
  using Bits = std::uint32_t;
  using Signed = std::int32_t;
  static constexpr Bits sign = 0x80000000u, infinity = 0x7f800000u, quiet = 0x00400000u;
};
struct Format16 {
  using Bits = std::uint16_t;
  using Signed = std::int16_t;
  static constexpr Bits sign = 0x8000u, infinity = 0x7c00u, quiet = 0x0200u;
};
struct Format64 {
  using Bits = std::uint64_t;
  using Signed = std::int64_t;
  static constexpr Bits sign = 0x8000000000000000u, infinity = 0x7ff0000000000000u, quiet = 0x0008000000000000u;
};

template <class F>
constexpr bool is_nan(typename F::Bits x) {
  return static_cast<typename F::Bits>(x & static_cast<typename F::Bits>(~F::sign)) > F::infinity;
}
template <class F>
constexpr bool is_signalling(typename F::Bits x) {
  return is_nan<F>(x) & ((x & F::quiet) == 0);
}
// Orders all values but NaN as signed integers, -0 below +0.
template <class F>
constexpr typename F::Signed order(typename F::Bits x) {
  const auto s = static_cast<typename F::Signed>(x);
  return static_cast<typename F::Signed>(s ^ ((s < 0 ? -1 : 0) & static_cast<typename F::Signed>(~F::sign)));
}

// All ones where it holds: selections by masks leave no control flow in the loops.
template <class F>
constexpr typename F::Bits mask_of(bool condition) {
  return static_cast<typename F::Bits>(-static_cast<typename F::Signed>(condition));
}
template <class F>
constexpr typename F::Bits pick(bool condition, typename F::Bits yes, typename F::Bits no) {
  const typename F::Bits mask = mask_of<F>(condition);
  return static_cast<typename F::Bits>((yes & mask) | (no & static_cast<typename F::Bits>(~mask)));
}

template <class F, bool maximum>
constexpr typename F::Bits select_extreme(typename F::Bits a, typename F::Bits b, bool ieee) {
  using Bits = typename F::Bits;
  const bool first = maximum ? order<F>(a) > order<F>(b) : order<F>(a) < order<F>(b);
  Bits result = pick<F>(first, a, b);
  result = pick<F>(is_nan<F>(b), a, result);
  result = pick<F>(is_nan<F>(a), b, result);
  const bool signals_a = is_signalling<F>(a) & ieee, signals_b = is_signalling<F>(b) & ieee;
  result = pick<F>(signals_b, static_cast<Bits>(b | F::quiet), result);
  return pick<F>(signals_a, static_cast<Bits>(a | F::quiet), result);
}
template <class F>
constexpr typename F::Bits smaller(typename F::Bits a, typename F::Bits b, bool ieee) {
  return select_extreme<F, false>(a, b, ieee);
}
template <class F>
constexpr typename F::Bits larger(typename F::Bits a, typename F::Bits b, bool ieee) {
  return select_extreme<F, true>(a, b, ieee);
}
template <class F>
constexpr typename F::Bits smallest(typename F::Bits a, typename F::Bits b, typename F::Bits c, bool ieee) {
  return smaller<F>(smaller<F>(a, b, ieee), c, ieee);
}
template <class F>
constexpr typename F::Bits largest(typename F::Bits a, typename F::Bits b, typename F::Bits c, bool ieee) {
  return larger<F>(larger<F>(a, b, ieee), c, ieee);
}
template <class F>
constexpr typename F::Bits median(typename F::Bits a, typename F::Bits b, typename F::Bits c, bool ieee) {
  using Bits = typename F::Bits;
  const auto x = order<F>(a), y = order<F>(b), z = order<F>(c);
  const bool swapped = y < x;
  const Bits low = pick<F>(swapped, b, a), high = pick<F>(swapped, a, b);
  const Bits middle = pick<F>(z <= order<F>(low), low, pick<F>(z >= order<F>(high), high, c));
  return pick<F>(is_nan<F>(a) | is_nan<F>(b) | is_nan<F>(c), smallest<F>(a, b, c, ieee), middle);
}

// Rows of a format of at most 32 bits, which holds the low end of its dword; the rest of the result is 0.
template <class F, typename F::Bits (*f)(typename F::Bits, typename F::Bits, bool)>
void extreme_of_two(Lanes& l) {
  using Bits = typename F::Bits;
  const std::uint32_t *a = aligned(l.a), *b = aligned(l.b);
  std::uint32_t* d = aligned(l.d);
  const bool ieee = (l.mode & mode_bit::ieee) != 0;
#pragma GCC ivdep
  for (int i = 0; i < lanes; ++i) d[i] = f(static_cast<Bits>(a[i]), static_cast<Bits>(b[i]), ieee);
}
template <class F, typename F::Bits (*f)(typename F::Bits, typename F::Bits, typename F::Bits, bool)>
void extreme_of_three(Lanes& l) {
  using Bits = typename F::Bits;
  const std::uint32_t *a = aligned(l.a), *b = aligned(l.b), *c = aligned(l.c);
  std::uint32_t* d = aligned(l.d);
  const bool ieee = (l.mode & mode_bit::ieee) != 0;
#pragma GCC ivdep
  for (int i = 0; i < lanes; ++i) {
    d[i] = f(static_cast<Bits>(a[i]), static_cast<Bits>(b[i]), static_cast<Bits>(c[i]), ieee);
  }
}

// IEEE 754-2019's minimum and maximum: a NaN wins, made quiet.
template <class F, bool maximum>
constexpr typename F::Bits propagating(typename F::Bits a, typename F::Bits b) {
  using Bits = typename F::Bits;
  const bool first = maximum ? order<F>(a) > order<F>(b) : order<F>(a) < order<F>(b);
  const Bits result = pick<F>(is_nan<F>(b), static_cast<Bits>(b | F::quiet), pick<F>(first, a, b));
  return pick<F>(is_nan<F>(a), static_cast<Bits>(a | F::quiet), result);
}

}  // namespace kiln::emulator
