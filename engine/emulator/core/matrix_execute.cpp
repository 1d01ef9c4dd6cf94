// How a matrix instruction is executed: operands converted, lanes exchanged, product, written.
#include <immintrin.h>

#include <cstring>

#include "engine/emulator/core/matrix_operation.hpp"

namespace kiln::emulator {
namespace {

const MatrixOperation& operation_of(const Instruction& instruction) {
  return *static_cast<const MatrixOperation*>(instruction.operation);
}

// The host rounds to nearest even while this lives; `flush`: denormals are zeros, read and written.
class NearestEven {
 public:
  NearestEven(const Wave& wave, bool flush) : changed_(flush || (wave.mode & 3) != 0) {
    if (!changed_) return;
    before_ = _mm_getcsr();
    _mm_setcsr((before_ & ~0xe040u) | (flush ? 0x8040u : 0u));
  }
  ~NearestEven() {
    if (changed_) _mm_setcsr(before_);
  }
  NearestEven(const NearestEven&) = delete;
  NearestEven& operator=(const NearestEven&) = delete;

 private:
  bool changed_;
  unsigned before_ = 0;
};

// C: the registers themselves; a copy where D overlaps them elsewhere than in place; or one row of a constant.
struct Accumulator {
  alignas(64) std::uint32_t copy[32][lanes];
  const MatrixRegister* rows;
  int stride = 1;

  Accumulator(const Wave& wave, const Source& source, int destination, int registers) {
    if (source.kind != Source::Kind::vector) {
      for (std::uint32_t& value : copy[0]) value = static_cast<std::uint32_t>(source.value);
      rows = copy;
      stride = 0;
      return;
    }
    const int distance = source.index - destination;
    rows = wave.vector + source.index;
    if (distance == 0 || distance >= registers || -distance >= registers) return;
    std::memcpy(copy, rows, sizeof(MatrixRegister) * registers);
    rows = copy;
  }
};

// A and B as f32, exchanges done.
struct Inputs {
  alignas(64) MatrixPlanes a, b;

