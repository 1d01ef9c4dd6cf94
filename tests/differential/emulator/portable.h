// What random functions are written in: C that means the same to a host compiler (KILN_HOST), to hipRTC and to clang
// for amdgcn. Nothing here is undefined: shifts are masked, signed arithmetic is done unsigned, divisors are not zero,
// conversions from floats are guarded, and the bits of a float are those of one NaN. KILN_WAVE and KILN_GFX are the
// target's.
typedef unsigned char u8;
typedef signed char s8;
typedef unsigned short u16;
typedef signed short s16;
typedef unsigned int u32;
typedef signed int s32;
typedef unsigned long long u64;
typedef signed long long s64;
typedef _Float16 f16;
typedef float f32;
typedef double f64;
typedef f16 h2 __attribute__((vector_size(4)));
typedef u16 w2 __attribute__((vector_size(4)));
typedef s16 v2 __attribute__((vector_size(4)));
typedef f32 f2 __attribute__((vector_size(8)));
struct quad { u32 x, y, z, w; };
struct triple { u32 x, y, z; };

// Without optimization each operation is a call of its own.
#if defined(KILN_HOST) || !defined(__OPTIMIZE__)
#define INLINE inline __attribute__((unused))
#else
#define INLINE inline __attribute__((always_inline))
#endif
#ifdef KILN_HOST
#define FN static INLINE
#define APART static __attribute__((noinline))
#elif defined(__HIP__)
#define FN static __device__ INLINE
#define APART static __device__ __attribute__((noinline))
#define KERNEL(threads) extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(threads, threads)))
#define LDS __shared__
#else
#define FN static INLINE
#define APART static __attribute__((noinline))
#define KERNEL(threads) \
  __attribute__((amdgpu_kernel, visibility("protected"), amdgpu_flat_work_group_size(threads, threads)))
#define LDS static __attribute__((address_space(3), loader_uninitialized))
#endif

// Phase p of a function reads half p & 1 of each array, anywhere, and writes the other half at slots of its own.
#define SLOTS 256
struct shared {
  struct quad quads[2][SLOTS];
  u64 longs[2][SLOTS];
  u32 words[2][SLOTS];
  f32 reals[2][SLOTS];
  u16 shorts[2][SLOTS];
  u8 bytes[2][SLOTS];
  u64 counts64[16];
  u32 counts[16];
};

#define PARAMETERS                                                                                             \
  const u32 *__restrict__ in_i, const f32 *__restrict__ in_f, const f64 *__restrict__ in_d,                    \
      const f16 *__restrict__ in_h, u8 *__restrict__ memory, u32 *__restrict__ counts, u64 *__restrict__ out,  \
      u8 q0, u16 q1, u32 q2, u64 q3, f32 q4, f64 q5, f16 q6, s32 q7
#define PASS in_i, in_f, in_d, in_h, memory, counts, out, q0, q1, q2, q3, q4, q5, q6, q7
#define PASS_FROM(a)                                                                                             \
  *(const u32**)a[0], *(const f32**)a[1], *(const f64**)a[2], *(const f16**)a[3], *(u8**)a[4], *(u32**)a[5],    \
      *(u64**)a[6], *(u8*)a[7], *(u16*)a[8], *(u32*)a[9], *(u64*)a[10], *(f32*)a[11], *(f64*)a[12], *(f16*)a[13], \
      *(s32*)a[14]

