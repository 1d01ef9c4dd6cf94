// Instructions that C has no words for, among them those that move values between the lanes of a wave: on the card the
// compiler's built-in function, on the host what AMD's ISA documents say of the instruction (gfx90a, MI300, "Vector ALU
// operations", "Data share instructions", "DPP").
#ifdef KILN_HOST
FN u32 byte_at(u32 a, u32 i) { return a >> (8 * i) & 0xff; }
FN u32 x_bitreverse(u32 a) {
  u32 r = 0;
  for (u32 i = 0; i < 32; ++i) r |= (a >> i & 1) << (31 - i);
  return r;
}
FN u64 x_bitreverse64(u64 a) { return (u64)x_bitreverse((u32)a) << 32 | x_bitreverse((u32)(a >> 32)); }
FN u32 x_perm(u32 a, u32 b, u32 c) {
  u32 r = 0;
  for (u32 i = 0; i < 4; ++i) {
    const u32 s = byte_at(c, i);
    const u64 both = (u64)a << 32 | b;
    const u32 v = s >= 13 ? 0xff : s == 12 ? 0 : s >= 8 ? ((u32)(both >> (16 * (s - 8) + 15)) & 1) * 0xff
                                                         : (u32)(both >> (8 * s)) & 0xff;
    r |= v << (8 * i);
  }
  return r;
}
FN u32 x_ubfe(u32 a, u32 b, u32 c) { return (a >> (b & 31)) & ((1u << (c & 31)) - 1); }
FN u32 x_sbfe(u32 a, u32 b, u32 c) {
  const u32 width = c & 31, v = x_ubfe(a, b, c);
  return width != 0 && (b & 31) + width < 32 ? (v ^ (1u << (width - 1))) - (1u << (width - 1))
         : width == 0                        ? 0
                                             : (u32)((s32)a >> (b & 31));
}
FN u32 x_alignbit(u32 a, u32 b, u32 c) { return (u32)(((u64)a << 32 | b) >> (c & 31)); }
FN u32 x_alignbyte(u32 a, u32 b, u32 c) { return (u32)(((u64)a << 32 | b) >> (8 * (c & 3))); }
FN u32 x_sad_u8(u32 a, u32 b, u32 c) {
  for (u32 i = 0; i < 4; ++i) c += dist_u32(byte_at(a, i), byte_at(b, i));
  return c;
}
FN u32 x_sad_hi_u8(u32 a, u32 b, u32 c) { return (x_sad_u8(a, b, 0) << 16) + c; }
FN u32 x_sad_u16(u32 a, u32 b, u32 c) { return c + dist_u32(a & 0xffff, b & 0xffff) + dist_u32(a >> 16, b >> 16); }
FN u32 x_msad_u8(u32 a, u32 b, u32 c) {
  for (u32 i = 0; i < 4; ++i) c += byte_at(b, i) == 0 ? 0 : dist_u32(byte_at(a, i), byte_at(b, i));
  return c;
}
FN u32 x_lerp(u32 a, u32 b, u32 c) {
  u32 r = 0;
  for (u32 i = 0; i < 4; ++i) r |= (byte_at(a, i) + byte_at(b, i) + (byte_at(c, i) & 1)) >> 1 << (8 * i);
  return r;
}
FN u32 x_udot4(u32 a, u32 b, u32 c) {
  for (u32 i = 0; i < 4; ++i) c += byte_at(a, i) * byte_at(b, i);
  return c;
}
FN u32 x_udot8(u32 a, u32 b, u32 c) {
  for (u32 i = 0; i < 8; ++i) c += (a >> (4 * i) & 15) * (b >> (4 * i) & 15);
  return c;
}
FN u32 x_udot2(u32 a, u32 b, u32 c) { return (a & 0xffff) * (b & 0xffff) + (a >> 16) * (b >> 16) + c; }
FN u32 x_sdot2(u32 a, u32 b, u32 c) {
  return (u32)((s32)(s16)a * (s16)b) + (u32)((s32)(s16)(a >> 16) * (s16)(b >> 16)) + c;
}
FN u32 x_sdot4(u32 a, u32 b, u32 c) {
  for (u32 i = 0; i < 4; ++i) c += (u32)((s32)(s8)byte_at(a, i) * (s8)byte_at(b, i));
  return c;
}
FN u32 x_udot4_sat(u32 a, u32 b, u32 c) { return sat_add_u32(x_udot4(a, b, 0), c); }
FN u32 x_sudot4(u32 a, u32 b, u32 c) {
  for (u32 i = 0; i < 4; ++i) c += (u32)((s32)(s8)byte_at(a, i) * (s32)byte_at(b, i));
  return c;
}
// One half toward zero: what does not fit is the largest.
FN u32 half_toward_zero(f32 a) {
  if (a != a) return 0x7e00;
  const u32 sign = bits_f32(a) >> 16 & 0x8000;
  f32 size = __builtin_fabsf(a);
  if (__builtin_isinf(size)) return sign | 0x7c00;
  u16 r = bits_f16((f16)size);
  if (r >= 0x7c00) r = 0x7bff;
  if ((f32)f16_of_bits(r) > size) --r;
  return sign | r;
}
FN u32 x_pkrtz(u32 a, u32 b, u32 c) {
  (void)c;
  return half_toward_zero(f32_of_bits(a)) | half_toward_zero(f32_of_bits(b)) << 16;
}
FN u32 x_cvt_pk_i16(u32 a, u32 b, u32 c) {
  (void)c;
  return pack((u32)med_s32((s32)a, -32768, 32767), (u32)med_s32((s32)b, -32768, 32767));
}
FN u32 x_cvt_pk_u16(u32 a, u32 b, u32 c) {
  (void)c;
  return pack(min_u32(a, 0xffff), min_u32(b, 0xffff));
}
// 8-bit floats: the value of a code, and the code of a value within the range, by search. Biases: OCP 8-bit floating
// point specification; the FNUZ ones are one more, and 0x80 is their NaN.
FN f32 value_of_float8(u32 code, u32 mantissa, u32 bias) {
  const u32 exponent = (code & 0x7f) >> mantissa, low = code & ((1u << mantissa) - 1);
  const s32 unit = (s32)(exponent == 0 ? 1 : exponent) - (s32)bias - (s32)mantissa;
  const f32 size = __builtin_ldexpf((f32)(exponent == 0 ? low : low + (1u << mantissa)), unit);
  return code & 0x80 ? -size : size;
}
FN u32 float8_of_value(f32 a, u32 mantissa, u32 bias, u32 codes) {
  const f32 size = __builtin_fabsf(a);
  u32 best = 0;
  for (u32 code = 1; code < codes; ++code) {
    const f32 now = __builtin_fabsf(value_of_float8(code, mantissa, bias) - size),
              then = __builtin_fabsf(value_of_float8(best, mantissa, bias) - size);
    if (now < then || (now == then && (code & 1) == 0)) best = code;
  }
  const u32 negative = bits_f32(a) >> 31;
  return best | (KILN_FLOAT8 == 1 && best == 0 ? 0 : negative << 7);
}
FN u32 float8_pair(f32 a, f32 b, u32 mantissa) {
  const u32 bias = (mantissa == 3 ? 7 : 15) + (KILN_FLOAT8 == 1), codes = mantissa == 3 ? 127 : 124;
  return float8_of_value(a, mantissa, bias, KILN_FLOAT8 == 1 ? 128 : codes) |
         float8_of_value(b, mantissa, bias, KILN_FLOAT8 == 1 ? 128 : codes) << 8;
}
FN f32 float8_value(u32 code, u32 mantissa) {
  const u32 bias = (mantissa == 3 ? 7 : 15) + (KILN_FLOAT8 == 1), size = code & 0x7f;
  if (KILN_FLOAT8 == 1 ? code == 0x80 : mantissa == 3 ? size == 0x7f : size > 0x7c) return __builtin_nanf("");
  if (KILN_FLOAT8 == 2 && mantissa == 2 && size == 0x7c) return code & 0x80 ? -__builtin_inff() : __builtin_inff();
  return value_of_float8(code, mantissa, bias);
}
#else
FN u32 x_bitreverse(u32 a) { return __builtin_bitreverse32(a); }
FN u64 x_bitreverse64(u64 a) { return __builtin_bitreverse64(a); }
FN u32 x_perm(u32 a, u32 b, u32 c) { return __builtin_amdgcn_perm(a, b, c); }
FN u32 x_ubfe(u32 a, u32 b, u32 c) { return __builtin_amdgcn_ubfe(a, b, c); }
FN u32 x_sbfe(u32 a, u32 b, u32 c) { return (u32)__builtin_amdgcn_sbfe((s32)a, b, c); }
FN u32 x_alignbit(u32 a, u32 b, u32 c) { return __builtin_amdgcn_alignbit(a, b, c); }
FN u32 x_alignbyte(u32 a, u32 b, u32 c) { return __builtin_amdgcn_alignbyte(a, b, c); }
FN u32 x_sad_u8(u32 a, u32 b, u32 c) { return __builtin_amdgcn_sad_u8(a, b, c); }
FN u32 x_sad_hi_u8(u32 a, u32 b, u32 c) { return __builtin_amdgcn_sad_hi_u8(a, b, c); }
FN u32 x_sad_u16(u32 a, u32 b, u32 c) { return __builtin_amdgcn_sad_u16(a, b, c); }
FN u32 x_msad_u8(u32 a, u32 b, u32 c) { return __builtin_amdgcn_msad_u8(a, b, c); }
FN u32 x_lerp(u32 a, u32 b, u32 c) { return __builtin_amdgcn_lerp(a, b, c); }
FN u32 x_udot4(u32 a, u32 b, u32 c) { return __builtin_amdgcn_udot4(a, b, c, 0); }
FN u32 x_udot4_sat(u32 a, u32 b, u32 c) { return __builtin_amdgcn_udot4(a, b, c, 1); }
FN u32 x_udot8(u32 a, u32 b, u32 c) { return __builtin_amdgcn_udot8(a, b, c, 0); }
#if KILN_GFX == 9
FN u32 x_udot2(u32 a, u32 b, u32 c) {
  typedef u16 pair __attribute__((ext_vector_type(2)));
  pair x, y;
  __builtin_memcpy(&x, &a, 4), __builtin_memcpy(&y, &b, 4);
  return __builtin_amdgcn_udot2(x, y, c, 0);
}
FN u32 x_sdot2(u32 a, u32 b, u32 c) {
  typedef s16 pair __attribute__((ext_vector_type(2)));
  pair x, y;
  __builtin_memcpy(&x, &a, 4), __builtin_memcpy(&y, &b, 4);
  return (u32)__builtin_amdgcn_sdot2(x, y, (s32)c, 0);
}
FN u32 x_sdot4(u32 a, u32 b, u32 c) { return (u32)__builtin_amdgcn_sdot4((s32)a, (s32)b, (s32)c, 0); }
#endif
#if KILN_GFX == 11
FN u32 x_sudot4(u32 a, u32 b, u32 c) { return (u32)__builtin_amdgcn_sudot4(1, (s32)a, 0, (s32)b, (s32)c, 0); }
#endif
FN u32 x_pkrtz(u32 a, u32 b, u32 c) {
  u32 r;
  (void)c;
  const __auto_type both = __builtin_amdgcn_cvt_pkrtz(f32_of_bits(a), f32_of_bits(b));
  __builtin_memcpy(&r, &both, 4);
  return of_h2(h2_of(r));
}
FN u32 x_cvt_pk_i16(u32 a, u32 b, u32 c) {
  u32 r;
  (void)c;
  const __auto_type both = __builtin_amdgcn_cvt_pk_i16((s32)a, (s32)b);
  __builtin_memcpy(&r, &both, 4);
  return r;
}
FN u32 x_cvt_pk_u16(u32 a, u32 b, u32 c) {
  u32 r;
  (void)c;
  const __auto_type both = __builtin_amdgcn_cvt_pk_u16(a, b);
  __builtin_memcpy(&r, &both, 4);
  return r;
}
#if KILN_FLOAT8
FN u32 float8_pair(f32 a, f32 b, u32 mantissa) {
  const s32 both = mantissa == 3 ? __builtin_amdgcn_cvt_pk_fp8_f32(a, b, 0, 0)
                                 : __builtin_amdgcn_cvt_pk_bf8_f32(a, b, 0, 0);
  return (u32)both & 0xffff;
}
FN f32 float8_value(u32 code, u32 mantissa) {
  return mantissa == 3 ? __builtin_amdgcn_cvt_f32_fp8((s32)code, 0) : __builtin_amdgcn_cvt_f32_bf8((s32)code, 0);
}
#endif
#endif
#if KILN_FLOAT8
// Within the range of the type: beyond it the mode decides.
FN f32 in_range(f32 a, f32 most) { return a != a ? 1.0f : a > most ? most : a < -most ? -most : a; }
FN u32 pair_fp8(f32 a, f32 b) { return float8_pair(in_range(a, 240.0f), in_range(b, 240.0f), 3); }
FN u32 pair_bf8(f32 a, f32 b) { return float8_pair(in_range(a, 57344.0f), in_range(b, 57344.0f), 2); }
FN f32 f32_of_fp8(u32 a) { return float8_value(a & 0xff, 3); }
FN f32 f32_of_bf8(u32 a) { return float8_value(a & 0xff, 2); }
#endif

