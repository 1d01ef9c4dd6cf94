// Conversions with floats of 8 bits and less (v_cvt_*_fp8*, v_cvt_scalef32_*), and stochastic rounding.
//
// A scale is the exponent of a f32 operand: conversions from small formats multiply by 2^(exponent - 127), those to
// them divide, exactly, before the one rounding. An exponent of 255 is a NaN. Results of f16 and bf16 round to nearest
// even.
#include <bit>

#include "engine/emulator/core/float_small.hpp"
#include "engine/emulator/core/vector_loops.hpp"

namespace kiln::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
constexpr Type F = Type::f32, U = Type::u32, W = Type::pkf32, N = Type::none;

// The wide side of a conversion.
enum class Wide : u32 { f32, f16, bf16 };
// A row's parameter.
struct Shape {
  Small small;
  Wide wide;
  int count;            // values
  bool stochastic;      // src[1] is the random number, stepped by v_prng_b32 from value to value
  bool scaled;          // the last source is the scale
  bool two_sources;     // values come from src[0] and src[1] in turns
};
constexpr u32 pack(Shape s) {
  return static_cast<u32>(s.small) | static_cast<u32>(s.wide) << 4 | static_cast<u32>(s.count) << 8 |
         static_cast<u32>(s.stochastic) << 16 | static_cast<u32>(s.scaled) << 17 |
         static_cast<u32>(s.two_sources) << 18;
}
Shape unpack(u32 p) {
  return {static_cast<Small>(p & 15), static_cast<Wide>(p >> 4 & 15), static_cast<int>(p >> 8 & 255),
          (p >> 16 & 1) != 0, (p >> 17 & 1) != 0, (p >> 18 & 1) != 0};
}

Small as_small(Wide wide) { return wide == Wide::bf16 ? Small::bf16 : Small::f16; }

// Element `index` of `width` bits, from consecutive registers, in the low bits of `out`.
void extract(const u32* registers, int index, int width, u32* out) {
  const int at = index * width, shift = at & 31;
  const u32* low = registers + at / 32 * lanes;
  const bool crosses = shift + width > 32;
  const u32 mask = width == 32 ? ~0u : (1u << width) - 1;
  for (int i = 0; i < lanes; ++i) {
    const u64 both = low[i] | (crosses ? u64{low[i + lanes]} << 32 : 0);
    out[i] = static_cast<u32>(both >> shift) & mask;
  }
}
void insert(u32* registers, int index, int width, const u32* value) {
  const int at = index * width, shift = at & 31;
  u32* low = registers + at / 32 * lanes;
  for (int i = 0; i < lanes; ++i) low[i] |= value[i] << shift;
  if (shift + width <= 32) return;
  for (int i = 0; i < lanes; ++i) low[i + lanes] |= value[i] >> (32 - shift);
}

// values *= 2^(direction * (exponent - 127)). Finite values stay finite, so that overflow is told from infinity.
void scale_values(float* values, const u32* scale, int direction) {
  for (int i = 0; i < lanes; ++i) {
    const int exponent = static_cast<int>(scale[i] >> 23 & 255);
    const double factor = std::bit_cast<double>(static_cast<u64>(1023 + direction * (exponent - 127)) << 52);
    const double scaled = static_cast<double>(values[i]) * factor;
    const bool over = __builtin_fabs(scaled) > __FLT_MAX__ && __builtin_fabs(scaled) <= __DBL_MAX__;
    const double bounded = over && direction < 0 ? __builtin_copysign(__FLT_MAX__, scaled) : scaled;
    values[i] = exponent == 255 ? __builtin_nanf("") : static_cast<float>(bounded);
  }
}

// Value `k` of a conversion to a small format, as f32.
void wide_value(ModifiedSources& sources, const Shape& shape, int k, float* out) {
  const Wave& wave = sources.wave;
  const Instruction& in = sources.instruction;
  alignas(64) RowScratch scratch;
  alignas(64) u32 bits[lanes];
  const int source = shape.two_sources ? k & 1 : 0, at = shape.two_sources ? k / 2 : k;
  if (shape.wide == Wide::f32) {
    // Only single registers have signs.
    const u32* value = shape.count <= 2 && at == 0 ? fetch(sources, source, F, scratch)
                                                   : wave.vector[in.src[source].index + at];
    for (int i = 0; i < lanes; ++i) out[i] = std::bit_cast<float>(value[i]);
    return;
  }
  if (shape.count == 1) {
    const u32* value = fetch(sources, 0, shape.wide == Wide::bf16 ? Type::bf16 : Type::f16, scratch);
    return decode_small(as_small(shape.wide), value, out);
  }
  const u32* registers = shape.count == 2 ? fetch_plain(wave, in.src[0], 1, scratch) : wave.vector[in.src[0].index];
  extract(registers, at, 16, bits);
  decode_small(as_small(shape.wide), bits, out);
}

