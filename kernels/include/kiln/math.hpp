// Functions of analysis for f32, within PROGRAM.md's units in the last place for normal results; results below 2^-126
// may come out as 0. The constants of tanh and erf are minimax fits (Lawson's iteration over Chebyshev nodes), each
// below 2^-29.
#pragma once

#include <kiln/arithmetic.hpp>

namespace kiln {

// x·log2(e) in two parts, so that the error does not grow with x.
KILN_DEVICE f32 exp_f32(f32 x) {
  const f32 high = x * 0x1.715476p+0f;
  const f32 low = __builtin_fmaf(x, 0x1.4ae0cp-26f, __builtin_fmaf(x, 0x1.715476p+0f, -high));
  const f32 result = hardware_exp2(high);
  const f32 corrected = __builtin_fmaf(result, low * 0x1.62e43p-1f, result);
  return absolute(high) < 128.0f ? corrected : result;  // beyond, result is 0, infinite or NaN, and low may be NaN
}
KILN_DEVICE f32 exp2_f32(f32 x) { return hardware_exp2(x); }
KILN_DEVICE f32 log2_f32(f32 x) {
  const bool tiny = x < 0x1p-126f;
  return hardware_log2(tiny ? x * 0x1p+32f : x) - (tiny ? 32.0f : 0.0f);
}
KILN_DEVICE f32 log_f32(f32 x) {
  const f32 y = log2_f32(x);
  const f32 high = y * 0x1.62e43p-1f;
  const f32 low = __builtin_fmaf(y, -0x1.05c61p-29f, __builtin_fmaf(y, 0x1.62e43p-1f, -high));
  return absolute(y) < __builtin_inff() ? high + low : y;
}
KILN_DEVICE f32 sqrt_f32(f32 x) { return __builtin_sqrtf(x); }
KILN_DEVICE f32 rsqrt_f32(f32 x) {
  const bool tiny = x < 0x1p-126f;
  return hardware_rsqrt(tiny ? x * 0x1p+24f : x) * (tiny ? 0x1p+12f : 1.0f);
}
KILN_DEVICE f32 sigmoid_f32(f32 x) { return hardware_rcp(1.0f + exp_f32(-x)); }
KILN_DEVICE f32 tanh_f32(f32 x) {
  const f32 a = absolute(x), s = x * x;
  f32 p = __builtin_fmaf(s, -0x1.963d5ep-8f, 0x1.58669ap-6f);
  p = __builtin_fmaf(s, p, -0x1.b90fcp-5f);
  p = __builtin_fmaf(s, p, 0x1.110c98p-3f);
  p = __builtin_fmaf(s, p, -0x1.555548p-2f);
  const f32 small = __builtin_fmaf(a * s, p, a);
  const f32 large = 1.0f - 2.0f * hardware_rcp(exp_f32(2.0f * a) + 1.0f);
  return __builtin_copysignf(a < 0.55f ? small : large, x);
}
KILN_DEVICE f32 erf_f32(f32 x) {
  const f32 a = absolute(x), s = x * x;
  f32 p = __builtin_fmaf(s, 0x1.548a08p-14f, -0x1.a7ad26p-11f);
  p = __builtin_fmaf(s, p, 0x1.547beap-8f);
  p = __builtin_fmaf(s, p, -0x1.b80686p-6f);
  p = __builtin_fmaf(s, p, 0x1.ce2da8p-4f);
  p = __builtin_fmaf(s, p, -0x1.812742p-2f);
  p = __builtin_fmaf(s, p, 0x1.06eba8p-3f);
  const f32 small = __builtin_fmaf(a, p, a);
  const f32 b = a < 4.1f ? a : 4.1f;  // above, erf rounds to 1
  f32 q = __builtin_fmaf(b, -0x1.24e242p-12f, 0x1.1d8f86p-8f);  // -log2(erfc(b))
  q = __builtin_fmaf(b, q, -0x1.059a6ap-5f);
  q = __builtin_fmaf(b, q, 0x1.328382p-3f);
  q = __builtin_fmaf(b, q, 0x1.d6d2c2p-1f);
  q = __builtin_fmaf(b, q, 0x1.a06f96p+0f);
  q = __builtin_fmaf(b, q, 0x1.58640ep-12f);
  const f32 large = 1.0f - hardware_exp2(-q);
  return __builtin_copysignf(a >= 0.95f ? large : small, x);
}
KILN_DEVICE f32 log1p_f32(f32 x) { return __ocml_log1p_f32(x); }
KILN_DEVICE f32 expm1_f32(f32 x) { return __ocml_expm1_f32(x); }
KILN_DEVICE f32 sin_f32(f32 x) { return __ocml_sin_f32(x); }
KILN_DEVICE f32 cos_f32(f32 x) { return __ocml_cos_f32(x); }
KILN_DEVICE f32 pow_f32(f32 x, f32 y) { return __ocml_pow_f32(x, y); }

KILN_DEVICE f64 exp_f64(f64 x) { return __ocml_exp_f64(x); }
KILN_DEVICE f64 exp2_f64(f64 x) { return __ocml_exp2_f64(x); }
KILN_DEVICE f64 log_f64(f64 x) { return __ocml_log_f64(x); }
KILN_DEVICE f64 log2_f64(f64 x) { return __ocml_log2_f64(x); }
KILN_DEVICE f64 log1p_f64(f64 x) { return __ocml_log1p_f64(x); }
KILN_DEVICE f64 expm1_f64(f64 x) { return __ocml_expm1_f64(x); }
KILN_DEVICE f64 sqrt_f64(f64 x) { return __builtin_sqrt(x); }
KILN_DEVICE f64 rsqrt_f64(f64 x) { return 1.0 / __builtin_sqrt(x); }
KILN_DEVICE f64 sigmoid_f64(f64 x) { return 1.0 / (1.0 + __ocml_exp_f64(-x)); }
KILN_DEVICE f64 tanh_f64(f64 x) { return __ocml_tanh_f64(x); }
KILN_DEVICE f64 erf_f64(f64 x) { return __ocml_erf_f64(x); }
KILN_DEVICE f64 sin_f64(f64 x) { return __ocml_sin_f64(x); }
KILN_DEVICE f64 cos_f64(f64 x) { return __ocml_cos_f64(x); }
KILN_DEVICE f64 pow_f64(f64 x, f64 y) { return __ocml_pow_f64(x, y); }

KILN_DEVICE f32 floor_of(f32 x) { return __builtin_floorf(x); }
KILN_DEVICE f32 ceil_of(f32 x) { return __builtin_ceilf(x); }
KILN_DEVICE f32 round_of(f32 x) { return __builtin_rintf(x); }  // ties to even
KILN_DEVICE f64 floor_of(f64 x) { return __builtin_floor(x); }
KILN_DEVICE f64 ceil_of(f64 x) { return __builtin_ceil(x); }
KILN_DEVICE f64 round_of(f64 x) { return __builtin_rint(x); }

}  // namespace kiln
