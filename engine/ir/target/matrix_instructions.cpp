#include "engine/ir/target/matrix_instructions.hpp"

namespace kiln::target {
namespace {

// One row: mnemonic after "v_", clang builtin after "__builtin_amdgcn_" (clang/include/clang/Basic/BuiltinsAMDGPU),
// matrix-unit cycles (AMD matrix instruction calculator, 4 a pass; gfx950's from the design's target table).
struct Row {
  const char* name;
  const char* builtin;
  DType operand, result;
  int m, n, k, cycles;
};

constexpr Row gfx90a_rows[] = {
    {"mfma_f32_32x32x8f16", "mfma_f32_32x32x8f16", DType::f16, DType::f32, 32, 32, 8, 64},
    {"mfma_f32_16x16x16f16", "mfma_f32_16x16x16f16", DType::f16, DType::f32, 16, 16, 16, 32},
    {"mfma_f32_32x32x8bf16_1k", "mfma_f32_32x32x8bf16_1k", DType::bf16, DType::f32, 32, 32, 8, 64},
    {"mfma_f32_16x16x16bf16_1k", "mfma_f32_16x16x16bf16_1k", DType::bf16, DType::f32, 16, 16, 16, 32},
    {"mfma_i32_32x32x8i8", "mfma_i32_32x32x8i8", DType::i8, DType::i32, 32, 32, 8, 64},
    {"mfma_i32_16x16x16i8", "mfma_i32_16x16x16i8", DType::i8, DType::i32, 16, 16, 16, 32},
    {"mfma_f32_32x32x2f32", "mfma_f32_32x32x2f32", DType::f32, DType::f32, 32, 32, 2, 64},
    {"mfma_f32_16x16x4f32", "mfma_f32_16x16x4f32", DType::f32, DType::f32, 16, 16, 4, 32},
};
// gfx940 renamed the instructions; the builtins of the older ones kept their names.
constexpr Row gfx942_rows[] = {
    {"mfma_f32_32x32x8_f16", "mfma_f32_32x32x8f16", DType::f16, DType::f32, 32, 32, 8, 32},
    {"mfma_f32_16x16x16_f16", "mfma_f32_16x16x16f16", DType::f16, DType::f32, 16, 16, 16, 16},
    {"mfma_f32_32x32x8_bf16", "mfma_f32_32x32x8bf16_1k", DType::bf16, DType::f32, 32, 32, 8, 32},
    {"mfma_f32_16x16x16_bf16", "mfma_f32_16x16x16bf16_1k", DType::bf16, DType::f32, 16, 16, 16, 16},
    {"mfma_i32_32x32x16_i8", "mfma_i32_32x32x16_i8", DType::i8, DType::i32, 32, 32, 16, 32},
    {"mfma_i32_16x16x32_i8", "mfma_i32_16x16x32_i8", DType::i8, DType::i32, 16, 16, 32, 16},
    {"mfma_f32_32x32x2_f32", "mfma_f32_32x32x2f32", DType::f32, DType::f32, 32, 32, 2, 64},
    {"mfma_f32_16x16x4_f32", "mfma_f32_16x16x4f32", DType::f32, DType::f32, 16, 16, 4, 32},
};
// The same mnemonics mean other formats on gfx942 (FNUZ) and gfx950 (OCP).
constexpr Row fnuz_rows[] = {
    {"mfma_f32_32x32x16_fp8_fp8", "mfma_f32_32x32x16_fp8_fp8", DType::f8e4m3fnuz, DType::f32, 32, 32, 16, 32},
    {"mfma_f32_16x16x32_fp8_fp8", "mfma_f32_16x16x32_fp8_fp8", DType::f8e4m3fnuz, DType::f32, 16, 16, 32, 16},
    {"mfma_f32_32x32x16_bf8_bf8", "mfma_f32_32x32x16_bf8_bf8", DType::f8e5m2fnuz, DType::f32, 32, 32, 16, 32},
    {"mfma_f32_16x16x32_bf8_bf8", "mfma_f32_16x16x32_bf8_bf8", DType::f8e5m2fnuz, DType::f32, 16, 16, 32, 16},
};
constexpr Row ocp_rows[] = {
    {"mfma_f32_32x32x16_fp8_fp8", "mfma_f32_32x32x16_fp8_fp8", DType::f8e4m3fn, DType::f32, 32, 32, 16, 32},
    {"mfma_f32_16x16x32_fp8_fp8", "mfma_f32_16x16x32_fp8_fp8", DType::f8e4m3fn, DType::f32, 16, 16, 32, 16},
    {"mfma_f32_32x32x16_bf8_bf8", "mfma_f32_32x32x16_bf8_bf8", DType::f8e5m2, DType::f32, 32, 32, 16, 32},
    {"mfma_f32_16x16x32_bf8_bf8", "mfma_f32_16x16x32_bf8_bf8", DType::f8e5m2, DType::f32, 16, 16, 32, 16},
};
// What gfx950 has besides gfx942's.
constexpr Row gfx950_rows[] = {
    {"mfma_f32_32x32x16_f16", "mfma_f32_32x32x16_f16", DType::f16, DType::f32, 32, 32, 16, 32},
    {"mfma_f32_16x16x32_f16", "mfma_f32_16x16x32_f16", DType::f16, DType::f32, 16, 16, 32, 16},
    {"mfma_f32_32x32x16_bf16", "mfma_f32_32x32x16_bf16", DType::bf16, DType::f32, 32, 32, 16, 32},
    {"mfma_f32_16x16x32_bf16", "mfma_f32_16x16x32_bf16", DType::bf16, DType::f32, 16, 16, 32, 16},
    {"mfma_i32_32x32x32_i8", "mfma_i32_32x32x32_i8", DType::i8, DType::i32, 32, 32, 32, 32},
    {"mfma_i32_16x16x64_i8", "mfma_i32_16x16x64_i8", DType::i8, DType::i32, 16, 16, 64, 16},
};
constexpr Row rdna3_rows[] = {
    {"wmma_f32_16x16x16_f16", "wmma_f32_16x16x16_f16_w32", DType::f16, DType::f32, 16, 16, 16, 32},
    {"wmma_f32_16x16x16_bf16", "wmma_f32_16x16x16_bf16_w32", DType::bf16, DType::f32, 16, 16, 16, 32},
    {"wmma_i32_16x16x16_iu8", "wmma_i32_16x16x16_iu8_w32", DType::i8, DType::i32, 16, 16, 16, 32},
};

template <std::size_t N>
void append(std::vector<MatrixInstruction>& list, const Row (&rows)[N], Family family) {
  for (const Row& row : rows) {
    MatrixInstruction one;
    one.name = std::string("v_") + row.name;
    one.builtin = std::string("__builtin_amdgcn_") + row.builtin;
    one.operand = row.operand;
    one.result = row.result;
    one.m = row.m;
    one.n = row.n;
    one.k = row.k;
    one.cycles = row.cycles;
    one.family = family;
    // CDNA: 64 lanes share the operand; RDNA3: 16 lanes hold it and the other 16 repeat it.
    one.operand_elements = family == Family::cdna ? row.m * row.k / 64 : row.k;
    one.result_elements = row.m * row.n / (family == Family::cdna ? 64 : 32);
    list.push_back(std::move(one));
  }
}

}  // namespace

std::vector<MatrixInstruction> amd_matrix_instructions(std::string_view arch) {
  std::vector<MatrixInstruction> list;
  if (arch == "gfx90a") append(list, gfx90a_rows, Family::cdna);
  if (arch == "gfx950") append(list, gfx950_rows, Family::cdna);
  if (arch == "gfx942" || arch == "gfx950") append(list, gfx942_rows, Family::cdna);
  if (arch == "gfx942") append(list, fnuz_rows, Family::cdna);
  if (arch == "gfx950") append(list, ocp_rows, Family::cdna);
  if (arch == "gfx1100") append(list, rdna3_rows, Family::rdna);
  return list;
}

std::vector<MatrixInstruction> host_matrix_instructions(int vector_lanes, int vector_registers) {
  struct Types { DType operand, result; };
  constexpr Types types[] = {{DType::f32, DType::f32}, {DType::f16, DType::f32}, {DType::bf16, DType::f32},
                             {DType::i8, DType::i32}};
  // Two vectors of b and one broadcast of a beside the accumulators: 6 x 2 of 16 registers, 14 x 2 of 32.
  const int rows = (vector_registers - 4) / 2;
  std::vector<MatrixInstruction> list;
  for (const Types& type : types) {
    MatrixInstruction one;
    one.name = "host.fma";
    one.operand = type.operand;
    one.result = type.result;
    one.m = rows;
    one.n = 2 * vector_lanes;
    one.k = 1;
    one.operand_elements = 1;
    one.result_elements = 2 * rows;
    one.family = Family::host;
    list.push_back(std::move(one));
  }
  return list;
}

// Lane maps: AMD's CDNA3 and RDNA3 ISA documents, "Matrix Arithmetic Instructions" and "WMMA"; tests compare them with
// AMD's matrix instruction calculator.
int MatrixInstruction::operand_row(int lane) const {
  return family == Family::host ? lane : lane % m;
}

int MatrixInstruction::operand_k(int lane, int element) const {
  if (family != Family::cdna) return element;
  return operand_elements * (lane / m) + element;
}

int MatrixInstruction::result_row(int lane, int element) const {
  if (family == Family::host) return element;
  if (family == Family::rdna) return 2 * element + lane / 16;
  if (m == 32) return 8 * (element / 4) + 4 * (lane / 32) + element % 4;
  return 4 * (lane / 16) + element;
}

int MatrixInstruction::result_column(int lane, int) const {
  return family == Family::host ? lane : lane % n;
}

}  // namespace kiln::target
