// Atomics of every type on what intrinsics.hpp has: floats' maxima and 16-bit elements by compare and exchange.
#pragma once

#include <kiln/arithmetic.hpp>
#include <kiln/intrinsics.hpp>

namespace kiln {

template <class T> inline constexpr bool is_real = T(0.5f) != T(0);

// `function` of what is there, until nobody has come between.
template <class T, class Function> KILN_DEVICE T update_element(void* base, i64 bytes, Function function) {
  using Bits = bits_of<T>;
  Bits seen = fetch_relaxed<Bits>(base, bytes);
  for (;;) {
    const Bits next = __builtin_bit_cast(Bits, function(__builtin_bit_cast(T, seen)));
    const Bits found = fetch_cas<Bits>(base, bytes, next, seen);
    if (found == seen) return __builtin_bit_cast(T, seen);
    seen = found;
  }
}
// 16 bits of the word around them; `base` is aligned to words, which the tensor fills.
template <class T, class Function> KILN_DEVICE T update_half(void* base, i64 bytes, Function function) {
  const i64 word = bytes & ~i64(3);
  const u32 shift = u32(bytes & 2) * 8;
  u32 seen = fetch_relaxed<u32>(base, word);
  for (;;) {
    const T old = __builtin_bit_cast(T, u16(seen >> shift));
    const u32 made = u32(__builtin_bit_cast(u16, function(old))) << shift;
    const u32 found = fetch_cas<u32>(base, word, (seen & ~(0xffffu << shift)) | made, seen);
    if (found == seen) return old;
    seen = found;
  }
}

template <class T> KILN_DEVICE T atomic_add(void* base, i64 bytes, T value) {
  if constexpr (sizeof(T) == 2) return update_half<T>(base, bytes, [=](T old) { return T(old + value); });
  else return fetch_add<T>(base, bytes, value);
}
KILN_DEVICE bf16 atomic_add_bf16(void* base, i64 bytes, bf16 value) {
  return update_half<bf16>(base, bytes, [=](bf16 old) { return to_bf16(from_bf16(old) + from_bf16(value)); });
}
template <class T> KILN_DEVICE T atomic_max(void* base, i64 bytes, T value) {
  if constexpr (is_real<T>) return update_element<T>(base, bytes, [=](T old) { return maximum<T>(old, value); });
  else return fetch_max<T>(base, bytes, value);
}
template <class T> KILN_DEVICE T atomic_min(void* base, i64 bytes, T value) {
  if constexpr (is_real<T>) return update_element<T>(base, bytes, [=](T old) { return minimum<T>(old, value); });
  else return fetch_min<T>(base, bytes, value);
}
template <class T> KILN_DEVICE T atomic_or(void* base, i64 bytes, T value) { return fetch_or<T>(base, bytes, value); }
template <class T> KILN_DEVICE T atomic_and(void* base, i64 bytes, T value) { return fetch_and<T>(base, bytes, value); }
template <class T> KILN_DEVICE T atomic_xor(void* base, i64 bytes, T value) { return fetch_xor<T>(base, bytes, value); }
template <class T> KILN_DEVICE T atomic_exchange(void* base, i64 bytes, T value) {
  using Bits = bits_of<T>;
  return __builtin_bit_cast(T, fetch_exchange<Bits>(base, bytes, __builtin_bit_cast(Bits, value)));
}
// Compares bits.
template <class T> KILN_DEVICE T atomic_cas(void* base, i64 bytes, T value, T compare) {
  using Bits = bits_of<T>;
  return __builtin_bit_cast(T, fetch_cas<Bits>(base, bytes, __builtin_bit_cast(Bits, value),
                                               __builtin_bit_cast(Bits, compare)));
}

}  // namespace kiln
