// Everything that only an AMD GPU has: the one header that the CPU harness of the tests (tests/support/hip_fibers)
// replaces.
#pragma once

#include <kiln/types.hpp>

// nodebug: what is inlined counts as the line of the kernel that calls it.
#define KILN_DEVICE static __attribute__((device)) __attribute__((always_inline)) __attribute__((nodebug)) inline
// A kernel of exactly `threads` threads a block.
#define KILN_KERNEL(threads) __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(threads, threads)))
// The same, with the number of waves a SIMD that registers and LDS were planned for.
#define KILN_KERNEL_WAVES(threads, waves) KILN_KERNEL(threads) __attribute__((amdgpu_waves_per_eu(waves, waves)))
// The block's LDS, in a kernel's outermost scope.
#define KILN_LDS(name, bytes)                                                                    \
  __attribute__((shared)) static __attribute__((aligned(16))) unsigned char name##_bytes[bytes]; \
  const ::kiln::lds_pointer name = (::kiln::lds_pointer)name##_bytes

namespace kiln {

using lds_pointer = __attribute__((address_space(3))) unsigned char*;

// ---- where this lane is --------------------------------------------------------------------------------------------
KILN_DEVICE u32 thread_id() { return __builtin_amdgcn_workitem_id_x(); }
KILN_DEVICE u32 block_id_x() { return __builtin_amdgcn_workgroup_id_x(); }
KILN_DEVICE u32 block_id_y() { return __builtin_amdgcn_workgroup_id_y(); }
KILN_DEVICE u32 block_id_z() { return __builtin_amdgcn_workgroup_id_z(); }
// A value that is equal in all lanes of the wave, in a scalar register.
KILN_DEVICE u32 uniform(u32 value) { return (u32)__builtin_amdgcn_readfirstlane((int)value); }
// The same for any type of 8 bytes at most.
template <class T> KILN_DEVICE T uniform_value(T value) {
  const auto bits = __builtin_bit_cast(bits_of<T>, value);
  if constexpr (sizeof(T) == 8) {
    const u64 low = uniform((u32)bits), high = uniform((u32)(bits >> 32));
    return __builtin_bit_cast(T, (bits_of<T>)(low | high << 32));
  } else {
    return __builtin_bit_cast(T, (bits_of<T>)uniform((u32)bits));
  }
}

// ---- memory --------------------------------------------------------------------------------------------------------
// `uniform_bytes` is the same in all lanes, `lane_bytes` is this lane's; together they stay inside the object at
// `base`. `align`: what the address is a multiple of.
template <class T, int align, class Offset>
KILN_DEVICE T load_global(const void* base, i64 uniform_bytes, Offset lane_bytes) {
  const char* at = (const char*)base + uniform_bytes;
  T value;
  __builtin_memcpy(&value, __builtin_assume_aligned(at + lane_bytes, align), sizeof(T));
  return value;
}
template <class T, int align, class Offset>
KILN_DEVICE void store_global(void* base, i64 uniform_bytes, Offset lane_bytes, T value) {
  char* at = (char*)base + uniform_bytes;
  __builtin_memcpy(__builtin_assume_aligned(at + lane_bytes, align), &value, sizeof(T));
}
// What may be read in the place of a tensor that has no element.
static __attribute__((device)) u32 nowhere_bytes[4];
KILN_DEVICE const void* unless_empty(const void* base, bool empty) { return empty ? (const void*)nowhere_bytes : base; }
// Exactly one load, whatever other writers do: for values that become addresses or bounds.
template <class T> KILN_DEVICE T load_once(const void* base, i64 bytes) {
  const auto bits = *(const volatile bits_of<T>*)((const char*)base + bytes);
  return __builtin_bit_cast(T, bits);
}

// ---- atomics: relaxed, of the device; each gives what was there ----------------------------------------------------
#define KILN_ATOMIC(name, builtin)                                                                        \
  template <class T> KILN_DEVICE T name(void* base, i64 bytes, T value) {                                 \
    return builtin((T*)((char*)base + bytes), value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);         \
  }
KILN_ATOMIC(fetch_add, __hip_atomic_fetch_add)
KILN_ATOMIC(fetch_max, __hip_atomic_fetch_max)
KILN_ATOMIC(fetch_min, __hip_atomic_fetch_min)
KILN_ATOMIC(fetch_or, __hip_atomic_fetch_or)
KILN_ATOMIC(fetch_and, __hip_atomic_fetch_and)
KILN_ATOMIC(fetch_xor, __hip_atomic_fetch_xor)
KILN_ATOMIC(fetch_exchange, __hip_atomic_exchange)
#undef KILN_ATOMIC
// An unsigned integer: `value` where the memory holds `compare`.
template <class T> KILN_DEVICE T fetch_cas(void* base, i64 bytes, T value, T compare) {
  __hip_atomic_compare_exchange_strong((T*)((char*)base + bytes), &compare, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                       __HIP_MEMORY_SCOPE_AGENT);
  return compare;
}
template <class T> KILN_DEVICE T fetch_relaxed(void* base, i64 bytes) {
  return __hip_atomic_load((T*)((char*)base + bytes), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

template <class T> KILN_DEVICE T load_lds(lds_pointer base, u32 bytes) {
  return *(const __attribute__((address_space(3))) T*)(base + bytes);
}
template <class T> KILN_DEVICE void store_lds(lds_pointer base, u32 bytes, T value) {
  *(__attribute__((address_space(3))) T*)(base + bytes) = value;
}

// A raw buffer of `bytes` (below 2^31): reads at or beyond its end give 0, writes there are dropped. The check covers
// lane_bytes + uniform_bytes as long as uniform_bytes <= bytes. lane_bytes = buffer_outside is always outside.
inline constexpr u32 buffer_outside = 0x80000000u;
using buffer = __amdgpu_buffer_rsrc_t;
KILN_DEVICE buffer make_buffer(const void* base, u32 bytes) {
#if defined(__GFX11__) || defined(__GFX12__)
  return __builtin_amdgcn_make_buffer_rsrc((void*)base, 0, bytes, 0x31004000);  // raw out-of-range check, 32-bit format
#else
  return __builtin_amdgcn_make_buffer_rsrc((void*)base, 0, bytes, 0x00027000);  // 32-bit format
#endif
}
// RDNA's check leaves the scalar offset out: there it is added to the lane's.
template <class T> KILN_DEVICE T load_buffer(buffer from, u32 uniform_bytes, u32 lane_bytes) {
#if defined(__GFX11__) || defined(__GFX12__)
  lane_bytes += uniform_bytes;
  uniform_bytes = 0;
#endif
  if constexpr (sizeof(T) == 16)
    return __builtin_bit_cast(T, __builtin_amdgcn_raw_buffer_load_b128(from, lane_bytes, uniform_bytes, 0));
  else if constexpr (sizeof(T) == 8)
    return __builtin_bit_cast(T, __builtin_amdgcn_raw_buffer_load_b64(from, lane_bytes, uniform_bytes, 0));
  else if constexpr (sizeof(T) == 4)
    return __builtin_bit_cast(T, __builtin_amdgcn_raw_buffer_load_b32(from, lane_bytes, uniform_bytes, 0));
  else if constexpr (sizeof(T) == 2)
    return __builtin_bit_cast(T, __builtin_amdgcn_raw_buffer_load_b16(from, lane_bytes, uniform_bytes, 0));
  else return __builtin_bit_cast(T, __builtin_amdgcn_raw_buffer_load_b8(from, lane_bytes, uniform_bytes, 0));
}
template <class T> KILN_DEVICE void store_buffer(buffer to, u32 uniform_bytes, u32 lane_bytes, T value) {
#if defined(__GFX11__) || defined(__GFX12__)
  lane_bytes += uniform_bytes;
  uniform_bytes = 0;
#endif
  if constexpr (sizeof(T) == 16) {
    __builtin_amdgcn_raw_buffer_store_b128(__builtin_bit_cast(vec<u32, 4>, value), to, lane_bytes, uniform_bytes, 0);
  } else if constexpr (sizeof(T) == 8) {
    __builtin_amdgcn_raw_buffer_store_b64(__builtin_bit_cast(vec<u32, 2>, value), to, lane_bytes, uniform_bytes, 0);
  } else if constexpr (sizeof(T) == 4) {
    __builtin_amdgcn_raw_buffer_store_b32(__builtin_bit_cast(u32, value), to, lane_bytes, uniform_bytes, 0);
  } else if constexpr (sizeof(T) == 2) {
    __builtin_amdgcn_raw_buffer_store_b16(__builtin_bit_cast(u16, value), to, lane_bytes, uniform_bytes, 0);
  } else {
    __builtin_amdgcn_raw_buffer_store_b8(__builtin_bit_cast(u8, value), to, lane_bytes, uniform_bytes, 0);
  }
}

// ---- order ---------------------------------------------------------------------------------------------------------
// All threads of the block arrive; LDS written before is seen after. The second also orders global memory.
KILN_DEVICE void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}
KILN_DEVICE void barrier_global() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
// Hints to the compiler's scheduler; masks: 0x008 matrix, 0x020 global read, 0x100 LDS read, 0x200 LDS write.
#define KILN_SCHED_FENCE(mask) __builtin_amdgcn_sched_barrier(mask)
#define KILN_SCHED_GROUP(mask, count) __builtin_amdgcn_sched_group_barrier(mask, count, 0)
#define KILN_PRIORITY(level) __builtin_amdgcn_s_setprio(level)

// ---- across lanes --------------------------------------------------------------------------------------------------
// 32 bits of lane (lane ^ mask), for masks that are one bit.
template <int mask> KILN_DEVICE u32 exchange_bits(u32 value, [[maybe_unused]] u32 lane) {
  const int v = (int)value;
#if defined(__GFX11__) || defined(__GFX12__)
  if constexpr (mask < 16) return (u32)__builtin_amdgcn_update_dpp(0, v, 0x160 | mask, 0xf, 0xf, true);  // row_xmask
#else
  if constexpr (mask == 1) return (u32)__builtin_amdgcn_update_dpp(0, v, 0xb1, 0xf, 0xf, true);   // quad_perm [1,0,3,2]
  if constexpr (mask == 2) return (u32)__builtin_amdgcn_update_dpp(0, v, 0x4e, 0xf, 0xf, true);   // quad_perm [2,3,0,1]
  if constexpr (mask == 8) return (u32)__builtin_amdgcn_update_dpp(0, v, 0x128, 0xf, 0xf, true);  // row_ror 8
#endif
  if constexpr (mask < 32) return (u32)__builtin_amdgcn_ds_swizzle(v, (mask << 10) | 0x1f);
  return (u32)__builtin_amdgcn_ds_bpermute((int)((lane ^ mask) << 2), v);
}
// 32 bits of lane `from`.
KILN_DEVICE u32 fetch_bits(u32 value, u32 from) {
  return (u32)__builtin_amdgcn_ds_bpermute((int)(from << 2), (int)value);
}

// ---- arithmetic ----------------------------------------------------------------------------------------------------
// Hardware approximations, 1 ulp; results (rcp, exp2) and operands (log2, rsqrt) below 2^-126 count as 0.
KILN_DEVICE f32 hardware_exp2(f32 x) { return __builtin_amdgcn_exp2f(x); }
KILN_DEVICE f32 hardware_log2(f32 x) { return __builtin_amdgcn_logf(x); }
KILN_DEVICE f32 hardware_rcp(f32 x) { return __builtin_amdgcn_rcpf(x); }
KILN_DEVICE f32 hardware_rsqrt(f32 x) { return __builtin_amdgcn_rsqf(x); }
// Whether max and min of two numbers propagate NaN in one instruction.
#if defined(__gfx950__) || defined(__GFX12__)
#define KILN_HAS_MAXIMUM 1
#define KILN_HAS_BF16_CONVERSION 1
#else
#define KILN_HAS_MAXIMUM 0
#define KILN_HAS_BF16_CONVERSION 0
#endif
#if KILN_HAS_BF16_CONVERSION
KILN_DEVICE bf16 hardware_bf16(f32 x) { return __builtin_bit_cast(bf16, (__bf16)x); }
#endif

// The device library that the compiler brings: for what is rare.
extern "C" {
__attribute__((device)) f32 __ocml_log1p_f32(f32);
__attribute__((device)) f32 __ocml_expm1_f32(f32);
__attribute__((device)) f32 __ocml_sin_f32(f32);
__attribute__((device)) f32 __ocml_cos_f32(f32);
__attribute__((device)) f32 __ocml_pow_f32(f32, f32);
__attribute__((device)) f64 __ocml_exp_f64(f64);
__attribute__((device)) f64 __ocml_exp2_f64(f64);
__attribute__((device)) f64 __ocml_log_f64(f64);
__attribute__((device)) f64 __ocml_log2_f64(f64);
__attribute__((device)) f64 __ocml_log1p_f64(f64);
__attribute__((device)) f64 __ocml_expm1_f64(f64);
__attribute__((device)) f64 __ocml_tanh_f64(f64);
__attribute__((device)) f64 __ocml_erf_f64(f64);
__attribute__((device)) f64 __ocml_sin_f64(f64);
__attribute__((device)) f64 __ocml_cos_f64(f64);
__attribute__((device)) f64 __ocml_pow_f64(f64, f64);
}

}  // namespace kiln

#include <kiln/matrix.hpp>