// ---- integers ------------------------------------------------------------------------------------------------------
#define INTEGER(T, U, W, BITS)                                                                                    \
  FN T add_##T(T a, T b) { return (T)(U)((W)a + (W)b); }                                                         \
  FN T sub_##T(T a, T b) { return (T)(U)((W)a - (W)b); }                                                         \
  FN T mul_##T(T a, T b) { return (T)(U)((W)a * (W)b); }                                                         \
  FN T and_##T(T a, T b) { return (T)(a & b); }                                                                  \
  FN T or_##T(T a, T b) { return (T)(a | b); }                                                                   \
  FN T xor_##T(T a, T b) { return (T)(a ^ b); }                                                                  \
  FN T andn_##T(T a, T b) { return (T)(a & ~b); }                                                                \
  FN T not_##T(T a) { return (T)~a; }                                                                            \
  FN T neg_##T(T a) { return (T)(U)(0 - (W)a); }                                                                 \
  FN T shl_##T(T a, T b) { return (T)(U)((W)(U)a << ((U)b & (BITS - 1))); }                                      \
  FN T shr_##T(T a, T b) { return (T)(a >> ((U)b & (BITS - 1))); }                                               \
  FN T rot_##T(T a, T b) {                                                                                        \
    const u32 n = (U)b & (BITS - 1);                                                                              \
    return (T)(U)((W)(U)a << n | (W)(U)a >> ((BITS - n) & (BITS - 1)));                                           \
  }                                                                                                               \
  FN T min_##T(T a, T b) { return a < b ? a : b; }                                                               \
  FN T max_##T(T a, T b) { return a > b ? a : b; }                                                               \
  FN T dist_##T(T a, T b) { return (T)(U)(a > b ? (W)a - (W)b : (W)b - (W)a); }                                  \
  FN T div_##T(T a, T b) {                                                                                        \
    if (b == 0) return a;                                                                                         \
    if ((T)~b == 0 && (T)-1 < 0) return neg_##T(a);                                                               \
    return (T)(a / b);                                                                                            \
  }                                                                                                               \
  FN T rem_##T(T a, T b) {                                                                                        \
    if (b == 0 || ((T)~b == 0 && (T)-1 < 0)) return 0;                                                            \
    return (T)(a % b);                                                                                            \
  }                                                                                                               \
  FN T over_add_##T(T a, T b) {                                                                                   \
    T r;                                                                                                          \
    return __builtin_add_overflow(a, b, &r) ? (T)~r : r;                                                          \
  }                                                                                                               \
  FN T over_sub_##T(T a, T b) {                                                                                   \
    T r;                                                                                                          \
    return __builtin_sub_overflow(a, b, &r) ? (T)~r : r;                                                          \
  }                                                                                                               \
  FN T mix_##T(T a, T b, T c) { return (T)((a & b) | (~a & c)); }                                                \
  FN T mad_##T(T a, T b, T c) { return (T)(U)((W)a * (W)b + (W)c); }                                             \
  FN T shl_add_##T(T a, T b, T c) { return (T)(U)(((W)(U)a << ((U)b & (BITS - 1))) + (W)c); }                    \
  FN T xor_add_##T(T a, T b, T c) { return (T)(U)((W)(U)(a ^ b) + (W)c); }                                       \
  FN T and_or_##T(T a, T b, T c) { return (T)((a & b) | c); }                                                    \
  FN T med_##T(T a, T b, T c) { return max_##T(min_##T(a, b), min_##T(max_##T(a, b), c)); }                      \
  FN T max3_##T(T a, T b, T c) { return max_##T(max_##T(a, b), c); }                                             \
  FN T min3_##T(T a, T b, T c) { return min_##T(min_##T(a, b), c); }                                             \
  FN T dist_add_##T(T a, T b, T c) { return (T)(U)((W)(U)dist_##T(a, b) + (W)c); }
INTEGER(u8, u8, u32, 8)
INTEGER(s8, u8, u32, 8)
INTEGER(u16, u16, u32, 16)
INTEGER(s16, u16, u32, 16)
INTEGER(u32, u32, u32, 32)
INTEGER(s32, u32, u32, 32)
INTEGER(u64, u64, u64, 64)
INTEGER(s64, u64, u64, 64)

#ifdef KILN_HOST
#define SATURATE(T, U, W, LEAST, MOST)                                                   \
  FN T sat_add_##T(T a, T b) {                                                           \
    T r;                                                                                 \
    return !__builtin_add_overflow(a, b, &r) ? r : b < 0 ? (T)LEAST : (T)MOST;           \
  }                                                                                      \
  FN T sat_sub_##T(T a, T b) {                                                           \
    T r;                                                                                 \
    return !__builtin_sub_overflow(a, b, &r) ? r : (T)-1 > 0 || b > 0 ? (T)LEAST : (T)MOST; \
  }
#else
#define SATURATE(T, U, W, LEAST, MOST)                                        \
  FN T sat_add_##T(T a, T b) { return __builtin_elementwise_add_sat(a, b); } \
  FN T sat_sub_##T(T a, T b) { return __builtin_elementwise_sub_sat(a, b); }
#endif
SATURATE(u8, u8, u32, 0, 0xff)
SATURATE(s8, u8, u32, 0x80, 0x7f)
SATURATE(u16, u16, u32, 0, 0xffff)
SATURATE(s16, u16, u32, 0x8000, 0x7fff)
SATURATE(u32, u32, u32, 0, 0xffffffffu)
SATURATE(s32, u32, u32, 0x80000000u, 0x7fffffff)
SATURATE(u64, u64, u64, 0, 0xffffffffffffffffull)
SATURATE(s64, u64, u64, 0x8000000000000000ull, 0x7fffffffffffffffll)

