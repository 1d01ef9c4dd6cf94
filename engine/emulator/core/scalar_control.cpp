// What moves the program counter, EXEC, modes and hardware registers, and what only matters for time.
#include <bit>

#include "engine/emulator/core/hardware_registers.hpp"
#include "engine/emulator/core/rounding.hpp"
#include "engine/emulator/core/scalar.hpp"

namespace kiln::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

void nothing(Wave&, const Instruction&) {}

// --- The program counter ---------------------------------------------------------------------------------------------

u64 address_after(const Instruction& instruction) { return instruction.address + instruction.bytes; }

void jump(Wave& wave, const Instruction& instruction, u64 address) {
  const u32 index = index_at(*wave.execution, address);
  if (index != ~0u) {
    wave.next = index;
    return;
  }
  Fault fault;
  fault.kind = FaultKind::bad_program_counter;
  fault.instruction = instruction.index;
  fault.address = address;
  wave.stop(fault);
}

void get_pc(Wave& wave, const Instruction& instruction) {
  write_scalar64(wave, instruction.dst, address_after(instruction));
}
void set_pc(Wave& wave, const Instruction& instruction) {
  jump(wave, instruction, scalar64(wave, instruction.src[0]));
}
void swap_pc(Wave& wave, const Instruction& instruction) {
  const u64 address = scalar64(wave, instruction.src[0]);
  write_scalar64(wave, instruction.dst, address_after(instruction));
  jump(wave, instruction, address);
}
void call(Wave& wave, const Instruction& instruction) {
  write_scalar64(wave, instruction.dst, address_after(instruction));
  wave.next = instruction.target;
}

void branch(Wave& wave, const Instruction& instruction) { wave.next = instruction.target; }
template <bool wanted>
void branch_scc(Wave& wave, const Instruction& instruction) {
  if (wave.scc == wanted) wave.next = instruction.target;
}
template <int special, bool wanted>
void branch_special(Wave& wave, const Instruction& instruction) {
  if ((read_special(wave, special) != 0) == wanted) wave.next = instruction.target;
}

// Forks keep the path not taken on a stack of four registers an entry; MODE.CSP (bits 29..31) counts the entries.
u32 stack_register(const Wave& wave) { return (wave.mode >> 29) * 4; }
void move_stack(Wave& wave, int by) { wave.mode += static_cast<u32>(by) << 29; }

void fork(Wave& wave, u64 condition, u64 target, u64 after, const Instruction& instruction) {
  const u64 exec = wave.exec(), pass = condition & exec, fail = ~condition & exec;
  if (pass == exec) return jump(wave, instruction, target);
  if (fail == exec) return;
  const bool run_fail = std::popcount(fail) < std::popcount(pass);
  const u32 at = stack_register(wave);
  wave.set_scalar64(static_cast<int>(at), run_fail ? pass : fail);
  wave.set_scalar64(static_cast<int>(at + 2), run_fail ? target : after);
  move_stack(wave, 1);
  wave.set_scalar64(code::exec, run_fail ? fail : pass);
  if (!run_fail) jump(wave, instruction, target);
}
void fork_register(Wave& wave, const Instruction& instruction) {
  const u64 condition = scalar64(wave, instruction.src[0]), target = scalar64(wave, instruction.src[1]);
  fork(wave, condition, target, address_after(instruction), instruction);
}
void fork_immediate(Wave& wave, const Instruction& instruction) {
  const Source& condition = instruction.dst.kind == Source::Kind::none ? instruction.src[0] : instruction.dst;
  const u64 after = address_after(instruction);
  const u64 target = after + static_cast<u64>(std::int64_t{static_cast<std::int16_t>(instruction.immediate)} * 4);
  fork(wave, scalar64(wave, condition), target, after, instruction);
}
void join(Wave& wave, const Instruction& instruction) {
  if (wave.mode >> 29 == (scalar32(wave, instruction.src[0]) & 7)) return;
  move_stack(wave, -1);
  const u32 at = stack_register(wave);
  wave.set_scalar64(code::exec, wave.scalar64(static_cast<int>(at)));
  jump(wave, instruction, wave.scalar64(static_cast<int>(at + 2)));
}

