// The loop. Plain waves take the short one; waves whose vector registers are indexed through M0 or whose registers are
// checked for uninitialised reads take the careful one.
#include "engine/emulator/core/checks.hpp"
#include "engine/emulator/core/core.hpp"
#include "engine/emulator/core/families.hpp"
#include "engine/emulator/core/register_checks.hpp"
#include "engine/emulator/core/rounding.hpp"

namespace kiln::emulator {

std::uint32_t index_at(const Execution& execution, std::uint64_t address) {
  const std::uint64_t offset = address - execution.code_begin;
  if (address % 4 != 0 || offset >= execution.code_bytes) return ~0u;
  return execution.index_of[offset / 4];
}

namespace {

bool is_vector(Format format) { return format >= Format::vop1 && format <= Format::vop3p; }

void stop_at(Wave& wave, FaultKind kind) {
  Fault fault;
  fault.kind = kind;
  fault.instruction = wave.next;
  wave.stop(fault);
}

// Executes until the status changes or `left` instructions have been executed; returns how many are left then.
// The index is kept beside Wave::next: what follows is guessed to be the next one, so that the host need not wait for
// the memory that a branch would have written.
std::uint64_t run_plain(Wave& wave, std::uint64_t left) {
  const Execution& execution = *wave.execution;
  const Instruction* const code = execution.code;
  const std::uint32_t instructions = execution.instructions;
  std::uint64_t* const executed = execution.counts.executed;
  const std::uint64_t executed_at_end = wave.executed + left;
  std::uint32_t index = wave.next;
  while (left > 0) {
    if (index >= instructions) {
      stop_at(wave, FaultKind::bad_program_counter);
      break;
    }
    const Instruction& instruction = code[index];
    ++executed[index];
    --left;
    wave.executed = executed_at_end - left;
    wave.next = instruction.following;
    instruction.execute(wave, instruction);
    ++index;
    if (wave.next != index) index = wave.next;
    if (wave.status != WaveStatus::running) break;
  }
  return left;
}

// MODE.GPR_IDX_EN: M0[7:0] is added to the numbers of the vector registers that M0[15:12] names (bits: source 0, 1, 2,
// destination). False: a register outside the file, the wave has stopped.
bool index_registers(Wave& wave, Instruction& instruction) {
  const std::uint32_t m0 = wave.scalar[code::m0], by = m0 & 255;
  Source* const operands[4] = {&instruction.src[0], &instruction.src[1], &instruction.src[2], &instruction.dst};
  for (int n = 0; n < 4; ++n) {
    Source& operand = *operands[n];
    if ((m0 >> (12 + n) & 1) == 0 || operand.kind != Source::Kind::vector || operand.index > 255) continue;
    if (operand.index + by > 255) {
      Fault fault;
      fault.kind = FaultKind::register_index;
      fault.instruction = instruction.index;
      fault.address = operand.index + by;
      fault.registers = 256;
      fault.store = n == 3;
      wave.stop(fault);
      return false;
    }
    operand.index = static_cast<std::uint16_t>(operand.index + by);
  }
  return true;
}

bool needs_care(const Wave& wave) {
  const CheckState* checks = wave.group->checks;
  return (wave.mode & mode_index_registers) != 0 || (checks && (checks->vector_written || checks->scalar_written));
}

// As run_plain, until nothing needs care any more.
std::uint64_t run_careful(Wave& wave, std::uint64_t left) {
  const Execution& execution = *wave.execution;
  while (left > 0 && needs_care(wave)) {
    if (wave.next >= execution.instructions) {
      stop_at(wave, FaultKind::bad_program_counter);
      break;
    }
    Instruction instruction = execution.code[wave.next];
    const bool indexed = (wave.mode & mode_index_registers) != 0;
    if (indexed && is_vector(instruction.format) && !index_registers(wave, instruction)) break;
    if (!check_registers(wave, instruction)) break;
    ++execution.counts.executed[wave.next];
    ++wave.executed;
    --left;
    wave.next = instruction.following;
    instruction.execute(wave, instruction);
    const bool started_indexing = !indexed && (wave.mode & mode_index_registers) != 0;
    if (started_indexing && wave.status == WaveStatus::sleeping) wave.status = WaveStatus::running;
    if (wave.status != WaveStatus::running) break;
  }
  return left;
}

}  // namespace

void run_wave(Wave& wave, std::uint64_t instructions) {
  const Rounding rounding(wave.mode);
  while (instructions > 0 && wave.status == WaveStatus::running) {
    if (needs_care(wave)) {
      instructions = run_careful(wave, instructions);
      continue;
    }
    instructions = run_plain(wave, instructions);
    // s_set_gpr_idx_on leaves the plain loop by this status.
    if (wave.status == WaveStatus::sleeping && (wave.mode & mode_index_registers) != 0) {
      wave.status = WaveStatus::running;
    }
  }
}

}  // namespace kiln::emulator