FN u32 leading_u32(u32 a) { return a == 0 ? 32 : (u32)__builtin_clz(a); }
FN u32 trailing_u32(u32 a) { return a == 0 ? 32 : (u32)__builtin_ctz(a); }
FN u32 ones_u32(u32 a) { return (u32)__builtin_popcount(a); }
FN u64 leading_u64(u64 a) { return a == 0 ? 64 : (u64)__builtin_clzll(a); }
FN u64 trailing_u64(u64 a) { return a == 0 ? 64 : (u64)__builtin_ctzll(a); }
FN u64 ones_u64(u64 a) { return (u64)__builtin_popcountll(a); }
FN u32 swap_u32(u32 a) { return __builtin_bswap32(a); }
FN u64 swap_u64(u64 a) {
#if KILN_GFX == 11 && !defined(__OPTIMIZE__)
  // LLVM 21 and 22 copy each half to a register of 16 bits before v_perm_b32 (%26:vgpr_16 = COPY %24.sub0); only -O0
  // keeps such copies.
  return (u64)swap_u32((u32)a) << 32 | swap_u32((u32)(a >> 32));
#else
  return __builtin_bswap64(a);
#endif
}
FN u32 high_u32(u32 a, u32 b) { return (u32)((u64)a * b >> 32); }
FN s32 high_s32(s32 a, s32 b) { return (s32)(u32)((u64)((s64)a * b) >> 32); }
FN u64 wide_u32(u32 a, u32 b) { return (u64)a * b; }
FN s64 wide_s32(s32 a, s32 b) { return (s64)a * b; }
FN u64 high_u64(u64 a, u64 b) {
  const u64 al = (u32)a, ah = a >> 32, bl = (u32)b, bh = b >> 32;
  const u64 middle = ah * bl + (al * bl >> 32), other = al * bh + (u32)middle;
  return ah * bh + (middle >> 32) + (other >> 32);
}
FN u64 mad64(u32 a, u32 b, u64 c) { return (u64)a * b + c; }
FN u32 mul24(u32 a, u32 b, u32 c) { return (a & 0xffffff) * (b & 0xffffff) + c; }
FN s32 smul24(s32 a, s32 b, s32 c) {
  const s32 x = (s32)((u32)a << 8) >> 8, y = (s32)((u32)b << 8) >> 8;
  return (s32)((u32)x * (u32)y + (u32)c);
}
FN u32 pack_high(u32 a, u32 b) { return a >> 16 | (b & 0xffff0000u); }
FN u32 pack_cross(u32 a, u32 b) { return (a & 0xffff) | (b & 0xffff0000u); }
FN u32 zeros_u32(u32 a) { return (u32)__builtin_popcount(~a); }
FN u64 field_u64(u64 a, u64 b, u64 c) { return (a >> (b & 63)) & (((u64)1 << (c & 63)) - 1); }
FN u64 bit_u64(u64 a, u64 b) { return (b & 1) != 0 ? a | (u64)1 << (b >> 1 & 63) : a & ~((u64)1 << (b >> 1 & 63)); }
FN u32 pack(u32 a, u32 b) { return (a & 0xffff) | b << 16; }

// ---- floats --------------------------------------------------------------------------------------------------------
FN u32 bits_f32(f32 a) {
  u32 r;
  __builtin_memcpy(&r, &a, 4);
  return a != a ? 0x7fc00000u : r;
}
FN u64 bits_f64(f64 a) {
  u64 r;
  __builtin_memcpy(&r, &a, 8);
  return a != a ? 0x7ff8000000000000ull : r;
}
FN u16 bits_f16(f16 a) {
  u16 r;
  __builtin_memcpy(&r, &a, 2);
  return a != a ? 0x7e00 : r;
}
FN f32 f32_of_bits(u32 a) {
  f32 r;
  if ((a & 0x7fffffff) > 0x7f800000) a = 0x7fc00000;
  __builtin_memcpy(&r, &a, 4);
  return r;
}
FN f64 f64_of_bits(u64 a) {
  f64 r;
  if ((a & 0x7fffffffffffffffull) > 0x7ff0000000000000ull) a = 0x7ff8000000000000ull;
  __builtin_memcpy(&r, &a, 8);
  return r;
}
FN f16 f16_of_bits(u16 a) {
  f16 r;
  if ((a & 0x7fff) > 0x7c00) a = 0x7e00;
  __builtin_memcpy(&r, &a, 2);
  return r;
}