// --- EXEC ------------------------------------------------------------------------------------------------------------

template <auto operation>
void save_exec(Wave& wave, const Instruction& instruction) {
  const u64 source = scalar64(wave, instruction.src[0]), before = wave.exec(), after = operation(source, before);
  wave.set_scalar64(code::exec, after);
  write_scalar64(wave, instruction.dst, before);
  wave.scc = after != 0;
}
template <auto operation>
void write_exec(Wave& wave, const Instruction& instruction) {
  const u64 after = operation(scalar64(wave, instruction.src[0]), wave.exec());
  wave.set_scalar64(code::exec, after);
  write_scalar64(wave, instruction.dst, after);
  wave.scc = after != 0;
}

// --- Registers by index ----------------------------------------------------------------------------------------------

constexpr u32 file_registers = 128;

// The register M0 places after `operand`; false: none, the wave has stopped.
bool relative(Wave& wave, const Instruction& instruction, const Source& operand, u32 count, u32& at) {
  const u64 index = u64(operand.index) + wave.scalar[code::m0];
  at = static_cast<u32>(index);
  if (index + count <= file_registers) return true;
  Fault fault;
  fault.kind = FaultKind::register_index;
  fault.instruction = instruction.index;
  fault.address = index;
  fault.bytes = count * 4;
  fault.store = &operand == &instruction.dst;
  fault.scalar = true;
  fault.registers = file_registers;
  wave.stop(fault);
  return false;
}
template <u32 count>
void move_relative_source(Wave& wave, const Instruction& instruction) {
  u32 at;
  if (!relative(wave, instruction, instruction.src[0], count, at)) return;
  if (count == 2) return write_scalar64(wave, instruction.dst, wave.scalar64(static_cast<int>(at)));
  write_scalar32(wave, instruction.dst, wave.scalar[at]);
}
template <u32 count>
void move_relative_destination(Wave& wave, const Instruction& instruction) {
  u32 at;
  if (!relative(wave, instruction, instruction.dst, count, at)) return;
  if (count == 2) return wave.set_scalar64(static_cast<int>(at), scalar64(wave, instruction.src[0]));
  wave.scalar[at] = scalar32(wave, instruction.src[0]);
}

// The loop of run.cpp that knows indexed vector registers takes over at the next instruction.
void set_mode(Wave& wave, u32 mode) {
  const bool starts_indexing = (mode & ~wave.mode & mode_index_registers) != 0;
  wave.mode = mode;
  _mm_setcsr(host_control(mode));
  if (starts_indexing) wave.status = WaveStatus::sleeping;
}
void index_on(Wave& wave, const Instruction& instruction) {
  const u32 index = scalar32(wave, instruction.src[0]) & 255, which = instruction.words[0] >> 8 & 15;
  u32& m0 = wave.scalar[code::m0];
  m0 = (m0 & ~0xf0ffu) | index | which << 12;
  set_mode(wave, wave.mode | mode_index_registers);
}
void index_off(Wave& wave, const Instruction&) { set_mode(wave, wave.mode & ~mode_index_registers); }
void index_mode(Wave& wave, const Instruction& instruction) {
  u32& m0 = wave.scalar[code::m0];
  m0 = (m0 & ~0xf000u) | (instruction.immediate & 15u) << 12;
}
void index_index(Wave& wave, const Instruction& instruction) {
  u32& m0 = wave.scalar[code::m0];
  m0 = (m0 & ~0xffu) | (scalar32(wave, instruction.src[0]) & 255);
}

// --- Hardware registers ----------------------------------------------------------------------------------------------

