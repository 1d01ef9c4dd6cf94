// Matrix instructions by the names of clang's builtins, on the types that emitted code holds: bf16 as its bits, 8-bit
// elements four to a u32. A function exists where the compiler knows the builtin; whether the target has it is the
// target tables' matter.
#pragma once

namespace kiln {

#define KILN_MFMA(name, held, wanted, result, result_count)                                                   \
  KILN_DEVICE vec<result, result_count> name(held a, held b, vec<result, result_count> c) {                   \
    return __builtin_amdgcn_##name(__builtin_bit_cast(wanted, a), __builtin_bit_cast(wanted, b), c, 0, 0, 0); \
  }
using f16x4 = vec<f16, 4>;
using f16x8 = vec<f16, 8>;
using f16x16 = vec<f16, 16>;
using u16x4 = vec<u16, 4>;
using i16x4 = vec<i16, 4>;
using u16x8 = vec<u16, 8>;
using u16x16 = vec<u16, 16>;
using i16x16 = vec<i16, 16>;
using u32x2 = vec<u32, 2>;
using u32x4 = vec<u32, 4>;
using i32x4 = vec<i32, 4>;

KILN_MFMA(mfma_f32_32x32x8f16, f16x4, f16x4, f32, 16)
KILN_MFMA(mfma_f32_16x16x16f16, f16x4, f16x4, f32, 4)
KILN_MFMA(mfma_f32_32x32x8bf16_1k, u16x4, i16x4, f32, 16)
KILN_MFMA(mfma_f32_16x16x16bf16_1k, u16x4, i16x4, f32, 4)
KILN_MFMA(mfma_f32_32x32x2f32, f32, f32, f32, 16)
KILN_MFMA(mfma_f32_16x16x4f32, f32, f32, f32, 4)
KILN_MFMA(mfma_i32_32x32x8i8, u32, i32, i32, 16)
KILN_MFMA(mfma_i32_16x16x16i8, u32, i32, i32, 4)
KILN_MFMA(mfma_i32_32x32x16_i8, u32x2, i64, i32, 16)
KILN_MFMA(mfma_i32_16x16x32_i8, u32x2, i64, i32, 4)
KILN_MFMA(mfma_f32_32x32x16_fp8_fp8, u32x2, i64, f32, 16)
KILN_MFMA(mfma_f32_16x16x32_fp8_fp8, u32x2, i64, f32, 4)
KILN_MFMA(mfma_f32_32x32x16_bf8_bf8, u32x2, i64, f32, 16)
KILN_MFMA(mfma_f32_16x16x32_bf8_bf8, u32x2, i64, f32, 4)
KILN_MFMA(mfma_f64_16x16x4f64, f64, f64, f64, 4)
#if __has_builtin(__builtin_amdgcn_mfma_f32_16x16x32_f16)
using bf16x8 = vec<__bf16, 8>;
KILN_MFMA(mfma_f32_32x32x16_f16, f16x8, f16x8, f32, 16)
KILN_MFMA(mfma_f32_16x16x32_f16, f16x8, f16x8, f32, 4)
KILN_MFMA(mfma_f32_32x32x16_bf16, u16x8, bf16x8, f32, 16)
KILN_MFMA(mfma_f32_16x16x32_bf16, u16x8, bf16x8, f32, 4)
KILN_MFMA(mfma_i32_32x32x32_i8, u32x4, i32x4, i32, 16)
KILN_MFMA(mfma_i32_16x16x64_i8, u32x4, i32x4, i32, 4)
#endif
#undef KILN_MFMA

KILN_DEVICE vec<f32, 8> wmma_f32_16x16x16_f16_w32(f16x16 a, f16x16 b, vec<f32, 8> c) {
  return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c);
}
KILN_DEVICE vec<f32, 8> wmma_f32_16x16x16_bf16_w32(u16x16 a, u16x16 b, vec<f32, 8> c) {
  return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(__builtin_bit_cast(i16x16, a), __builtin_bit_cast(i16x16, b), c);
}
KILN_DEVICE vec<i32, 8> wmma_i32_16x16x16_iu8_w32(u32x4 a, u32x4 b, vec<i32, 8> c) {
  return __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, __builtin_bit_cast(i32x4, a), true,
                                                    __builtin_bit_cast(i32x4, b), c, false);
}

}  // namespace kiln