// ---- buffers: what lies outside reads as 0 --------------------------------------------------------------------------
#ifdef KILN_HOST
FN u32 x_buffer(const u32* words, u32 bytes, u32 at) { return at + 4 <= bytes && at + 4 > at ? words[at / 4] : 0; }
FN u32 x_buffer_quad(const u32* words, u32 bytes, u32 at) {
  return at < bytes ? fold_quad(((const struct quad*)words)[at / 16]) : 0;
}
FN u32 x_buffer_byte(const u32* words, u32 bytes, u32 at) { return at < bytes ? ((const u8*)words)[at] : 0; }
FN void x_buffer_store(u8* mine, u32 at, u32 v) { if (at < 64) ((u32*)mine)[at / 4] = v; }
#else
// Bounds by bytes: the only ones that GFX9 has without a stride, those of choice 3 later.
#define BUFFER_FLAGS (KILN_GFX == 9 ? 0x00027000 : 0x31004000)
#define BUFFER(pointer, bytes) __builtin_amdgcn_make_buffer_rsrc((void*)(pointer), 0, (s32)(bytes), BUFFER_FLAGS)
FN u32 x_buffer(const u32* words, u32 bytes, u32 at) {
  return __builtin_amdgcn_raw_buffer_load_b32(BUFFER(words, bytes), (s32)at, 0, 0);
}
FN u32 x_buffer_quad(const u32* words, u32 bytes, u32 at) {
  const __auto_type r = __builtin_amdgcn_raw_buffer_load_b128(BUFFER(words, bytes), (s32)at, 0, 0);
  return fold_quad(make_quad(r[0], r[1], r[2], r[3]));
}
FN u32 x_buffer_byte(const u32* words, u32 bytes, u32 at) {
  return __builtin_amdgcn_raw_buffer_load_b8(BUFFER(words, bytes), (s32)at, 0, 0);
}
FN void x_buffer_store(u8* mine, u32 at, u32 v) {
  __builtin_amdgcn_raw_buffer_store_b32(v, BUFFER(mine, 64), (s32)at, 0, 0);
}
#endif
// Sizes and offsets on the boundaries that make an access whole or nothing.
FN u32 buffer_word(const u32* words, u32 bytes, u32 at) { return x_buffer(words, bytes & ~3u, at & 0x1ffcu); }
FN u32 buffer_far(const u32* words, u32 at) { return x_buffer(words, 4096, at & ~3u); }
FN u32 buffer_quad(const u32* words, u32 at) { return x_buffer_quad(words, 2048, at & 0xff0u); }
FN u32 buffer_byte(const u32* words, u32 bytes, u32 at) { return x_buffer_byte(words, bytes, at & 0x1fff); }