// Stores `rows` registers, or the part of one that op_sel chooses.
void store(Wave& wave, const Instruction& in, u32* out, int bits) {
  u32* destination = wave.vector[in.dst.index];
  if (bits < 32) {
    const int at = bits == 16 ? (in.op_sel >> 3 & 1) * 16 : (in.op_sel >> 2 & 3) * 8;
    const u32 part = ((1u << bits) - 1) << at;
    for (int i = 0; i < lanes; ++i) out[i] = (out[i] << at & part) | (destination[i] & ~part);
  }
  for (int i = 0; i * 32 < bits; ++i) merge_row(destination + i * lanes, out + i * lanes, wave.exec());
}

void narrow(Wave& wave, const Instruction& in) {
  const VectorRow& row = *static_cast<const VectorRow*>(in.operation);
  const Shape shape = unpack(row.parameter);
  alignas(64) RowScratch scale_row, random_row;
  alignas(64) u32 random[lanes], codes[lanes], out[6 * lanes] = {};
  alignas(64) float values[lanes];
  const u32* scale = nullptr;
  if (shape.scaled) scale = fetch_plain(wave, in.src[shape.stochastic || shape.two_sources ? 2 : 1], 1, scale_row);
  if (shape.stochastic) {
    const u32* seed = fetch_plain(wave, in.src[1], 1, random_row);
    for (int i = 0; i < lanes; ++i) random[i] = seed[i];
  }
  const bool finite = (wave.mode & mode_bit::half_overflow) != 0;
  ModifiedSources sources{wave, in, row, wave.exec()};
  for (int k = 0; k < shape.count; ++k) {
    wide_value(sources, shape, k, values);
    if (shape.scaled) scale_values(values, scale, -1);
    encode_small(shape.small, values, shape.stochastic ? random : nullptr, finite, codes);
    insert(out, k, width_of(shape.small), codes);
    for (int i = 0; i < lanes && shape.stochastic; ++i) random[i] = random[i] << 1 ^ (random[i] >> 31 != 0 ? 197u : 0u);
  }
  store(wave, in, out, shape.count * width_of(shape.small));
}

void widen(Wave& wave, const Instruction& in) {
  const VectorRow& row = *static_cast<const VectorRow*>(in.operation);
  const Shape shape = unpack(row.parameter);
  const int width = width_of(shape.small), bits = width * shape.count;
  alignas(64) RowScratch source_row, scale_row;
  alignas(64) u32 codes[lanes], out[32 * lanes];
  alignas(64) float values[lanes];
  const u32* registers = bits <= 32 ? fetch_plain(wave, in.src[0], 1, source_row) : wave.vector[in.src[0].index];
  const u32* scale = fetch_plain(wave, in.src[1], 1, scale_row);
  const int part = bits == 16 ? in.op_sel & 1 : bits == 8 ? in.op_sel & 3 : 0;
  const bool finite = (wave.mode & mode_bit::half_overflow) != 0;
  const int wide_bits = shape.wide == Wide::f32 ? 32 : 16;
  for (int i = 0; i < (shape.count * wide_bits + 31) / 32 * lanes; ++i) out[i] = 0;
  for (int k = 0; k < shape.count; ++k) {
    extract(registers, part * shape.count + k, width, codes);
    decode_small(shape.small, codes, values);
    scale_values(values, scale, 1);
    if (shape.wide == Wide::f32) {
      for (int i = 0; i < lanes; ++i) codes[i] = std::bit_cast<u32>(values[i]);
    } else {
      encode_small(as_small(shape.wide), values, nullptr, finite, codes);
    }
    insert(out, k, wide_bits, codes);
  }
  store(wave, in, out, shape.count * wide_bits);
}