// Where the two zeros may be told apart by chance, in minimum and maximum, a zero is added: the result is the positive.
#define FLOATING(T, S)                                                                   \
  FN T add_##T(T a, T b) { return a + b; }                                               \
  FN T sub_##T(T a, T b) { return a - b; }                                               \
  FN T mul_##T(T a, T b) { return a * b; }                                               \
  FN T div_##T(T a, T b) { return a / b; }                                               \
  FN T neg_##T(T a) { return -a; }                                                       \
  FN T abs_##T(T a) { return CALL(T, fabs##S)(a); }                                      \
  FN T sqrt_##T(T a) { return CALL(T, sqrt##S)(a); }                                     \
  FN T floor_##T(T a) { return CALL(T, floor##S)(a); }                                   \
  FN T ceil_##T(T a) { return CALL(T, ceil##S)(a); }                                     \
  FN T trunc_##T(T a) { return CALL(T, trunc##S)(a); }                                   \
  FN T rint_##T(T a) { return CALL(T, rint##S)(a); }                                     \
  FN T min_##T(T a, T b) { return CALL2(T, fmin##S, a, b) + (T)0; }                      \
  FN T max_##T(T a, T b) { return CALL2(T, fmax##S, a, b) + (T)0; }                      \
  FN T least_##T(T a, T b) { return a < b ? a : b; }                                     \
  FN T most_##T(T a, T b) { return a > b ? a : b; }                                      \
  FN T sign_##T(T a, T b) { return CALL2(T, copysign##S, a, (b != b ? (T)1 : b)); }      \
  FN T fma_##T(T a, T b, T c) { return FMA(T, S, a, b, c); }                             \
  FN T med_##T(T a, T b, T c) { return max_##T(min_##T(a, b), min_##T(max_##T(a, b), c)); } \
  FN T max3_##T(T a, T b, T c) { return max_##T(max_##T(a, b), c); }                     \
  FN T min3_##T(T a, T b, T c) { return min_##T(min_##T(a, b), c); }                     \
  FN T clamp_##T(T a) { return min_##T(max_##T(a, (T)0), (T)1); }
#define CALL(T, name) __builtin_##name
#define CALL2(T, name, a, b) __builtin_##name(a, b)
#define FMA(T, S, a, b, c) __builtin_fma##S(a, b, c)
FLOATING(f32, f)
FLOATING(f64, )
#ifdef KILN_HOST
// Half through single: exact, or rounded once, for every operation but fma, whose sum is rounded to odd before.
#undef CALL
#undef CALL2
#undef FMA
#define CALL(T, name) (T)__builtin_##name
#define CALL2(T, name, a, b) (T)__builtin_##name((f32)(a), (f32)(b))
FN f16 fma_through_f64(f16 a, f16 b, f16 c) {
  const f64 product = (f64)a * (f64)b, addend = (f64)c, sum = product + addend;
  const f64 part = sum - product, error = (product - (sum - part)) + (addend - part);
  u64 bits;
  __builtin_memcpy(&bits, &sum, 8);
  if (error != 0 && error == error && (bits & 1) == 0) bits = (error > 0) == (sum > 0) ? bits + 1 : bits - 1;
  f64 odd;
  __builtin_memcpy(&odd, &bits, 8);
  return (f16)odd;
}
#define FMA(T, S, a, b, c) fma_through_f64(a, b, c)
FLOATING(f16, f)
#else
FLOATING(f16, f16)
#endif

#define TO_INTEGER(T, F, BELOW, ABOVE) \
  FN T T##_of_##F(F a) { return (f64)a > BELOW && (f64)a < ABOVE ? (T)a : (T)0; }
#define TO_INTEGERS(F)                                        \
  TO_INTEGER(u8, F, -1.0, 256.0)                              \
  TO_INTEGER(s8, F, -129.0, 128.0)                            \
  TO_INTEGER(u16, F, -1.0, 65536.0)                           \
  TO_INTEGER(s16, F, -32769.0, 32768.0)                       \
  TO_INTEGER(u32, F, -1.0, 4294967296.0)                      \
  TO_INTEGER(s32, F, -2147483649.0, 2147483648.0)             \
  TO_INTEGER(u64, F, -1.0, 18446744073709551616.0)            \
  TO_INTEGER(s64, F, -9223372036854775808.0, 9223372036854775808.0)