// What a wave sees of the hardware. Waves of a group lie on SIMD 0, 1, 2, 3, 0 … of compute unit 0, engine 0; groups
// are dealt over the eight dies of gfx942 and gfx950 by their x. All registers allocated, memory counters 0 (loads
// complete at once), no exception pending. False: not modelled.
bool hardware_register(const Wave& wave, u32 id, u32& value) {
  const Execution& execution = *wave.execution;
  switch (id) {
    case mode_id: value = wave.mode; return true;
    case 2: {  // STATUS: SCC, TRAP_EN, EXECZ, VCCZ, IN_TG, VALID
      const u32 zero_exec = static_cast<u32>(read_special(wave, code::execz));
      const u32 zero_vcc = static_cast<u32>(read_special(wave, code::vccz));
      value = u32(wave.scc) | 1u << 6 | zero_exec << 9 | zero_vcc << 10 | 1u << 16;
      value |= u32(wave.group->wave_count > 1) << 11;
      return true;
    }
    case 3: value = 0; return true;                                       // TRAPSTS
    case 4: value = (wave.index / 4 & 15) | (wave.index & 3) << 4; return true;  // HW_ID: WAVE_ID, SIMD_ID
    case 5: value = 63u << 8 | 15u << 24; return true;                    // GPR_ALLOC: VGPR_SIZE, SGPR_SIZE
    case 6: value = ((wave.group->lds_bytes + 511) / 512 & 511) << 12; return true;  // LDS_ALLOC: LDS_SIZE
    case 7: value = 0; return true;                                       // IB_STS
    case 15:                                                              // SH_MEM_BASES
      value = static_cast<u32>(execution.private_base >> 48) | static_cast<u32>(execution.shared_base >> 48) << 16;
      return true;
    case 20:                                                              // XCC_ID
      value = wave.group->id[0] & 7;
      return execution.family == Family::gfx942 || execution.family == Family::gfx950;
    default: return false;
  }
}

void set_register_scalar(Wave& wave, const Instruction& instruction) {
  const Source& source = instruction.dst.kind == Source::Kind::none ? instruction.src[0] : instruction.dst;
  set_register<hardware_register, set_mode>(wave, instruction, scalar32(wave, source));
}
// --- Waiting, messages, the end --------------------------------------------------------------------------------------

template <WaveStatus status>
void change_status(Wave& wave, const Instruction&) { wave.status = status; }

void sleep(Wave& wave, const Instruction& instruction) {
  if ((instruction.immediate & 127) != 0) wave.status = WaveStatus::sleeping;
}
void priority(Wave& wave, const Instruction& instruction) { wave.priority = instruction.immediate & 3; }

// Trap 3 is the debugger's; without one the handler returns at once (LLVM, "AMDGPU Usage", Trap Handler ABI).
void trap(Wave& wave, const Instruction& instruction) {
  const u32 number = instruction.immediate & 255;
  if (number == 3) return;
  Fault fault;
  fault.kind = FaultKind::trap;
  fault.instruction = instruction.index;
  fault.address = number;
  wave.stop(fault);
}
// An interrupt (message 1) makes the wave give way: the machine looks then for calls to the host. The other messages
// are for graphics.
void message(Wave& wave, const Instruction& instruction) {
  if ((instruction.immediate & 15) > 1) return execute_not_covered(wave, instruction);
  if ((instruction.immediate & 15) == 1) wave.status = WaveStatus::sleeping;
}
// Halting, killing and skipping vector instructions: only the forms that switch it off.
void only_off(Wave& wave, const Instruction& instruction) {
  if ((instruction.immediate & 1) != 0) execute_not_covered(wave, instruction);
}
void vector_skip(Wave& wave, const Instruction& instruction) {
  const u32 bit = scalar32(wave, instruction.src[1]) & 31;
  if ((scalar32(wave, instruction.src[0]) >> bit & 1) != 0) execute_not_covered(wave, instruction);
}

constexpr Type b32 = Type::b32, b64 = Type::b64;

