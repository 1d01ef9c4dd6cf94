// The device's intrinsics on the CPU: what kernels/include/kiln/intrinsics.hpp is on an AMD GPU, for the tests that run
// emitted text. One fiber a lane; whatever looks beyond its lane goes through the table to the scheduler
// (hip_fibers.cpp).
#pragma once

#include <kiln/types.hpp>

#define KILN_DEVICE static __attribute__((always_inline)) inline
#define KILN_KERNEL(threads) __attribute__((visibility("default")))
#define KILN_KERNEL_WAVES(threads, waves) KILN_KERNEL(threads)
#define KILN_LDS(name, bytes) const ::kiln::lds_pointer name = (::kiln::lds_pointer)::kiln::fibers->lds(bytes)
#define KILN_SCHED_FENCE(mask) static_cast<void>(mask)
#define KILN_SCHED_GROUP(mask, count) static_cast<void>(mask)
#define KILN_PRIORITY(level) static_cast<void>(level)
#define KILN_HAS_MAXIMUM 0
#define KILN_HAS_BF16_CONVERSION 0

namespace kiln {

struct FiberTable {
  u32 (*thread)();
  u32 (*block)(int axis);
  void* (*lds)(u32 bytes);
  void (*lds_access)(u32 offset, u32 bytes, int write, const void* written);
  void (*global_access)(const void* at, u32 bytes, int write);
  void (*barrier)();
  u32 (*fetch)(u32 value, u32 from);
  void (*matrix)(const char* name, const void* a, const void* b, const void* c, void* d);
};
extern "C" {
__attribute__((visibility("default"), weak)) const FiberTable* fibers;
}

using lds_pointer = unsigned char*;

KILN_DEVICE u32 thread_id() { return fibers->thread(); }
KILN_DEVICE u32 block_id_x() { return fibers->block(0); }
KILN_DEVICE u32 block_id_y() { return fibers->block(1); }
KILN_DEVICE u32 block_id_z() { return fibers->block(2); }
KILN_DEVICE u32 uniform(u32 value) { return value; }
template <class T> KILN_DEVICE T uniform_value(T value) { return value; }

static u32 nowhere_bytes[4];
KILN_DEVICE const void* unless_empty(const void* base, bool empty) { return empty ? (const void*)nowhere_bytes : base; }

template <class T> KILN_DEVICE T raw_load(const char* at) {
  if (at != (const char*)nowhere_bytes) fibers->global_access(at, sizeof(T), 0);
  T value;
  __builtin_memcpy(&value, at, sizeof(T));
  return value;
}
template <class T> KILN_DEVICE void raw_store(char* at, T value) {
  fibers->global_access(at, sizeof(T), 1);
  __builtin_memcpy(at, &value, sizeof(T));
}
template <class T, int align, class Offset>
KILN_DEVICE T load_global(const void* base, i64 uniform_bytes, Offset lane_bytes) {
  return raw_load<T>((const char*)base + uniform_bytes + lane_bytes);
}
template <class T, int align, class Offset>
KILN_DEVICE void store_global(void* base, i64 uniform_bytes, Offset lane_bytes, T value) {
  raw_store<T>((char*)base + uniform_bytes + lane_bytes, value);
}
template <class T>
KILN_DEVICE T load_once(const void* base, i64 bytes) {
  return raw_load<T>((const char*)base + bytes);
}

// One fiber runs at a time: what it does between two meetings is atomic.
template <class T> KILN_DEVICE T fetch_relaxed(void* base, i64 bytes) { return raw_load<T>((const char*)base + bytes); }
#define KILN_ATOMIC(name, result)                                          \
  template <class T> KILN_DEVICE T name(void* base, i64 bytes, T value) {  \
    const T old = fetch_relaxed<T>(base, bytes);                           \
    raw_store<T>((char*)base + bytes, (T)(result));                        \
    return old;                                                            \
  }
KILN_ATOMIC(fetch_add, old + value)
KILN_ATOMIC(fetch_max, old < value ? value : old)
KILN_ATOMIC(fetch_min, value < old ? value : old)
KILN_ATOMIC(fetch_or, old | value)
KILN_ATOMIC(fetch_and, old & value)
KILN_ATOMIC(fetch_xor, old ^ value)
KILN_ATOMIC(fetch_exchange, value)
#undef KILN_ATOMIC
template <class T> KILN_DEVICE T fetch_cas(void* base, i64 bytes, T value, T compare) {
  const T old = fetch_relaxed<T>(base, bytes);
  if (old == compare) raw_store<T>((char*)base + bytes, value);
  return old;
}

template <class T> KILN_DEVICE T load_lds(lds_pointer base, u32 bytes) {
  fibers->lds_access(bytes, sizeof(T), 0, nullptr);
  T value;
  __builtin_memcpy(&value, base + bytes, sizeof(T));
  return value;
}
template <class T> KILN_DEVICE void store_lds(lds_pointer base, u32 bytes, T value) {
  fibers->lds_access(bytes, sizeof(T), 1, &value);
  __builtin_memcpy(base + bytes, &value, sizeof(T));
}

// CDNA's raw buffers: outside when the lane's offset is at or beyond records - scalar offset, in 32-bit arithmetic, so
// that a scalar offset beyond the records lets everything through. RDNA adds both first (the device header's doing).
struct buffer { char* base; u32 records; };
inline constexpr u32 buffer_outside = 0x80000000u;
KILN_DEVICE buffer make_buffer(const void* base, u32 bytes) { return {(char*)base, bytes}; }
KILN_DEVICE bool inside(buffer of, u32& uniform_bytes, u32& lane_bytes) {
#ifdef KILN_FIBERS_RDNA
  lane_bytes += uniform_bytes;
  uniform_bytes = 0;
#endif
  return lane_bytes < of.records - uniform_bytes;
}
template <class T> KILN_DEVICE T load_buffer(buffer from, u32 uniform_bytes, u32 lane_bytes) {
  if (!inside(from, uniform_bytes, lane_bytes)) {
    T zero;
    __builtin_memset(&zero, 0, sizeof zero);
    return zero;
  }
  return raw_load<T>(from.base + u64(uniform_bytes) + lane_bytes);
}
template <class T> KILN_DEVICE void store_buffer(buffer to, u32 uniform_bytes, u32 lane_bytes, T value) {
  if (inside(to, uniform_bytes, lane_bytes)) raw_store<T>(to.base + u64(uniform_bytes) + lane_bytes, value);
}

KILN_DEVICE void barrier() { fibers->barrier(); }
KILN_DEVICE void barrier_global() { fibers->barrier(); }
template <int mask> KILN_DEVICE u32 exchange_bits(u32 value, u32 lane) { return fibers->fetch(value, lane ^ mask); }
KILN_DEVICE u32 fetch_bits(u32 value, u32 from) { return fibers->fetch(value, from); }

KILN_DEVICE f32 without_denormal(f32 x) { return __builtin_fabsf(x) < 0x1p-126f ? __builtin_copysignf(0, x) : x; }
KILN_DEVICE f32 hardware_exp2(f32 x) { return without_denormal(__builtin_exp2f(x)); }
KILN_DEVICE f32 hardware_log2(f32 x) { return __builtin_log2f(without_denormal(x)); }
KILN_DEVICE f32 hardware_rcp(f32 x) { return without_denormal(1.0f / x); }
KILN_DEVICE f32 hardware_rsqrt(f32 x) { return 1.0f / __builtin_sqrtf(without_denormal(x)); }

KILN_DEVICE f32 __ocml_log1p_f32(f32 x) { return __builtin_log1pf(x); }
KILN_DEVICE f32 __ocml_expm1_f32(f32 x) { return __builtin_expm1f(x); }
KILN_DEVICE f32 __ocml_sin_f32(f32 x) { return __builtin_sinf(x); }
KILN_DEVICE f32 __ocml_cos_f32(f32 x) { return __builtin_cosf(x); }
KILN_DEVICE f32 __ocml_pow_f32(f32 x, f32 y) { return __builtin_powf(x, y); }
KILN_DEVICE f64 __ocml_exp_f64(f64 x) { return __builtin_exp(x); }
KILN_DEVICE f64 __ocml_exp2_f64(f64 x) { return __builtin_exp2(x); }
KILN_DEVICE f64 __ocml_log_f64(f64 x) { return __builtin_log(x); }
KILN_DEVICE f64 __ocml_log2_f64(f64 x) { return __builtin_log2(x); }
KILN_DEVICE f64 __ocml_log1p_f64(f64 x) { return __builtin_log1p(x); }
KILN_DEVICE f64 __ocml_expm1_f64(f64 x) { return __builtin_expm1(x); }
KILN_DEVICE f64 __ocml_tanh_f64(f64 x) { return __builtin_tanh(x); }
KILN_DEVICE f64 __ocml_erf_f64(f64 x) { return __builtin_erf(x); }
KILN_DEVICE f64 __ocml_sin_f64(f64 x) { return __builtin_sin(x); }
KILN_DEVICE f64 __ocml_cos_f64(f64 x) { return __builtin_cos(x); }
KILN_DEVICE f64 __ocml_pow_f64(f64 x, f64 y) { return __builtin_pow(x, y); }

#define KILN_MATRIX(name, operand, result, count)                                                       \
  KILN_DEVICE vec<result, count> name(operand a, operand b, vec<result, count> c) {                     \
    vec<result, count> d;                                                                               \
    fibers->matrix(#name, &a, &b, &c, &d);                                                              \
    return d;                                                                                           \
  }
using f16x4 = vec<f16, 4>;
using f16x8 = vec<f16, 8>;
using f16x16 = vec<f16, 16>;
using u16x4 = vec<u16, 4>;
using u16x8 = vec<u16, 8>;
using u16x16 = vec<u16, 16>;
using u32x2 = vec<u32, 2>;
using u32x4 = vec<u32, 4>;
KILN_MATRIX(mfma_f32_32x32x8f16, f16x4, f32, 16)
KILN_MATRIX(mfma_f32_16x16x16f16, f16x4, f32, 4)
KILN_MATRIX(mfma_f32_32x32x8bf16_1k, u16x4, f32, 16)
KILN_MATRIX(mfma_f32_16x16x16bf16_1k, u16x4, f32, 4)
KILN_MATRIX(mfma_f32_32x32x2f32, f32, f32, 16)
KILN_MATRIX(mfma_f32_16x16x4f32, f32, f32, 4)
KILN_MATRIX(mfma_i32_32x32x8i8, u32, i32, 16)
KILN_MATRIX(mfma_i32_16x16x16i8, u32, i32, 4)
KILN_MATRIX(mfma_i32_32x32x16_i8, u32x2, i32, 16)
KILN_MATRIX(mfma_i32_16x16x32_i8, u32x2, i32, 4)
KILN_MATRIX(mfma_f32_32x32x16_f16, f16x8, f32, 16)
KILN_MATRIX(mfma_f32_16x16x32_f16, f16x8, f32, 4)
KILN_MATRIX(mfma_f32_32x32x16_bf16, u16x8, f32, 16)
KILN_MATRIX(mfma_f32_16x16x32_bf16, u16x8, f32, 4)
KILN_MATRIX(mfma_i32_32x32x32_i8, u32x4, i32, 16)
KILN_MATRIX(mfma_i32_16x16x64_i8, u32x4, i32, 4)
KILN_MATRIX(wmma_f32_16x16x16_f16_w32, f16x16, f32, 8)
KILN_MATRIX(wmma_f32_16x16x16_bf16_w32, u16x16, f32, 8)
KILN_MATRIX(wmma_i32_16x16x16_iu8_w32, u32x4, i32, 8)
#undef KILN_MATRIX

}  // namespace kiln
