// Scalar instructions that only RDNA3 has, or that do something else there than in CDNA: EXEC of 32 lanes, the hardware
// registers by its numbers, messages with an answer, and what only matters for time.
// Source: "RDNA3 Instruction Set Architecture", "Scalar ALU Operations" and the instruction lists.
#include "engine/emulator/core/hardware_registers.hpp"
#include "engine/emulator/core/rounding.hpp"
#include "engine/emulator/core/scalar.hpp"
#include "engine/emulator/core/vector.hpp"

namespace kiln::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

void nothing(Wave&, const Instruction&) {}

// --- EXEC of 32 lanes ------------------------------------------------------------------------------------------------

template <auto operation>
void save_exec(Wave& wave, const Instruction& instruction) {
  const u32 source = scalar32(wave, instruction.src[0]), before = wave.scalar[code::exec];
  const u32 after = operation(source, before);
  wave.scalar[code::exec] = after;
  write_scalar32(wave, instruction.dst, before);
  wave.scc = after != 0;
}
template <auto operation>
void write_exec(Wave& wave, const Instruction& instruction) {
  const u32 after = operation(scalar32(wave, instruction.src[0]), wave.scalar[code::exec]);
  wave.scalar[code::exec] = after;
  write_scalar32(wave, instruction.dst, after);
  wave.scc = after != 0;
}

void pack_high_low(Wave& wave, const Instruction& instruction) {
  const u32 a = scalar32(wave, instruction.src[0]), b = scalar32(wave, instruction.src[1]);
  write_scalar32(wave, instruction.dst, a >> 16 | b << 16);
}

// --- Registers by index ----------------------------------------------------------------------------------------------

// Programs index their own registers; what lies beyond them is the hardware's.
constexpr u32 program_registers = 106;

bool in_program(Wave& wave, const Instruction& instruction, u64 at, u32 count, bool store) {
  if (at + count <= program_registers) return true;
  Fault fault;
  fault.kind = FaultKind::register_index;
  fault.instruction = instruction.index;
  fault.address = at;
  fault.bytes = count * 4;
  fault.store = store;
  fault.scalar = true;
  fault.registers = program_registers;
  wave.stop(fault);
  return false;
}
template <u32 count>
void move_relative_source(Wave& wave, const Instruction& instruction) {
  const u64 at = u64(instruction.src[0].index) + wave.scalar[code::m0];
  if (!in_program(wave, instruction, at, count, false)) return;
  if (count == 2) return write_scalar64(wave, instruction.dst, wave.scalar64(static_cast<int>(at)));
  write_scalar32(wave, instruction.dst, wave.scalar[at]);
}
template <u32 count>
void move_relative_destination(Wave& wave, const Instruction& instruction) {
  const u64 at = u64(instruction.dst.index) + wave.scalar[code::m0];
  if (!in_program(wave, instruction, at, count, true)) return;
  if (count == 2) return wave.set_scalar64(static_cast<int>(at), scalar64(wave, instruction.src[0]));
  wave.scalar[at] = scalar32(wave, instruction.src[0]);
}
void move_relative_both(Wave& wave, const Instruction& instruction) {
  const u32 m0 = wave.scalar[code::m0];
  const u64 from = u64(instruction.src[0].index) + (m0 & 1023), to = u64(instruction.dst.index) + (m0 >> 16 & 1023);
  if (!in_program(wave, instruction, from, 1, false) || !in_program(wave, instruction, to, 1, true)) return;
  wave.scalar[to] = wave.scalar[from];
}

// --- Hardware registers ----------------------------------------------------------------------------------------------

// Bits of MODE that exist: rounding, denormals, clamp, IEEE, f16 overflow. The rest reads 0.
constexpr u32 mode_bits =
    0xffu | mode_bit::dx10_clamp | mode_bit::ieee | mode_bit::half_overflow;

// What a wave sees of the hardware: waves of a group on SIMD 0, 1, 0, 1 … of work group processor 0. False: not
// modelled.
bool hardware_register(const Wave& wave, u32 id, u32& value) {
  const Execution& execution = *wave.execution;
  const u64 scratch = reinterpret_cast<u64>(wave.scratch);
  switch (id) {
    case mode_id: value = wave.mode & mode_bits; return true;
    case 2: {  // STATUS: SCC, TRAP_EN, EXECZ, VCCZ, IN_TG, VALID
      const u32 zero_exec = static_cast<u32>(read_special(wave, code::execz));
      const u32 zero_vcc = static_cast<u32>(read_special(wave, code::vccz));
      value = u32(wave.scc) | 1u << 6 | zero_exec << 9 | zero_vcc << 10 | 1u << 16;
      value |= u32(wave.group->wave_count > 1) << 11;
      return true;
    }
    case 3: value = 0; return true;                                                  // TRAPSTS
    case 6: value = ((wave.group->lds_bytes + 511) / 512 & 511) << 12; return true;  // LDS_ALLOC: LDS_SIZE
    case 7: value = 0; return true;                                                  // IB_STS
    case 15:                                                                         // SH_MEM_BASES
      value = static_cast<u32>(execution.private_base >> 48) | static_cast<u32>(execution.shared_base >> 48) << 16;
      return true;
    case 20: value = static_cast<u32>(scratch); return true;                         // FLAT_SCR_LO
    case 21: value = static_cast<u32>(scratch >> 32); return true;                   // FLAT_SCR_HI
    case 23: value = (wave.index / 2 & 31) | (wave.index & 1) << 8; return true;     // HW_ID1: WAVE_ID, SIMD_ID
    case 24: value = 0; return true;                                                 // HW_ID2
    case 29: value = static_cast<u32>(wave.executed) & 0xfffff; return true;         // SHADER_CYCLES, 20 bits
    default: return false;
  }
}