// ---- between lanes: index, source, old, argument -> result ----------------------------------------------------------
#ifdef KILN_HOST
// All threads of a work group at once. `on`: the lane is active.
#define STEP(name) FN void lanes_##name(u32 threads, const u8* on, const u32* index, const u32* source, \
                                        const u32* old, u32 argument, u32* result)
#define EACH_LANE for (u32 t = 0; t < threads; ++t)
#define BASE (t & ~(u32)(KILN_WAVE - 1))
#define UNUSED (void)threads, (void)on, (void)index, (void)source, (void)old, (void)argument
// The value of lane `lane` of t's wave; `otherwise` where there is none.
FN u32 of_lane(u32 t, u32 lane, u32 threads, const u8* on, const u32* source, u32 otherwise) {
  const u32 at = BASE + lane;
  return lane < KILN_WAVE && at < threads && on[at] ? source[at] : otherwise;
}
STEP(bpermute) {
  UNUSED;
  EACH_LANE result[t] = of_lane(t, index[t] & (KILN_WAVE - 1), threads, on, source, 0);
}
STEP(permute) {
  UNUSED;
  EACH_LANE result[t] = 0;
  EACH_LANE {
    const u32 to = BASE + ((t * (argument | 1) + (argument >> 8)) & (KILN_WAVE - 1));
    if (on[t] && to < threads) result[to] = source[t];
  }
}
STEP(swizzle) {
  UNUSED;
  EACH_LANE {
    const u32 lane = t & (KILN_WAVE - 1), half = lane & 32;
    const u32 masked = ((lane & 31 & argument) | (argument >> 5 & 31)) ^ (argument >> 10 & 31);
    const u32 from = argument & 0x8000 ? (lane & ~3u) | (argument >> (2 * (lane & 3)) & 3) : half | masked;
    result[t] = of_lane(t, from, threads, on, source, 0);
  }
}
STEP(readlane) {
  UNUSED;
  EACH_LANE result[t] = source[BASE + argument];
}
// Of the lane that the first active one's index names.
STEP(readlane_any) {
  UNUSED;
  EACH_LANE result[t] = source[BASE + (index[BASE] & argument)];
}
// The upper half of one register with the lower half of another; the odd rows with the even rows. Bit 0: the second
// result.
STEP(permlane32_swap) {
  UNUSED;
  EACH_LANE {
    const u32 upper = t >> 5 & 1;
    result[t] = argument & 1 ? upper ? source[t] : old[t + 32] : upper ? source[t - 32] : old[t];
  }
}
STEP(permlane16_swap) {
  UNUSED;
  EACH_LANE {
    const u32 upper = t >> 4 & 1;
    result[t] = argument & 1 ? upper ? source[t] : old[t + 16] : upper ? source[t - 16] : old[t];
  }
}
// Of the same row of 16 lanes, and of the other row of the same 32; which lane: 16 times 4 bits, made of the argument.
#define SELECT_LOW(argument) ((u32)(argument) * 2654435761u)
#define SELECT_HIGH(argument) ((u32)(argument) * 0x85ebca6bu + 0x1234567u)
FN u32 selected(u32 t, u32 argument) {
  return (t & 8 ? SELECT_HIGH(argument) : SELECT_LOW(argument)) >> (4 * (t & 7)) & 15;
}
STEP(permlane16) {
  UNUSED;
  EACH_LANE result[t] = of_lane(t, (t & (KILN_WAVE - 1) & ~15u) | selected(t, argument), threads, on, source, old[t]);
}
STEP(permlanex16) {
  UNUSED;
  EACH_LANE {
    const u32 row = (t & (KILN_WAVE - 1) & ~15u) ^ 16;
    result[t] = of_lane(t, row | selected(t, argument), threads, on, source, old[t]);
  }
}
STEP(dpp8) {
  UNUSED;
  EACH_LANE {
    const u32 eight = t & (KILN_WAVE - 1) & ~7u;
    result[t] = of_lane(t, eight | (argument >> (3 * (t & 7)) & 7), threads, on, source, 0);
  }
}
// Matrix products of 16 rows and columns, k as many as the instruction has; a lane's four results folded into one.
// Layouts: AMD's ISA documents, "Matrix operands": lane l of A has row l % 16, of B column l % 16, of the result column
// l % 16 and rows l / 16 * 4 + 0..3; k goes on from byte to byte, then by 16 lanes. Sums are exact in any order.
FN u32 fold_four(const s32* d) { return (u32)d[0] ^ ((u32)d[1] * 3) ^ ((u32)d[2] * 5) ^ ((u32)d[3] * 7); }
typedef s32 (*element_of)(const u32* a, const u32* b, u32 lane, u32 byte);
FN u32 product_of(u32 t, u32 ks, const u32* a, const u32* b, u32 start, element_of left, element_of right) {
  const u32 base = BASE, lane = t & 63;
  s32 d[4];
  for (u32 r = 0; r < 4; ++r) {
    u32 sum = start + r;
    for (u32 k = 0; k < ks; ++k) {
      const u32 byte = k % (ks / 4), from = k / (ks / 4) * 16;
      sum += (u32)left(a + base, b + base, from + lane / 16 * 4 + r, byte) *
             (u32)right(b + base, a + base, from + lane % 16, byte);
    }
    d[r] = (s32)sum;
  }
  return fold_four(d);
}
// Byte 0 to 3 of the one word, 4 to 7 of the other.
static s32 signed_byte(const u32* a, const u32* b, u32 lane, u32 byte) {
  return (s8)((byte < 4 ? a[lane] : b[lane]) >> (8 * (byte & 3)));
}
static s32 first_byte(const u32* a, const u32* b, u32 lane, u32 byte) { return (void)b, (void)byte, (s8)a[lane]; }
STEP(matrix_i8) {
  UNUSED;
  EACH_LANE result[t] = product_of(t, KILN_FLOAT8 ? 32 : 16, source, index, argument, signed_byte, signed_byte);
}
STEP(matrix_f32) {
  UNUSED;
  EACH_LANE result[t] = product_of(t, 4, source, index, argument, first_byte, first_byte);
}
#if KILN_FLOAT8
// In 128ths: all that is used is a multiple; products and sums count 16384ths, below 2^24 of them.
static s32 float8_byte(const u32* a, const u32* b, u32 lane, u32 byte) {
  const u32 code = (u32)signed_byte(a, b, lane, byte);
  return (s32)(float8_value((code & 0x9f) | 0x20, 3) * 128.0f);
}
STEP(matrix_fp8) {
  UNUSED;
  EACH_LANE result[t] = product_of(t, 32, source, index, (argument & 255) * 16384, float8_byte, float8_byte);
}
#endif
STEP(readfirstlane) {
  UNUSED;
  EACH_LANE {
    u32 first = BASE;
    while (first < threads && !on[first]) ++first;
    result[t] = first < threads ? source[first] : 0;
  }
}
// Of the lanes whose source is odd: the mask's dword `argument`, and how many are below.
FN u64 odd_lanes(u32 t, u32 threads, const u8* on, const u32* source) {
  u64 mask = 0;
  for (u32 lane = 0; lane < KILN_WAVE && BASE + lane < threads; ++lane)
    if (on[BASE + lane] && source[BASE + lane] & 1) mask |= (u64)1 << lane;
  return mask;
}
STEP(ballot) {
  UNUSED;
  EACH_LANE result[t] = (u32)(odd_lanes(t, threads, on, source) >> (32 * argument));
}
STEP(count_below) {
  UNUSED;
  EACH_LANE {
    const u64 below = ((u64)1 << (t & (KILN_WAVE - 1))) - 1;
    result[t] = (u32)__builtin_popcountll(odd_lanes(t, threads, on, source) & below) + argument;
  }
}
// argument: control, row mask << 16, bank mask << 20, bound control << 24. A lane without a source keeps the old value,
// or with bound control takes 0; one that the masks leave out keeps it in any case.
FN u32 dpp_source(u32 lane, u32 control) {
  const u32 row = lane & ~15u, n = control & 15, i = lane & 15;
  if (control <= 0xff) return (lane & ~3u) | (control >> (2 * (lane & 3)) & 3);
  if (control < 0x110) return i + n < 16 ? lane + n : 999;
  if (control < 0x120) return i >= n ? lane - n : 999;
  if (control < 0x130) return row | ((i - n) & 15);
  if (control == 0x130) return lane + 1 < KILN_WAVE ? lane + 1 : 999;
  if (control == 0x134) return (lane + 1) & (KILN_WAVE - 1);
  if (control == 0x138) return lane >= 1 ? lane - 1 : 999;
  if (control == 0x13c) return (lane - 1) & (KILN_WAVE - 1);
  if (control == 0x140) return row | (15 - i);
  if (control == 0x141) return (lane & ~7u) | (7 - (lane & 7));
  if (control == 0x142) return lane >= 16 ? row - 1 : 999;
  if (control == 0x143) return lane >= 32 ? 31 : 999;
  if (control < 0x160) return row | n;
  return row | (i ^ n);
}
STEP(dpp) {
  UNUSED;
  EACH_LANE {
    const u32 lane = t & (KILN_WAVE - 1);
    const u32 written = (argument >> 16 >> (lane >> 4 & 3)) & (argument >> 20 >> (lane >> 2 & 3)) & 1;
    const u32 otherwise = argument >> 24 & 1 ? 0 : old[t];
    result[t] = written ? of_lane(t, dpp_source(lane, argument & 0xffff), threads, on, source, otherwise) : old[t];
  }
}
#else
#define LANE() __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0))
// The compiler takes a value that all active lanes share for what any lane gives: kept from seeing that.
FN u32 of_each_lane(u32 a) {
  __asm__("" : "+v"(a));
  return a;
}
#define lanes_bpermute(index, source, old, argument) \
  (u32)__builtin_amdgcn_ds_bpermute((s32)(((index) & (KILN_WAVE - 1)) << 2), (s32)of_each_lane(source))
