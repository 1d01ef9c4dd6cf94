// RDNA3's matrix instructions (v_wmma_*) of a wave of 32 lanes: D = A B + C, all 16 x 16, K = 16.
//
// Lane l holds row l % 16 of A and column l % 16 of B, all of K in order: 16 elements in 8 registers (16 bits), 4 (8
// bits) or 2 (4 bits). Lanes 16..31 repeat lanes 0..15; the lower half is what counts here. D and C: register r of lane
// l is row 2 r + l / 16 of column l % 16. Of 16 bits they stand in one half of the register, which OP_SEL says; the
// other half stays. EXEC does not matter.
// Source: "RDNA3 Instruction Set Architecture", "Wave Matrix Multiply Accumulate", and AMD's matrix instruction
// calculator.
//
// Numerics, as MFMA's (core/matrix.hpp): each element is C, then one fused multiply-add in f32 after the other in order
// of k, to nearest even with denormals kept; results of 16 bits are rounded once, at the end. Integers are exact and
// wrap, or saturate with CLAMP. NEG: the signs of the elements in the low and (NEG_HI) the high halves of A and B; of C
// its sign and (NEG_HI) its absolute value; for integers whether A and B have signs.
#include <immintrin.h>

#include <bit>
#include <cstring>

#include "engine/emulator/core/float_half.hpp"
#include "engine/emulator/core/matrix.hpp"
#include "engine/emulator/core/rounding.hpp"