template <Small format>
void decode_one(Lanes& l) {
  alignas(64) float values[lanes];
  decode_small(format, l.a, values);
  for (int i = 0; i < lanes; ++i) l.d[i] = std::bit_cast<u32>(values[i]);
}
template <Small format>
void decode_two(Lanes& l) {
  alignas(64) u32 upper[lanes];
  alignas(64) float low[lanes], high[lanes];
  for (int i = 0; i < lanes; ++i) upper[i] = l.a[i] >> 8;
  decode_small(format, l.a, low);
  decode_small(format, upper, high);
  for (int i = 0; i < lanes; ++i) {
    l.d[i] = std::bit_cast<u32>(low[i]);
    l.d[i + lanes] = std::bit_cast<u32>(high[i]);
  }
}

constexpr VectorRow convert(std::string_view name, Execute execute, Shape shape, std::uint8_t families = on_gfx950) {
  return {name, nullptr, U, U, U, U, 0, families, execute, pack(shape)};
}
// To small formats: two values; one or more stochastically.
constexpr VectorRow two(std::string_view name, Small s, Wide w) {
  return convert(name, narrow, {s, w, 2, false, true, w == Wide::f32});
}
constexpr VectorRow random(std::string_view name, Small s, Wide w, int count) {
  return convert(name, narrow, {s, w, count, true, true, false});
}
constexpr VectorRow many(std::string_view name, Small s, Wide w) {
  return convert(name, narrow, {s, w, 32, false, true, w == Wide::f32});
}
// From small formats.
constexpr VectorRow from(std::string_view name, Small s, Wide w, int count) {
  return convert(name, widen, {s, w, count, false, true, false});
}