#define lanes_permute(index, source, old, argument) \
  (u32)__builtin_amdgcn_ds_permute(                 \
      (s32)(((LANE() * ((argument) | 1) + ((argument) >> 8)) & (KILN_WAVE - 1)) << 2), (s32)(source))
#define lanes_swizzle(index, source, old, argument) (u32)__builtin_amdgcn_ds_swizzle((s32)(source), argument)
#define lanes_readlane(index, source, old, argument) (u32)__builtin_amdgcn_readlane((s32)(source), argument)
#define lanes_readlane_any(index, source, old, argument) \
  (u32)__builtin_amdgcn_readlane((s32)(source), (s32)((u32)__builtin_amdgcn_readfirstlane((s32)(index)) & (argument)))
#define lanes_permlane32_swap(index, source, old, argument) \
  __builtin_amdgcn_permlane32_swap(old, source, 0, 0)[(argument) & 1]
#define lanes_permlane16_swap(index, source, old, argument) \
  __builtin_amdgcn_permlane16_swap(old, source, 0, 0)[(argument) & 1]
#define SELECT_LOW(argument) ((u32)(argument) * 2654435761u)
#define SELECT_HIGH(argument) ((u32)(argument) * 0x85ebca6bu + 0x1234567u)
#define lanes_permlane16(index, source, old, argument) \
  __builtin_amdgcn_permlane16(old, source, SELECT_LOW(argument), SELECT_HIGH(argument), 0, 0)
