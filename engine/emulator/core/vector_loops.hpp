// Compute loops from scalar functions: `loop<[](float a, float b) { return a + b; }>` is the loop over all lanes. The
// function's signature says how sources are read and the result is written: 32-bit types one row, 64-bit types two,
// 16-bit integers the low half (the result's high half becomes 0), bool a mask (lanes.mask_out).
#pragma once

#include <bit>
#include <cstdint>

#include "engine/emulator/core/vector.hpp"

namespace kiln::emulator {

template <class T>
inline T load_lane(const std::uint32_t* row, int lane) {
  if constexpr (sizeof(T) == 8) {
    return std::bit_cast<T>(row[lane] | std::uint64_t{row[lane + lanes]} << 32);
  } else if constexpr (sizeof(T) == 4) {
    return std::bit_cast<T>(row[lane]);
  } else {
    static_assert(sizeof(T) == 2);
    return std::bit_cast<T>(static_cast<std::uint16_t>(row[lane]));
  }
}

template <class T>
inline void store_lane(std::uint32_t* row, int lane, T value) {
  if constexpr (sizeof(T) == 8) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    row[lane] = static_cast<std::uint32_t>(bits);
    row[lane + lanes] = static_cast<std::uint32_t>(bits >> 32);
  } else if constexpr (sizeof(T) == 4) {
    row[lane] = std::bit_cast<std::uint32_t>(value);
  } else {
    static_assert(sizeof(T) == 2);
    row[lane] = std::bit_cast<std::uint16_t>(value);
  }
}

inline const std::uint32_t* aligned(const std::uint32_t* row) {
  return static_cast<const std::uint32_t*>(__builtin_assume_aligned(row, 64));
}
inline std::uint32_t* aligned(std::uint32_t* row) {
  return static_cast<std::uint32_t*>(__builtin_assume_aligned(row, 64));
}

// "ivdep" holds in all of these: lanes do not depend on each other, whatever rows are shared.
template <auto f, class R, class A>
inline void run_loop(Lanes& l, R (*)(A)) {
  const std::uint32_t* a = aligned(l.a);
  std::uint32_t* d = aligned(l.d);
#pragma GCC ivdep
  for (int i = 0; i < lanes; ++i) store_lane<R>(d, i, f(load_lane<A>(a, i)));
}
template <auto f, class R, class A, class B>
inline void run_loop(Lanes& l, R (*)(A, B)) {
  const std::uint32_t* a = aligned(l.a);
  const std::uint32_t* b = aligned(l.b);
  if constexpr (std::is_same_v<R, bool>) {
    alignas(64) std::uint32_t hit[lanes];
#pragma GCC ivdep
    for (int i = 0; i < lanes; ++i) hit[i] = f(load_lane<A>(a, i), load_lane<B>(b, i)) ? ~0u : 0u;
    l.mask_out = pack_mask(hit);
  } else {
    std::uint32_t* d = aligned(l.d);
#pragma GCC ivdep
    for (int i = 0; i < lanes; ++i) store_lane<R>(d, i, f(load_lane<A>(a, i), load_lane<B>(b, i)));
  }
}
template <auto f, class R, class A, class B, class C>
inline void run_loop(Lanes& l, R (*)(A, B, C)) {
  const std::uint32_t* a = aligned(l.a);
  const std::uint32_t* b = aligned(l.b);
  const std::uint32_t* c = aligned(l.c);
  std::uint32_t* d = aligned(l.d);
#pragma GCC ivdep
  for (int i = 0; i < lanes; ++i) store_lane<R>(d, i, f(load_lane<A>(a, i), load_lane<B>(b, i), load_lane<C>(c, i)));
}
template <auto f>
void loop(Lanes& l) {
  run_loop<f>(l, +f);
}

// Result and mask: `f` gives the value, `g` of the same sources the lane's bit. `c` is the third source, or for rows
// that take a mask 0 or 1.
template <auto f, auto g, class T, class S>
inline void run_carry(Lanes& l, T (*)(S, S, T)) {
  alignas(64) std::uint32_t hit[lanes];
  const std::uint32_t* a = aligned(l.a);
  const std::uint32_t* b = aligned(l.b);
  const std::uint32_t* c = aligned(l.c);
  std::uint32_t* d = aligned(l.d);
#pragma GCC ivdep
  for (int i = 0; i < lanes; ++i) {
    const S x = load_lane<S>(a, i), y = load_lane<S>(b, i);
    const T z = load_lane<T>(c, i);
    hit[i] = g(x, y, z) ? ~0u : 0u;
    store_lane<T>(d, i, f(x, y, z));
  }
  l.mask_out = pack_mask(hit);
}
template <auto f, auto g>
void carry_loop(Lanes& l) {
  run_carry<f, g>(l, +f);
}
// The same where the third operand is the carry that comes in, or absent.
template <auto f, auto g>
void carry_in_loop(Lanes& l) {
  alignas(64) std::uint32_t carry[lanes];
  expand_mask(l.mask_in, carry);
  for (int i = 0; i < lanes; ++i) carry[i] &= 1;
  l.c = carry;
  run_carry<f, g>(l, +f);
}

}  // namespace kiln::emulator