  Inputs(const Wave& wave, const Instruction& instruction, const MatrixOperands& operands, bool flush, bool exchange) {
    convert_matrix(operands.a, wave.vector + instruction.src[0].index, operands.a_layout->elements, flush, a);
    convert_matrix(operands.b, wave.vector + instruction.src[1].index, operands.b_layout->elements, flush, b);
    if (!exchange) return;
    if (instruction.cbsz != 0) broadcast_blocks(a, *operands.a_layout, instruction.cbsz, instruction.abid);
    if (instruction.blgp != 0) permute_groups(b, operands.b_layout->elements, instruction.blgp);
  }
};

void execute_f32(Wave& wave, const Instruction& instruction) {
  const MatrixOperation& operation = operation_of(instruction);
  const MatrixOperands operands = operands_of(operation, instruction);
  const Inputs inputs(wave, instruction, operands, operation.flush, operation.kind == MatrixKind::f32);
  const int d = instruction.dst.index;
  const Accumulator c(wave, instruction.src[2], d, operands.d_registers);
  {
    const NearestEven rounding(wave, operation.flush);
    multiply_matrix({inputs.a, inputs.b, *operands.a_layout, *operands.b_layout, c.rows, wave.vector + d, c.stride, 0,
                     operands.a_layout->depth});
  }
}

constexpr MatrixRegister zeros = {};

// D = C + the sums that stand in `sums` as f32: exact, as at most 64 products of at most 2^14 are.
void add_integers(const MatrixRegister* sums, const Accumulator& c, MatrixRegister* d, int registers) {
  // 3 * 2^22 more, the integer is in the lowest bits: the loop stays one that the compiler makes vectors of.
  constexpr float shift = 12582912.0f;
  for (int reg = 0; reg < registers; ++reg) {
    alignas(64) std::uint32_t before[lanes], bits[lanes];
    alignas(64) float values[lanes];
    std::memcpy(before, c.rows[reg * c.stride], sizeof before);
    std::memcpy(values, sums[reg], sizeof values);
    for (float& value : values) value += shift;
    std::memcpy(bits, values, sizeof bits);
    for (int lane = 0; lane < lanes; ++lane) before[lane] += bits[lane] - 0x4b400000u;
    std::memcpy(d[reg], before, sizeof before);
  }
}

void execute_i32(Wave& wave, const Instruction& instruction) {
  const MatrixOperation& operation = operation_of(instruction);
  const MatrixOperands operands = operands_of(operation, instruction);
  const Inputs inputs(wave, instruction, operands, false, true);
  const int d = instruction.dst.index;
  const Accumulator c(wave, instruction.src[2], d, operands.d_registers);
  alignas(64) std::uint32_t bits[32][lanes];
  multiply_matrix({inputs.a, inputs.b, *operands.a_layout, *operands.b_layout, &zeros, bits, 0, 0,
                   operands.a_layout->depth});
  add_integers(bits, c, wave.vector + d, operands.d_registers);
}

// The two bits of each element of A. Several sets of them share a register; ABID says which, unless CBSZ is not 0.
void sparse_index(const Wave& wave, const Instruction& instruction, int elements, MatrixRegister& index) {
  const int sets = 16 / elements, set = instruction.cbsz == 0 ? instruction.abid % sets : 0;
  const std::uint32_t* from = wave.vector[instruction.src[2].index];
  for (int lane = 0; lane < lanes; ++lane) index[lane] = from[lane] >> (set * elements * 2);
}

void execute_sparse(Wave& wave, const Instruction& instruction) {
  const MatrixOperation& operation = operation_of(instruction);
  const MatrixOperands operands = operands_of(operation, instruction);
  const Inputs inputs(wave, instruction, operands, false, false);
  MatrixRegister index;
  sparse_index(wave, instruction, operands.a_layout->elements, index);
  const int d = instruction.dst.index;
  MatrixRegister* rows = wave.vector + d;
  if (operation.kind == MatrixKind::sparse_f32) {
    const NearestEven rounding(wave, false);
    multiply_sparse({inputs.a, inputs.b, *operands.a_layout, *operands.b_layout, rows, rows, 1, 0, 0}, index);
  } else {
    alignas(64) std::uint32_t bits[16][lanes];
    multiply_sparse({inputs.a, inputs.b, *operands.a_layout, *operands.b_layout, &zeros, bits, 0, 0, 0}, index);
    add_integers(bits, Accumulator(wave, instruction.dst, d, operands.d_registers), rows, operands.d_registers);
  }
}

// 2^(e - 127) of every lane for the selected byte of scale[which]; 255 is NaN (OCP microscaling formats, E8M0).
void read_scale(const Wave& wave, const Instruction& instruction, int which, double (&out)[lanes]) {
  const std::uint32_t* from = wave.vector[instruction.scale[which].index];
  const int byte = (instruction.op_sel >> which & 1) | (instruction.op_sel_hi >> which & 1) << 1;
  for (int lane = 0; lane < lanes; ++lane) {
    const std::uint64_t exponent = from[lane] >> (8 * byte) & 0xff;
    const std::uint64_t bits = exponent == 255 ? 0x7ff8000000000000u : (exponent + 896) << 52;
    std::memcpy(&out[lane], &bits, 8);
  }
}

// total += sums * the scale of the row * the scale of the column. Not inlined: the host's rounding is set around it.
__attribute__((noinline)) void add_scaled(const MatrixRegister* sums, const double* of_a, const double* of_b, int size,
                                          float (*total)[lanes], int registers) {
  for (int reg = 0; reg < registers; ++reg) {
    alignas(64) float values[lanes];
    std::memcpy(values, sums[reg], sizeof values);
    for (int lane = 0; lane < lanes; ++lane) {
      const double scale = of_a[reg / 4 * 8 + lane / size * 4 + reg % 4] * of_b[lane % size];
      total[reg][lane] = static_cast<float>(total[reg][lane] + values[lane] * scale);
    }
  }
}

// Each 32 k have a scale a row of A and one a column of B; lane l's byte is of row or column l % size and of the k from
// 32 * (l / size). The sum of 32 products is scaled, then added.
void execute_scaled(Wave& wave, const Instruction& instruction) {
  const MatrixOperation& operation = operation_of(instruction);
  const MatrixOperands operands = operands_of(operation, instruction);
  const Inputs inputs(wave, instruction, operands, false, false);
  double of_a[lanes], of_b[lanes];
  read_scale(wave, instruction, 0, of_a);
  read_scale(wave, instruction, 1, of_b);
  const int d = instruction.dst.index, size = operands.a_layout->size;
  const Accumulator c(wave, instruction.src[2], d, operands.d_registers);
  const NearestEven rounding(wave, false);
  alignas(64) float total[16][lanes];
  for (int reg = 0; reg < operands.d_registers; ++reg) {
    std::memcpy(total[reg], c.rows[reg * c.stride], sizeof total[reg]);
  }
  for (int group = 0; group < operands.a_layout->depth / 32; ++group) {
    alignas(64) std::uint32_t bits[16][lanes];
    multiply_matrix({inputs.a, inputs.b, *operands.a_layout, *operands.b_layout, &zeros, bits, 0, 32 * group,
                     32 * group + 32});
    add_scaled(bits, of_a + group * size, of_b + group * size, size, total, operands.d_registers);
  }
  std::memcpy(wave.vector + d, total, sizeof(MatrixRegister) * operands.d_registers);
}

void read_doubles(const MatrixRegister* pair, bool negate, double (&out)[lanes]) {
  for (int lane = 0; lane < lanes; ++lane) {
    std::uint64_t bits = pair[0][lane] | std::uint64_t{pair[1][lane]} << 32;
    if (negate) bits ^= std::uint64_t{1} << 63;
    std::memcpy(&out[lane], &bits, 8);
  }
}

// Sixteen columns of B a row; the rows of A's four blocks of 4 x 4 where D is one pair of registers. Not inlined: the
// host's rounding is set around it.
__attribute__((noinline)) void multiply_doubles(const double* a, const double* b, double (*sums)[lanes], int pairs) {
  for (int row = 0; row < pairs * 4; ++row) {
    double* sum = &sums[row / 4][row % 4 * 16];
    for (int k = 0; k < 4; ++k) {
      const double* of_row = a + k * 16 + (pairs == 1 ? row : 0);
      double values[16];
      for (int column = 0; column < 16; ++column) values[column] = pairs == 1 ? of_row[column / 4 * 4] : of_row[row];
      for (int column = 0; column < 16; ++column) {
        sum[column] = __builtin_fma(values[column], b[k * 16 + column], sum[column]);
      }
    }
  }
}

// Lane l holds row or column l % size, block l / size % blocks, k = l / 16. D: row l / 16 of each four, one pair of
// registers a four. BLGP's bits negate A, B and C.
void execute_f64(Wave& wave, const Instruction& instruction) {
  const MatrixOperation& operation = operation_of(instruction);
  const MatrixOperands operands = operands_of(operation, instruction);
  double a[lanes], b[lanes], sums[4][lanes];
  const Source& c = instruction.src[2];
  const int pairs = operands.d_registers / 2;
  read_doubles(wave.vector + instruction.src[0].index, instruction.blgp & 1, a);
  read_doubles(wave.vector + instruction.src[1].index, instruction.blgp & 2, b);
  for (int pair = 0; pair < pairs; ++pair) {
    if (c.kind == Source::Kind::vector) {
      read_doubles(wave.vector + c.index + pair * 2, instruction.blgp & 4, sums[pair]);
    } else {
      const std::uint64_t bits = c.value ^ (instruction.blgp & 4 ? std::uint64_t{1} << 63 : 0);
      for (double& sum : sums[pair]) std::memcpy(&sum, &bits, 8);
    }
  }
  const NearestEven rounding(wave, false);
  multiply_doubles(a, b, sums, pairs);
  for (int pair = 0; pair < pairs; ++pair) {
    MatrixRegister* d = wave.vector + instruction.dst.index + pair * 2;
    for (int lane = 0; lane < lanes; ++lane) {
      std::uint64_t bits;
      std::memcpy(&bits, &sums[pair][lane], 8);
      d[0][lane] = static_cast<std::uint32_t>(bits);
      d[1][lane] = static_cast<std::uint32_t>(bits >> 32);
    }
  }
}

// CBSZ and BLGP of f8f6f4.
constexpr MatrixInput mixed_inputs[] = {MatrixInput::fp8, MatrixInput::bf8, MatrixInput::fp6, MatrixInput::bf6,
                                        MatrixInput::fp4};

}  // namespace

MatrixOperands operands_of(const MatrixOperation& operation, const Instruction& instruction) {
  MatrixOperands operands = {operation.a, operation.b, operation.a_layout, operation.b_layout, 0, 0, 0};
  if (operation.kind == MatrixKind::mixed || operation.kind == MatrixKind::scaled) {
    operands.a = mixed_inputs[instruction.cbsz];
    operands.b = mixed_inputs[instruction.blgp];
    operands.a_layout = instruction.cbsz < 2 ? operation.b_layout : operation.a_layout;
    operands.b_layout = instruction.blgp < 2 ? operation.b_layout : operation.a_layout;
  }
  const int size = operands.a_layout->size, words = operation.kind == MatrixKind::f64 ? 2 : 1;
  operands.a_registers = matrix_registers(operands.a, operands.a_layout->elements);
  operands.b_registers = matrix_registers(operands.b, operands.b_layout->elements);
  operands.d_registers = size * size * operands.a_layout->blocks / lanes * words;
  return operands;
}

void execute_accumulation_move(Wave& wave, const Instruction& instruction) {
  const Source& source = instruction.src[0];
  const std::uint64_t active = wave.exec();
  std::uint32_t* to = wave.vector[instruction.dst.index];
  if (source.kind == Source::Kind::vector) {
    const std::uint32_t* from = wave.vector[source.index];
    for (int lane = 0; lane < lanes; ++lane) to[lane] = active >> lane & 1 ? from[lane] : to[lane];
  } else {
    const std::uint32_t value = read_scalar32(wave, source);
    for (int lane = 0; lane < lanes; ++lane) to[lane] = active >> lane & 1 ? value : to[lane];
  }
}

Execute matrix_execute(MatrixKind kind) {
  switch (kind) {
    case MatrixKind::i32: return execute_i32;
    case MatrixKind::f64: return execute_f64;
    case MatrixKind::scaled: return execute_scaled;
    case MatrixKind::sparse_f32:
    case MatrixKind::sparse_i32: return execute_sparse;
    default: return execute_f32;
  }
}

}  // namespace kiln::emulator