#define lanes_permlanex16(index, source, old, argument) \
  __builtin_amdgcn_permlanex16(old, source, SELECT_LOW(argument), SELECT_HIGH(argument), 0, 0)
// Where only a branch uses the result, LLVM 21 and 22 move the instruction there, to fewer lanes: the pass machine-sink
// takes v_mov_b32 with dpp8 for any other (llvm-project, pull request 183334). A statement that uses it holds it.
FN u32 held(u32 a) {
  __asm__ volatile("" : "+v"(a));
  return a;
}
#define lanes_dpp8(index, source, old, argument) held(__builtin_amdgcn_mov_dpp8(source, argument))
#if KILN_GFX == 9
typedef s32 four __attribute__((ext_vector_type(4)));
typedef f32 four_f32 __attribute__((ext_vector_type(4)));
FN u32 fold_four(four d) { return (u32)d[0] ^ ((u32)d[1] * 3) ^ ((u32)d[2] * 5) ^ ((u32)d[3] * 7); }
FN u32 matrix_i8(u32 a, u32 b, u32 start) {
  const four c = {(s32)start, (s32)start + 1, (s32)start + 2, (s32)start + 3};
#if KILN_FLOAT8
  return fold_four(__builtin_amdgcn_mfma_i32_16x16x32_i8((s64)(a | (u64)b << 32), (s64)(b | (u64)a << 32), c, 0, 0, 0));
#else
  return fold_four(__builtin_amdgcn_mfma_i32_16x16x16i8((s32)a, (s32)b, c, 0, 0, 0));
#endif
}
FN u32 fold_real(four_f32 d, f32 unit) {
  const four whole = {(s32)(d[0] * unit), (s32)(d[1] * unit), (s32)(d[2] * unit), (s32)(d[3] * unit)};
  return fold_four(whole);
}
FN u32 matrix_f32(u32 a, u32 b, u32 start) {
  const four_f32 c = {(f32)start, (f32)start + 1, (f32)start + 2, (f32)start + 3};
  return fold_real(__builtin_amdgcn_mfma_f32_16x16x4f32((f32)(s8)a, (f32)(s8)b, c, 0, 0, 0), 1.0f);
}
#define lanes_matrix_i8(index, source, old, argument) matrix_i8(source, index, argument)
#define lanes_matrix_f32(index, source, old, argument) matrix_f32(source, index, argument)
#if KILN_FLOAT8
FN u32 matrix_fp8(u32 a, u32 b, u32 start) {
  const f32 least = 1.0f / 16384, first = (f32)(start & 255);
  const four_f32 c = {first, first + least, first + 2 * least, first + 3 * least};
  a = (a & 0x9f9f9f9f) | 0x20202020, b = (b & 0x9f9f9f9f) | 0x20202020;
  const u64 left = a | (u64)b << 32, right = b | (u64)a << 32;
  return fold_real(__builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8((s64)left, (s64)right, c, 0, 0, 0), 16384.0f);
}
#define lanes_matrix_fp8(index, source, old, argument) matrix_fp8(source, index, argument)
#endif
#endif
#define lanes_readfirstlane(index, source, old, argument) (u32)__builtin_amdgcn_readfirstlane((s32)(source))
#if KILN_WAVE == 64
#define ODD(source) __builtin_amdgcn_ballot_w64(((source) & 1) != 0)
#else
#define ODD(source) (u64)__builtin_amdgcn_ballot_w32(((source) & 1) != 0)
#endif
#define lanes_ballot(index, source, old, argument) (u32)(ODD(source) >> (32 * (argument)))
FN u32 count_below(u64 mask, u32 more) {
  const u32 low = __builtin_amdgcn_mbcnt_lo((u32)mask, more);
  return KILN_WAVE == 64 ? __builtin_amdgcn_mbcnt_hi((u32)(mask >> 32), low) : low;
}
#define lanes_count_below(index, source, old, argument) count_below(ODD(source), argument)
#define lanes_dpp(index, source, old, argument)                                                                     \
  (u32)__builtin_amdgcn_update_dpp((s32)(old), (s32)(source), (argument) & 0xffff, (argument) >> 16 & 15,           \
                                   (argument) >> 20 & 15, (argument) >> 24 & 1)
FN void barrier(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
#endif