namespace kiln::emulator {
namespace {

using u32 = std::uint32_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

constexpr int size = 16, results = 8, wave_lanes = 32;

enum class Input : std::uint8_t { f16, bf16, i8, i4 };
enum class Result : std::uint8_t { f32, f16, bf16, i32 };
struct Operation {
  std::string_view name;
  Input input;
  Result result;
};
constexpr Operation operations[] = {
    {"v_wmma_f32_16x16x16_f16", Input::f16, Result::f32},   {"v_wmma_f32_16x16x16_bf16", Input::bf16, Result::f32},
    {"v_wmma_f16_16x16x16_f16", Input::f16, Result::f16},   {"v_wmma_bf16_16x16x16_bf16", Input::bf16, Result::bf16},
    {"v_wmma_i32_16x16x16_iu8", Input::i8, Result::i32},    {"v_wmma_i32_16x16x16_iu4", Input::i4, Result::i32},
};

int registers_of(Input input) { return input == Input::i8 ? 4 : input == Input::i4 ? 2 : 8; }
const Operation& operation_of(const Instruction& in) { return *static_cast<const Operation*>(in.operation); }

// Element k of lane l, as [k][l].
using Factors = float[size][lanes];
using Integers = i32[size][size];

u32 bf16_of(float value) {
  const u32 bits = std::bit_cast<u32>(value);
  if (value != value) return bits >> 16 | 0x40u;
  return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}

// The half of C's or D's registers that results of 16 bits stand in.
u32 half_shift(const Instruction& in) { return (in.op_sel & 4) != 0 ? 16 : 0; }

void change_signs(const Instruction& in, int source, Factors& factors) {
  for (int k = 0; k < size; ++k) {
    if (((k % 2 == 0 ? in.neg : in.neg_hi) >> source & 1) == 0) continue;
    for (int lane = 0; lane < size; ++lane) factors[k][lane] = -factors[k][lane];
  }
}

void read_addend(const Wave& wave, const Instruction& in, Result result, float (&c)[size][size]) {
  const Source& source = in.src[2];
  const bool negates = (in.neg & 4) != 0, absolute = (in.neg_hi & 4) != 0;
  for (int row = 0; row < size; ++row) {
    for (int column = 0; column < size; ++column) {
      u32 bits = static_cast<u32>(source.value);
      if (source.kind == Source::Kind::vector) {
        bits = wave.vector[source.index + row / 2][row % 2 * size + column];
        if (result != Result::f32) bits = bits >> half_shift(in) & 0xffffu;
      }
      float value = std::bit_cast<float>(bits);
      if (result == Result::f16) value = half_value(bits & 0xffffu);
      if (result == Result::bf16) value = std::bit_cast<float>(bits << 16);
      if (absolute) value = __builtin_fabsf(value);
      c[row][column] = negates ? -value : value;
    }
  }
}

void write_results(Wave& wave, const Instruction& in, Result result, const float (&d)[size][size]) {
  const u32 shift = half_shift(in);
  for (int row = 0; row < size; ++row) {
    u32* to = wave.vector[in.dst.index + row / 2] + row % 2 * size;
    if (result == Result::f32) {
      std::memcpy(to, d[row], sizeof d[row]);
      continue;
    }
    for (int column = 0; column < size; ++column) {
      const float value = d[row][column];
      const u32 bits = result == Result::bf16 ? bf16_of(value) : u32{_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT)};
      to[column] = (to[column] & ~(0xffffu << shift)) | bits << shift;
    }
  }
}

// 16 columns at once.
void multiply(const Factors& a, const Factors& b, float (&d)[size][size]) {
  for (int row = 0; row < size; ++row) {
#ifdef __AVX512F__
    __m512 sum = _mm512_loadu_ps(d[row]);
    for (int k = 0; k < size; ++k) sum = _mm512_fmadd_ps(_mm512_set1_ps(a[k][row]), _mm512_loadu_ps(b[k]), sum);
    _mm512_storeu_ps(d[row], sum);
#else
    __m256 low = _mm256_loadu_ps(d[row]), high = _mm256_loadu_ps(d[row] + 8);
    for (int k = 0; k < size; ++k) {
      const __m256 factor = _mm256_set1_ps(a[k][row]);
      low = _mm256_fmadd_ps(factor, _mm256_loadu_ps(b[k]), low);
      high = _mm256_fmadd_ps(factor, _mm256_loadu_ps(b[k] + 8), high);
    }
    _mm256_storeu_ps(d[row], low);
    _mm256_storeu_ps(d[row] + 8, high);
#endif
  }
}

void execute_floats(Wave& wave, const Instruction& in) {
  const Operation& operation = operation_of(in);
  const MatrixInput input = operation.input == Input::f16 ? MatrixInput::f16 : MatrixInput::bf16;
  alignas(64) MatrixPlanes planes[2];
  alignas(64) float d[size][size];
  const Rounding nearest(0);
  for (int source = 0; source < 2; ++source) {
    convert_matrix(input, wave.vector + in.src[source].index, size, false, planes[source]);
  }
  static_assert(sizeof(MatrixPlanes) >= sizeof(Factors));
  auto& a = reinterpret_cast<Factors&>(planes[0]);
  auto& b = reinterpret_cast<Factors&>(planes[1]);
  if (((in.neg | in.neg_hi) & 3) != 0) {
    change_signs(in, 0, a);
    change_signs(in, 1, b);
  }
  read_addend(wave, in, operation.result, d);
  multiply(a, b, d);
  write_results(wave, in, operation.result, d);
}

// values[lane][k].
void read_integers(const Wave& wave, const Source& source, Input input, bool sign, Integers& values) {
  const int bits = input == Input::i8 ? 8 : 4, in_register = 32 / bits;
  for (int lane = 0; lane < size; ++lane) {
    for (int k = 0; k < size; ++k) {
      const u32 word = wave.vector[source.index + k / in_register][lane];
      const u32 up = word << (32 - bits - bits * (k % in_register));
      values[lane][k] = sign ? static_cast<i32>(up) >> (32 - bits) : static_cast<i32>(up >> (32 - bits));
    }
  }
}

void execute_integers(Wave& wave, const Instruction& in) {
  const Operation& operation = operation_of(in);
  Integers a, b;
  i64 sums[size][size];
  read_integers(wave, in.src[0], operation.input, (in.neg & 1) != 0, a);
  read_integers(wave, in.src[1], operation.input, (in.neg & 2) != 0, b);
  const Source& c = in.src[2];
  for (int row = 0; row < size; ++row) {
    for (int column = 0; column < size; ++column) {
      const u32 addend = c.kind == Source::Kind::vector ? wave.vector[c.index + row / 2][row % 2 * size + column]
                                                        : static_cast<u32>(c.value);
      i32 sum = 0;
      for (int k = 0; k < size; ++k) sum += a[row][k] * b[column][k];
      sums[row][column] = i64{static_cast<i32>(addend)} + sum;
    }
  }
  for (int row = 0; row < size; ++row) {
    u32* to = wave.vector[in.dst.index + row / 2] + row % 2 * size;
    for (int column = 0; column < size; ++column) {
      i64 sum = sums[row][column];
      if (in.clamp) sum = sum < INT32_MIN ? INT32_MIN : sum > INT32_MAX ? INT32_MAX : sum;
      to[column] = static_cast<u32>(sum);
    }
  }
}

// What lies in the registers of a wave of 64 differs.
template <void (*execute)(Wave&, const Instruction&)>
void execute_narrow(Wave& wave, const Instruction& in) {
  if (wave.size != wave_lanes) return execute_not_covered(wave, in);
  execute(wave, in);
}

bool fits(const Source& source, int count) {
  return source.kind == Source::Kind::vector && source.index + count <= 256;
}

}  // namespace

bool bind_wmma(Instruction& in, Family family) {
  const std::string_view name = in.name;
  if (family != Family::gfx11 || !name.starts_with("v_wmma_")) return false;
  const Operation* operation = nullptr;
  for (const Operation& each : operations) {
    if (each.name == name) operation = &each;
  }
  if (!operation) return false;
  const bool integers = operation->result == Result::i32;
  if (in.clamp && !integers) return false;
  const int registers = registers_of(operation->input);
  if (!fits(in.src[0], registers) || !fits(in.src[1], registers) || !fits(in.dst, results)) return false;
  Source& c = in.src[2];
  if (c.kind == Source::Kind::constant) {
    constexpr Type types[] = {Type::f32, Type::f16, Type::bf16, Type::i32};
    c.value = constant_value(c, types[static_cast<int>(operation->result)]);
  } else if (!fits(c, results)) {
    return false;
  }
  in.operation = operation;
  in.execute = integers ? execute_narrow<execute_integers> : execute_narrow<execute_floats>;
  return true;
}

}  // namespace kiln::emulator