void set_mode(Wave& wave, u32 mode) {
  wave.mode = mode & mode_bits;
  _mm_setcsr(host_control(wave.mode));
}

void set_register_scalar(Wave& wave, const Instruction& instruction) {
  set_register<hardware_register, set_mode>(wave, instruction, scalar32(wave, instruction.src[0]));
}
void round_mode(Wave& wave, const Instruction& instruction) {
  set_mode(wave, (wave.mode & ~0xfu) | (instruction.immediate & 0xfu));
}
void denormal_mode(Wave& wave, const Instruction& instruction) {
  set_mode(wave, (wave.mode & ~0xf0u) | (instruction.immediate & 0xfu) << 4);
}

// --- Messages --------------------------------------------------------------------------------------------------------

// Interrupts (1), as in scalar_control.cpp, and the release of vector registers before the end (3).
void message(Wave& wave, const Instruction& instruction) {
  const u32 number = instruction.immediate & 255;
  if (number > 1 && number != 3) return execute_not_covered(wave, instruction);
  if (number == 1) wave.status = WaveStatus::sleeping;
}
// The clock counts the wave's instructions, so that a run repeats exactly. There is no doorbell and no trap handler.
void message_with_answer(Wave& wave, const Instruction& instruction) {
  constexpr u32 get_realtime = 0x83, get_doorbell = 0x80, get_trap_base = 0x85;
  const u32 number = instruction.immediate;
  if (number != get_realtime && number != get_doorbell && number != get_trap_base) {
    return execute_not_covered(wave, instruction);
  }
  const u64 value = number == get_realtime ? wave.executed : 0;
  const bool wide = static_cast<const ScalarRow*>(instruction.operation)->wide_result;
  if (wide) write_scalar64(wave, instruction.dst, value);
  else write_scalar32(wave, instruction.dst, static_cast<u32>(value));
}

constexpr Type b32 = Type::b32, b64 = Type::b64;
constexpr Targets here = target_gfx11;

#define KILN_SAVE(name, expression) \
  {name, save_exec<[](u32 s, u32 e) { return (expression); }>, {b32}, false, here}
#define KILN_WRITE(name, expression) \
  {name, write_exec<[](u32 s, u32 e) { return (expression); }>, {b32}, false, here}
#define KILN_NOTHING(name) {name, nothing, {}, false, here}

constexpr ScalarRow unsorted[] = {
    KILN_SAVE("s_and_saveexec_b32", s & e),
    KILN_SAVE("s_or_saveexec_b32", s | e),
    KILN_SAVE("s_xor_saveexec_b32", s ^ e),
    KILN_SAVE("s_nand_saveexec_b32", ~(s & e)),
    KILN_SAVE("s_nor_saveexec_b32", ~(s | e)),
    KILN_SAVE("s_xnor_saveexec_b32", ~(s ^ e)),
    KILN_SAVE("s_and_not0_saveexec_b32", ~s & e),
    KILN_SAVE("s_or_not0_saveexec_b32", ~s | e),
    KILN_SAVE("s_and_not1_saveexec_b32", s & ~e),
    KILN_SAVE("s_or_not1_saveexec_b32", s | ~e),
    KILN_WRITE("s_and_not0_wrexec_b32", ~s & e),
    KILN_WRITE("s_and_not1_wrexec_b32", s & ~e),
    {"s_pack_hl_b32_b16", pack_high_low, {b32, b32}, false, here},
    {"s_movrels_b32", move_relative_source<1>, {b32}, false, here},
    {"s_movrels_b64", move_relative_source<2>, {b64}, true, here},
    {"s_movreld_b32", move_relative_destination<1>, {b32}, false, here},
    {"s_movreld_b64", move_relative_destination<2>, {b64}, true, here},
    {"s_movrelsd_2_b32", move_relative_both, {b32}, false, here},
    {"s_getreg_b32", get_register<hardware_register>, {}, false, here},
    {"s_setreg_b32", set_register_scalar, {b32}, false, here},
    {"s_setreg_imm32_b32", set_register_literal<hardware_register, set_mode>, {}, false, here},
    {"s_round_mode", round_mode, {}, false, here},
    {"s_denorm_mode", denormal_mode, {}, false, here},
    {"s_sendmsg", message, {}, false, here},
    {"s_sendmsg_rtn_b32", message_with_answer, {}, false, here},
    {"s_sendmsg_rtn_b64", message_with_answer, {}, true, here},
    KILN_NOTHING("s_clause"),
    KILN_NOTHING("s_delay_alu"),
    KILN_NOTHING("s_set_inst_prefetch_distance"),
    KILN_NOTHING("s_wait_event"),
    KILN_NOTHING("s_wait_idle"),
    KILN_NOTHING("s_waitcnt_depctr"),
    KILN_NOTHING("s_waitcnt_vscnt"),
    KILN_NOTHING("s_waitcnt_vmcnt"),
    KILN_NOTHING("s_waitcnt_expcnt"),
    KILN_NOTHING("s_waitcnt_lgkmcnt"),
    KILN_NOTHING("s_ttracedata_imm"),
    KILN_NOTHING("s_version"),
};

constexpr SortedTable table(unsorted);

}  // namespace

const ScalarRow* find_scalar_rdna(std::string_view name) { return table.find(name); }

}  // namespace kiln::emulator
