// What matrix.cpp, which names the matrix instructions, and matrix_execute.cpp, which executes them, share.
#pragma once

#include "engine/emulator/core/matrix.hpp"

namespace kiln::emulator {

enum class MatrixKind : std::uint8_t { f32, i32, f64, mixed, scaled, sparse_f32, sparse_i32 };

// One instruction of the targets in `families`; what Instruction::operation points to.
struct MatrixOperation {
  const char* name;
  std::uint8_t families;
  MatrixKind kind;
  MatrixInput a, b;
  // f8f6f4 (mixed, scaled): a_layout is of formats in four or six registers, b_layout of those in eight.
  const MatrixLayout* a_layout;
  const MatrixLayout* b_layout;
  bool flush;  // denormals are zeros
};

// What one execution needs to know: from the operation and, for f8f6f4, the instruction's formats.
struct MatrixOperands {
  MatrixInput a, b;
  const MatrixLayout* a_layout;
  const MatrixLayout* b_layout;
  int a_registers, b_registers, d_registers;
};
MatrixOperands operands_of(const MatrixOperation& operation, const Instruction& instruction);

inline bool is_sparse(MatrixKind kind) { return kind == MatrixKind::sparse_f32 || kind == MatrixKind::sparse_i32; }

Execute matrix_execute(MatrixKind kind);

// v_accvgpr_read, v_accvgpr_write: a move of active lanes between the two halves of the file.
void execute_accumulation_move(Wave& wave, const Instruction& instruction);

}  // namespace kiln::emulator