constexpr Wide f32 = Wide::f32, f16 = Wide::f16, bf16 = Wide::bf16;
constexpr VectorRow rows[] = {
    {"v_cvt_f32_fp8", decode_one<Small::fp8_fnuz>, F, U, N, N, 0, on_gfx942},
    {"v_cvt_f32_bf8", decode_one<Small::bf8_fnuz>, F, U, N, N, 0, on_gfx942},
    {"v_cvt_pk_f32_fp8", decode_two<Small::fp8_fnuz>, W, U, N, N, 0, on_gfx942},
    {"v_cvt_pk_f32_bf8", decode_two<Small::bf8_fnuz>, W, U, N, N, 0, on_gfx942},
    {"v_cvt_f32_fp8", decode_one<Small::fp8>, F, U, N, N, 0, on_gfx950},
    {"v_cvt_f32_bf8", decode_one<Small::bf8>, F, U, N, N, 0, on_gfx950},
    {"v_cvt_pk_f32_fp8", decode_two<Small::fp8>, W, U, N, N, 0, on_gfx950},
    {"v_cvt_pk_f32_bf8", decode_two<Small::bf8>, W, U, N, N, 0, on_gfx950},
    convert("v_cvt_pk_fp8_f32", narrow, {Small::fp8_fnuz, f32, 2, false, false, true}, on_gfx942),
    convert("v_cvt_pk_bf8_f32", narrow, {Small::bf8_fnuz, f32, 2, false, false, true}, on_gfx942),
    convert("v_cvt_sr_fp8_f32", narrow, {Small::fp8_fnuz, f32, 1, true, false, false}, on_gfx942),
    convert("v_cvt_sr_bf8_f32", narrow, {Small::bf8_fnuz, f32, 1, true, false, false}, on_gfx942),
    convert("v_cvt_pk_fp8_f32", narrow, {Small::fp8, f32, 2, false, false, true}),
    convert("v_cvt_pk_bf8_f32", narrow, {Small::bf8, f32, 2, false, false, true}),
    convert("v_cvt_sr_fp8_f32", narrow, {Small::fp8, f32, 1, true, false, false}),
    convert("v_cvt_sr_bf8_f32", narrow, {Small::bf8, f32, 1, true, false, false}),
    convert("v_cvt_sr_f16_f32", narrow, {Small::f16, f32, 1, true, false, false}),
    convert("v_cvt_sr_bf16_f32", narrow, {Small::bf16, f32, 1, true, false, false}),
    two("v_cvt_scalef32_pk_fp8_f32", Small::fp8, f32),
    two("v_cvt_scalef32_pk_bf8_f32", Small::bf8, f32),
    two("v_cvt_scalef32_pk_fp4_f32", Small::fp4, f32),
    two("v_cvt_scalef32_pk_fp8_f16", Small::fp8, f16),
    two("v_cvt_scalef32_pk_bf8_f16", Small::bf8, f16),
    two("v_cvt_scalef32_pk_fp4_f16", Small::fp4, f16),
    two("v_cvt_scalef32_pk_fp8_bf16", Small::fp8, bf16),
    two("v_cvt_scalef32_pk_bf8_bf16", Small::bf8, bf16),
    two("v_cvt_scalef32_pk_fp4_bf16", Small::fp4, bf16),
    random("v_cvt_scalef32_sr_fp8_f32", Small::fp8, f32, 1),
    random("v_cvt_scalef32_sr_bf8_f32", Small::bf8, f32, 1),
    random("v_cvt_scalef32_sr_fp8_f16", Small::fp8, f16, 1),
    random("v_cvt_scalef32_sr_bf8_f16", Small::bf8, f16, 1),
    random("v_cvt_scalef32_sr_fp8_bf16", Small::fp8, bf16, 1),
    random("v_cvt_scalef32_sr_bf8_bf16", Small::bf8, bf16, 1),
    random("v_cvt_scalef32_sr_pk_fp4_f32", Small::fp4, f32, 2),
    random("v_cvt_scalef32_sr_pk_fp4_f16", Small::fp4, f16, 2),
    random("v_cvt_scalef32_sr_pk_fp4_bf16", Small::fp4, bf16, 2),
    many("v_cvt_scalef32_2xpk16_fp6_f32", Small::fp6, f32),
    many("v_cvt_scalef32_2xpk16_bf6_f32", Small::bf6, f32),
    many("v_cvt_scalef32_pk32_fp6_f16", Small::fp6, f16),
    many("v_cvt_scalef32_pk32_bf6_f16", Small::bf6, f16),
    many("v_cvt_scalef32_pk32_fp6_bf16", Small::fp6, bf16),
    many("v_cvt_scalef32_pk32_bf6_bf16", Small::bf6, bf16),
    random("v_cvt_scalef32_sr_pk32_fp6_f32", Small::fp6, f32, 32),
    random("v_cvt_scalef32_sr_pk32_bf6_f32", Small::bf6, f32, 32),
    random("v_cvt_scalef32_sr_pk32_fp6_f16", Small::fp6, f16, 32),
    random("v_cvt_scalef32_sr_pk32_bf6_f16", Small::bf6, f16, 32),
    random("v_cvt_scalef32_sr_pk32_fp6_bf16", Small::fp6, bf16, 32),
    random("v_cvt_scalef32_sr_pk32_bf6_bf16", Small::bf6, bf16, 32),
    from("v_cvt_scalef32_f32_fp8", Small::fp8, f32, 1),
    from("v_cvt_scalef32_f32_bf8", Small::bf8, f32, 1),
    from("v_cvt_scalef32_f16_fp8", Small::fp8, f16, 1),
    from("v_cvt_scalef32_f16_bf8", Small::bf8, f16, 1),
    from("v_cvt_scalef32_pk_f32_fp8", Small::fp8, f32, 2),
    from("v_cvt_scalef32_pk_f32_bf8", Small::bf8, f32, 2),
    from("v_cvt_scalef32_pk_f32_fp4", Small::fp4, f32, 2),
    from("v_cvt_scalef32_pk_f16_fp8", Small::fp8, f16, 2),
    from("v_cvt_scalef32_pk_f16_bf8", Small::bf8, f16, 2),
    from("v_cvt_scalef32_pk_f16_fp4", Small::fp4, f16, 2),
    from("v_cvt_scalef32_pk_bf16_fp8", Small::fp8, bf16, 2),
    from("v_cvt_scalef32_pk_bf16_bf8", Small::bf8, bf16, 2),
    from("v_cvt_scalef32_pk_bf16_fp4", Small::fp4, bf16, 2),
    from("v_cvt_scalef32_pk32_f32_fp6", Small::fp6, f32, 32),
    from("v_cvt_scalef32_pk32_f32_bf6", Small::bf6, f32, 32),
    from("v_cvt_scalef32_pk32_f16_fp6", Small::fp6, f16, 32),
    from("v_cvt_scalef32_pk32_f16_bf6", Small::bf6, f16, 32),
    from("v_cvt_scalef32_pk32_bf16_fp6", Small::fp6, bf16, 32),
    from("v_cvt_scalef32_pk32_bf16_bf6", Small::bf6, bf16, 32),
};
constexpr SortedRows sorted(rows);

}  // namespace

const VectorTable vector_small_table = sorted.table();

}  // namespace kiln::emulator
