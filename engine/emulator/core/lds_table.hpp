// The DS instructions and what executes them.
#pragma once

#include <string_view>

#include "engine/emulator/core/lds.hpp"
#include "engine/emulator/core/memory_transfer.hpp"
#include "engine/emulator/core/scalar.hpp"

namespace kiln::emulator {

struct LdsRow {
  std::string_view name;
  Execute execute;
  Transfer transfer;             // of one access
  std::uint16_t scale = 1;       // two offsets: bytes a unit; transposing loads: bits an element
  std::uint8_t accesses = 1;     // how many transfers the registers hold
  bool writes = false;           // no result but data; ds_append: adds
  Targets targets = targets_all;
};

// operation: LdsRow.
void execute_lds_load(Wave& wave, const Instruction& instruction);
void execute_lds_store(Wave& wave, const Instruction& instruction);
void execute_lds_load2(Wave& wave, const Instruction& instruction);
void execute_lds_store2(Wave& wave, const Instruction& instruction);
void execute_lds_exchange2(Wave& wave, const Instruction& instruction);
void execute_lds_addtid(Wave& wave, const Instruction& instruction);
void execute_lds_count(Wave& wave, const Instruction& instruction);
void execute_lds_conditional_exchange(Wave& wave, const Instruction& instruction);
void execute_lds_transpose(Wave& wave, const Instruction& instruction);
// operation: AtomicOperation.
void execute_lds_atomic(Wave& wave, const Instruction& instruction);

// Between lanes, without LDS.
void execute_lds_swizzle(Wave& wave, const Instruction& instruction);
void execute_lds_permute(Wave& wave, const Instruction& instruction);
void execute_lds_backward_permute(Wave& wave, const Instruction& instruction);

}  // namespace kiln::emulator