TO_INTEGERS(f16)
TO_INTEGERS(f32)
TO_INTEGERS(f64)
FN f32 scale_f32(f32 a, s32 b) { return __builtin_ldexpf(a, b % 300); }
FN f64 scale_f64(f64 a, s32 b) { return __builtin_ldexp(a, b % 2200); }
FN f16 scale_f16(f16 a, s32 b) {
#ifdef KILN_HOST
  return (f16)__builtin_ldexpf((f32)a, b % 50);
#else
  return __builtin_ldexpf16(a, b % 50);
#endif
}
// x - floor(x), below 1. Of infinities 0: v_fract gives NaN, and the compiler uses it as if there were none.
#define FRACTION(T, below_one)                                        \
  FN T fract_##T(T a) {                                               \
    const T r = a - floor_##T(a), least = a != a ? a : min_##T(r, (T)below_one); \
    return __builtin_isinf(a) ? (T)0 : least;                         \
  }
FRACTION(f16, 0x1.ffcp-1)
FRACTION(f32, 0x1.fffffep-1)
FRACTION(f64, 0x1.fffffffffffffp-1)
#define PARTS(T, C, S)                                                \
  FN T mantissa_##T(T a) {                                            \
    s32 e;                                                            \
    return a - a == 0 ? (T)__builtin_frexp##S((C)a, &e) : a;          \
  }                                                                   \
  FN s32 exponent_##T(T a) {                                          \
    s32 e = 0;                                                        \
    if (a - a == 0) (void)__builtin_frexp##S((C)a, &e);               \
    return e;                                                         \
  }
PARTS(f32, f32, f)
PARTS(f64, f64, )
#ifdef KILN_HOST
PARTS(f16, f32, f)
#else
PARTS(f16, f16, f16)
#endif
FN f16 fma_mix(f16 a, f16 b, f32 c) { return (f16)fma_f32((f32)a, (f32)b, c); }
FN f32 fma_mix_f32(f16 a, f32 b, f16 c) { return fma_f32((f32)a, b, -(f32)c); }
FN f32 byte_f32(u32 a, u32 n) { return (f32)(a >> (8 * (n & 3)) & 0xff); }
FN u32 middle_f32(f32 a, f32 b, f32 c) {
  a = a != a ? 0 : a + 0.0f, b = b != b ? 0 : b + 0.0f, c = c != c ? 0 : c + 0.0f;
#ifdef KILN_HOST
  return bits_f32(max_f32(min_f32(a, b), min_f32(max_f32(a, b), c)));
#else
  return bits_f32(__builtin_amdgcn_fmed3f(a, b, c) + 0.0f);
#endif
}
FN u32 bits_bf16(f32 a) {
#ifdef KILN_HOST
  const u32 bits = bits_f32(a);
  return a != a ? 0x7fc0 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
#else
  const __bf16 r = (__bf16)a;
  u16 bits;
  __builtin_memcpy(&bits, &r, 2);
  return a != a ? 0x7fc0 : bits;
#endif
}
FN u32 pair_bf16(f32 a, f32 b) { return bits_bf16(a) | bits_bf16(b) << 16; }
FN f32 f32_of_bf16(u32 a) { return f32_of_bits(a << 16); }
// Kinds: a mask of 1 NaN, 2 infinite, 4 subnormal, 8 zero, 16 negative.
FN u32 kind_f32(f32 a, u32 kinds) {
  const u32 bits = bits_f32(a), size = bits & 0x7fffffff;
  return ((kinds & 1) != 0 && a != a) || ((kinds & 2) != 0 && __builtin_isinf(a)) ||
         ((kinds & 4) != 0 && size != 0 && size < 0x00800000) || ((kinds & 8) != 0 && a == 0) ||
         ((kinds & 16) != 0 && (bits >> 31) != 0);
}

