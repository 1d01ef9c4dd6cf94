// The tables of the scalar family: one for each source file, sorted by name.
#pragma once

#include <string_view>

#include "engine/emulator/core/scalar_access.hpp"

namespace kiln::emulator {

// Targets that have an instruction, one bit for each Family.
using Targets = std::uint8_t;
inline constexpr Targets target_gfx90a = 1, target_gfx942 = 2, target_gfx950 = 4, target_gfx11 = 8, targets_cdna3 = 6,
                         targets_cdna = 7, targets_all = 15;

constexpr bool has_target(Targets targets, Family family) { return targets >> static_cast<int>(family) & 1; }

struct ScalarRow {
  std::string_view name;
  Execute execute;
  Type source[2] = {Type::none, Type::none};  // how the operands are read; 64-bit ones need two registers
  bool wide_result = false;                   // the destination is a register pair
  Targets targets = targets_all;
};

// `rows`, sorted by name, so that tables may be written by meaning.
template <class Row, std::size_t count>
struct SortedTable {
  Row rows[count];
  consteval explicit SortedTable(const Row (&unsorted)[count]) {
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t at = i;
      for (; at > 0 && unsorted[i].name < rows[at - 1].name; --at) rows[at] = rows[at - 1];
      rows[at] = unsorted[i];
    }
  }
  [[nodiscard]] const Row* find(std::string_view name) const {
    std::size_t low = 0, high = count;
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (rows[middle].name < name) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low < count && rows[low].name == name ? &rows[low] : nullptr;
  }
};

// Each: the row of `name`, null if the file has none.
const ScalarRow* find_scalar_arithmetic(std::string_view name);  // SOP1, SOP2, SOPC and SOPK that compute
const ScalarRow* find_scalar_control(std::string_view name);     // program counter, EXEC, modes, messages, waiting
// What RDNA3 has beside, or instead of, those of the same name in the others.
const ScalarRow* find_scalar_rdna(std::string_view name);
bool bind_scalar_memory(Instruction& instruction, Family family);  // SMEM

}  // namespace kiln::emulator
