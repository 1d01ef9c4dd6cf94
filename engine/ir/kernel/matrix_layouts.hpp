// Register layouts of matrix instructions' operand and result tiles, over the waves of a block. Pure functions; the
// lane maps themselves are target::MatrixInstruction's.
#pragma once

#include <cstdint>

#include "engine/base/result.hpp"
#include "engine/ir/layout/layout.hpp"
#include "engine/ir/target/target.hpp"

namespace kiln::kernel {

// 2^m_bits x 2^n_bits waves over a result tile. Wave index = wave_n + (wave_m << n_bits): the low bits run along n.
struct WaveGrid {
  int m_bits = 0, n_bits = 0;
  [[nodiscard]] int waves() const { return 1 << (m_bits + n_bits); }
};

enum class Operand : std::uint8_t { a, b };

// The operand tile [rows, k] (rows: m for a, n for b) as the instruction's lanes hold it, replicated over the waves of
// the other axis. Register bits from low to high: the instruction's elements, k-pack, k steps, row repeats; an odd rest
// of either extent is the layout's repeat. Waves are outermost on the rows: each owns a contiguous run of the unit.
// With a k-pack of p, lane group g holds k = operand_elements * p * g + e for e in 0 .. operand_elements * p, and feeds
// p instructions with it: k is permuted, in the same way for a and b, so that a lane's run is that much longer.
// Errors (invalid_argument): rows no multiple of instruction rows x waves, k none of instruction.k * k_pack.
Result<layout::RegLayout> operand_layout(const target::MatrixInstruction& instruction, Operand operand,
                                         std::int64_t rows, std::int64_t k, const WaveGrid& grid, int k_pack = 1);

// The operand tile [rows, k] whose k runs over registers and lanes as it does in `other`, the partner operand's layout
// as [its rows, k]: what lets a result (attention's P) be an operand without moving. Errors: as above, and where
// `other` has no such form (its k depends on the lanes that carry rows, or on waves; a register group spans rows).
Result<layout::RegLayout> operand_layout_like(const target::MatrixInstruction& instruction, Operand operand,
                                              std::int64_t rows, const layout::RegLayout& other, const WaveGrid& grid);

// The result tile [m, n]. `swapped`: the instruction was given (b, a) and so computed the transposed tile: each lane's
// run of elements lies along n. Register bits from low to high: the instruction's elements, repeats along the axis on
// which these run (m, or n when swapped), repeats along the other. A swapped result has the layout of operand a with k
// = n wherever the instruction allows it (all of CDNA's with four operand elements).
Result<layout::RegLayout> result_layout(const target::MatrixInstruction& instruction, std::int64_t m, std::int64_t n,
                                        const WaveGrid& grid, bool swapped);

}  // namespace kiln::kernel
