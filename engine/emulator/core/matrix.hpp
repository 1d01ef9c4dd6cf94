// Matrix instructions (v_mfma_*, v_smfmac_*): where the elements of their operands lie, the steps of one product.
//
// A matrix of S rows (A) or S columns (B), K deep, in `blocks` independent blocks. Lane l holds row or column l % S of
// block (l / S) % blocks, and of it the group (l / S) / blocks of K. One group of consecutive k stands in a lane's
// registers in order; an operand of eight registers is two such operands, the second for the upper half of K.
// D and C of 32 bits: a lane holds column l % S. Rows go by fours: register r % 4, then the lanes' groups, then r / 4.
// Sources: AMD's matrix instruction calculator (CDNA2, CDNA3) and its article "Matrix Core Programming on AMD CDNA3 and
// CDNA4". Inferred by the same rule, as neither shows them: gfx950's deeper f16, bf16, i8 and sparse instructions, its
// 16x16x128, and that fp6 lies like fp4.
//
// Numerics. Products are exact; each element is C, then one fused multiply-add in f32 (f64) after the other in order of
// k, rounded to nearest even with denormals kept, whatever MODE says. Cards sum several products at once before they
// round, in an order that AMD does not publish, so their last bits may differ; NaN payloads may differ too.
// - gfx90a, f16 and bf16: denormals of A, B and C are zeros and D gets none (MIOpen, "MI200 MFMA behavior specifics").
// - i8 is exact and wraps: the encoding has no clamp bit.
// - xf32 rounds A and B to 10 bits of fraction, nearest even: inferred, AMD publishes no rule.
// - Block scales multiply the sum of 32 products, which is then added in f64 and rounded to f32.
#pragma once

#include <cstdint>

#include "engine/emulator/core/families.hpp"
#include "engine/emulator/core/wave.hpp"

namespace kiln::emulator {

inline constexpr int matrix_depth_max = 128;    // K
inline constexpr int matrix_elements_max = 32;  // of A or B in a lane

// A's or B's elements as f32: element e of lane l.
using MatrixPlanes = float[matrix_elements_max][lanes];
using MatrixRegister = std::uint32_t[lanes];

// Where element k of row 0 of block 0 lies in the planes: e * lanes + lane. Row i of block b lies b * size + i further.
struct MatrixLayout {
  std::uint8_t size, blocks, depth, elements;
  std::uint16_t offset[matrix_depth_max];
};

enum class MatrixInput : std::uint8_t { f32, xf32, f16, bf16, i8, fp8_fnuz, bf8_fnuz, fp8, bf8, fp6, bf6, fp4, f64 };

// Registers of a lane that `elements` of `input` take.
int matrix_registers(MatrixInput input, int elements);

// Fills planes[0..elements) from registers. `flush`: f16 denormals become zeros of their sign (bf16's are denormals of
// f32 too, which the host then takes as zeros).
void convert_matrix(MatrixInput input, const MatrixRegister* registers, int elements, bool flush,
                    MatrixPlanes& planes);

// The lane exchanges of CBSZ and ABID (A: block `abid` of each 2^cbsz blocks stands for all) and of BLGP (B).
void broadcast_blocks(MatrixPlanes& planes, const MatrixLayout& layout, int cbsz, int abid);
void permute_groups(MatrixPlanes& planes, int elements, int blgp);

// One product of all blocks. `c` and `d` are registers of f32; register r of C is c[r * c_stride]: 0 repeats one row.
// They may be the same registers.
struct MatrixProduct {
  const MatrixPlanes& a;
  const MatrixPlanes& b;
  const MatrixLayout& a_layout;
  const MatrixLayout& b_layout;
  const MatrixRegister* c;
  MatrixRegister* d;
  int c_stride;
  int begin, end;  // range of k
};
void multiply_matrix(const MatrixProduct& product);

// The same where A is 4:2 sparse: its layout is that of the K/2 elements it holds. `index` gives for each lane two bits
// an element of A: which of the four rows of B in its group it meets.
void multiply_sparse(const MatrixProduct& product, const MatrixRegister& index);

}  // namespace kiln::emulator