constexpr ScalarRow unsorted[] = {
    {"s_getpc_b64", get_pc, {}, true},
    {"s_setpc_b64", set_pc, {b64}},
    {"s_swappc_b64", swap_pc, {b64}, true},
    {"s_call_b64", call, {}, true},
    {"s_branch", branch},
    {"s_cbranch_scc0", branch_scc<false>},
    {"s_cbranch_scc1", branch_scc<true>},
    {"s_cbranch_vccz", branch_special<code::vccz, true>},
    {"s_cbranch_vccnz", branch_special<code::vccz, false>},
    {"s_cbranch_execz", branch_special<code::execz, true>},
    {"s_cbranch_execnz", branch_special<code::execz, false>},
    {"s_cbranch_cdbgsys", nothing},  // no debugger: the conditions are never set
    {"s_cbranch_cdbguser", nothing},
    {"s_cbranch_cdbgsys_or_user", nothing},
    {"s_cbranch_cdbgsys_and_user", nothing},
    {"s_cbranch_g_fork", fork_register, {b64, b64}},
    {"s_cbranch_i_fork", fork_immediate, {}, true},
    {"s_cbranch_join", join, {b32}},
    {"s_and_saveexec_b64", save_exec<[](u64 s, u64 e) { return s & e; }>, {b64}, true},
    {"s_or_saveexec_b64", save_exec<[](u64 s, u64 e) { return s | e; }>, {b64}, true},
    {"s_xor_saveexec_b64", save_exec<[](u64 s, u64 e) { return s ^ e; }>, {b64}, true},
    {"s_andn2_saveexec_b64", save_exec<[](u64 s, u64 e) { return s & ~e; }>, {b64}, true},
    {"s_orn2_saveexec_b64", save_exec<[](u64 s, u64 e) { return s | ~e; }>, {b64}, true},
    {"s_nand_saveexec_b64", save_exec<[](u64 s, u64 e) { return ~(s & e); }>, {b64}, true},
    {"s_nor_saveexec_b64", save_exec<[](u64 s, u64 e) { return ~(s | e); }>, {b64}, true},
    {"s_xnor_saveexec_b64", save_exec<[](u64 s, u64 e) { return ~(s ^ e); }>, {b64}, true},
    {"s_andn1_saveexec_b64", save_exec<[](u64 s, u64 e) { return ~s & e; }>, {b64}, true},
    {"s_orn1_saveexec_b64", save_exec<[](u64 s, u64 e) { return ~s | e; }>, {b64}, true},
    {"s_andn1_wrexec_b64", write_exec<[](u64 s, u64 e) { return ~s & e; }>, {b64}, true},
    {"s_andn2_wrexec_b64", write_exec<[](u64 s, u64 e) { return s & ~e; }>, {b64}, true},
    {"s_movrels_b32", move_relative_source<1>, {b32}},
    {"s_movrels_b64", move_relative_source<2>, {b64}, true},
    {"s_movreld_b32", move_relative_destination<1>, {b32}},
    {"s_movreld_b64", move_relative_destination<2>, {b64}, true},
    {"s_set_gpr_idx_on", index_on, {b32}},
    {"s_set_gpr_idx_off", index_off},
    {"s_set_gpr_idx_mode", index_mode},
    {"s_set_gpr_idx_idx", index_index, {b32}},
    {"s_getreg_b32", get_register<hardware_register>},
    {"s_setreg_b32", set_register_scalar},
    {"s_setreg_imm32_b32", set_register_literal<hardware_register, set_mode>},
    {"s_barrier", change_status<WaveStatus::barrier>},
    {"s_endpgm", change_status<WaveStatus::ended>},
    {"s_endpgm_saved", change_status<WaveStatus::ended>},
    {"s_sleep", sleep},
    {"s_setprio", priority},
    {"s_trap", trap},
    {"s_sendmsg", message},
    {"s_sethalt", only_off},
    {"s_setkill", only_off},
    {"s_setvskip", vector_skip, {b32, b32}},
    {"s_nop", nothing},
    {"s_waitcnt", nothing},
    {"s_wakeup", nothing},
    {"s_icache_inv", nothing},
    {"s_incperflevel", nothing},
    {"s_decperflevel", nothing},
    {"s_ttracedata", nothing},
};

constexpr SortedTable table(unsorted);

}  // namespace

const ScalarRow* find_scalar_control(std::string_view name) { return table.find(name); }

}  // namespace kiln::emulator