// ---- pairs ---------------------------------------------------------------------------------------------------------
FN h2 h2_of(u32 a) {
  h2 r = {f16_of_bits((u16)a), f16_of_bits((u16)(a >> 16))};
  return r;
}
FN u32 of_h2(h2 a) { return pack(bits_f16(a[0]), bits_f16(a[1])); }
FN w2 w2_of(u32 a) {
  w2 r;
  __builtin_memcpy(&r, &a, 4);
  return r;
}
FN u32 of_w2(w2 a) {
  u32 r;
  __builtin_memcpy(&r, &a, 4);
  return r;
}
FN f2 f2_of(u64 a) {
  f2 r = {f32_of_bits((u32)a), f32_of_bits((u32)(a >> 32))};
  return r;
}
FN u64 of_f2(f2 a) { return bits_f32(a[0]) | (u64)bits_f32(a[1]) << 32; }
FN u32 add_h2(u32 a, u32 b) { return of_h2(h2_of(a) + h2_of(b)); }
FN u32 mul_h2(u32 a, u32 b) { return of_h2(h2_of(a) * h2_of(b)); }
FN u32 fma_h2(u32 a, u32 b, u32 c) {
  const h2 x = h2_of(a), y = h2_of(b), z = h2_of(c);
  const h2 r = {fma_f16(x[0], y[0], z[0]), fma_f16(x[1], -y[1], z[1])};
  return of_h2(r);
}
FN u32 max_h2(u32 a, u32 b) {
  const h2 x = h2_of(a), y = h2_of(b), r = {max_f16(x[0], y[0]), max_f16(x[1], y[1])};
  return of_h2(r);
}
FN u32 add_w2(u32 a, u32 b) { return of_w2(w2_of(a) + w2_of(b)); }
FN u32 sub_w2(u32 a, u32 b) { return of_w2(w2_of(a) - w2_of(b)); }
FN u32 mul_w2(u32 a, u32 b) { return of_w2(w2_of(a) * w2_of(b)); }
FN u32 mad_w2(u32 a, u32 b, u32 c) { return of_w2(w2_of(a) * w2_of(b) + w2_of(c)); }
FN u32 max_w2(u32 a, u32 b) {
  const w2 x = w2_of(a), y = w2_of(b), r = {max_u16(x[0], y[0]), max_u16(x[1], y[1])};
  return of_w2(r);
}
FN u32 min_v2(u32 a, u32 b) {
  const w2 x = w2_of(a), y = w2_of(b),
           r = {(u16)min_s16((s16)x[0], (s16)y[0]), (u16)min_s16((s16)x[1], (s16)y[1])};
  return of_w2(r);
}
FN u32 min_h2(u32 a, u32 b) {
  const h2 x = h2_of(a), y = h2_of(b), r = {min_f16(x[0], y[0]), min_f16(x[1], y[1])};
  return of_h2(r);
}
FN u32 sub_h2(u32 a, u32 b) { return of_h2(h2_of(a) - h2_of(b)); }
FN u32 min_w2(u32 a, u32 b) {
  const w2 x = w2_of(a), y = w2_of(b), r = {min_u16(x[0], y[0]), min_u16(x[1], y[1])};
  return of_w2(r);
}
FN u32 max_v2(u32 a, u32 b) {
  const w2 x = w2_of(a), y = w2_of(b),
           r = {(u16)max_s16((s16)x[0], (s16)y[0]), (u16)max_s16((s16)x[1], (s16)y[1])};
  return of_w2(r);
}
FN u32 sra_v2(u32 a, u32 b) {
  const w2 x = w2_of(a), y = w2_of(b), r = {(u16)shr_s16((s16)x[0], (s16)y[0]), (u16)shr_s16((s16)x[1], (s16)y[1])};
  return of_w2(r);
}
FN u32 shl_w2(u32 a, u32 b) {
  const w2 x = w2_of(a), y = w2_of(b), r = {shl_u16(x[0], y[0]), shl_u16(x[1], y[1])};
  return of_w2(r);
}
FN u32 shr_w2(u32 a, u32 b) {
  const w2 x = w2_of(a), y = w2_of(b), r = {shr_u16(x[0], y[0]), shr_u16(x[1], y[1])};
  return of_w2(r);
}
FN u64 add_f2(u64 a, u64 b) { return of_f2(f2_of(a) + f2_of(b)); }
FN u64 mul_f2(u64 a, u64 b) { return of_f2(f2_of(a) * f2_of(b)); }
FN u64 fma_f2(u64 a, u64 b, u64 c) {
  const f2 x = f2_of(a), y = f2_of(b), z = f2_of(c),
           r = {fma_f32(x[0], y[0], z[0]), fma_f32(-x[1], y[1], z[1])};
  return of_f2(r);
}
