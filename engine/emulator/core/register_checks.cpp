#include "engine/emulator/core/register_checks.hpp"

#include <string_view>

#include "engine/emulator/core/checks.hpp"
#include "engine/emulator/core/families.hpp"
#include "engine/emulator/core/memory_buffer.hpp"

namespace kiln::emulator {
namespace {

using u64 = std::uint64_t;

constexpr int scalar_numbers = 1000;  // where scalar registers begin in a fault's address

std::string_view name_of(const Instruction& instruction) { return instruction.name; }

// Private memory: SCRATCH, and buffers that are swizzled, as gfx90a's is.
bool spills(const Wave& wave, const Instruction& instruction) {
  if (instruction.format == Format::scratch) return true;
  const Source& descriptor = instruction.src[2];
  return instruction.format == Format::mubuf && descriptor.kind == Source::Kind::scalar && descriptor.index < 124 &&
         wave.scalar[descriptor.index + 1] >> 31 != 0;
}

bool multiplies_matrices(const Instruction& instruction) {
  const auto name = name_of(instruction);
  return (instruction.format == Format::mai && !name.starts_with("v_accvgpr")) || name.starts_with("v_wmma_");
}

// Vector instructions that add to their destination, which is no source of theirs here.
bool accumulates(std::string_view name) {
  return name.starts_with("v_fmac_") || name.starts_with("v_mac_") || name.starts_with("v_pk_fmac") ||
         name.starts_with("v_smfmac") || (name.starts_with("v_dot") && name.find("c_") != std::string_view::npos);
}

// What the check keeps of one wave.
struct Written {
  u64* vectors = nullptr;
  std::uint8_t* scalars = nullptr;
  u64 lanes = 0;  // that take part

  // Registers that programs must write before they read them; the others are the card's.
  static bool is_program_register(int index) { return index < code::vcc || index == code::m0; }
  [[nodiscard]] bool scalar(int index) const {
    return !scalars || index >= 128 || !is_program_register(index) || scalars[index] != 0;
  }
  [[nodiscard]] u64 vector(int index) const { return !vectors || index >= vector_registers ? ~u64(0) : vectors[index]; }
  void set_vector(int index, u64 mask, u64 value) {
    if (vectors && index < vector_registers) vectors[index] = (vectors[index] & ~mask) | (value & mask);
  }
  void set_scalar(int index, bool value) {
    if (scalars && index < 128) scalars[index] = value;
  }
};

bool stop(Wave& wave, const Instruction& instruction, int lane, int number) {
  Fault fault;
  fault.kind = FaultKind::uninitialised_register;
  fault.instruction = instruction.index;
  fault.lane = lane;
  fault.address = static_cast<u64>(number);
  fault.bytes = 4;
  wave.stop(fault);
  return false;
}

bool check_operand(Wave& wave, const Instruction& instruction, const Source& source, const Written& written) {
  for (int index = source.index; index < source.index + source.registers; ++index) {
    if (source.kind == Source::Kind::vector) {
      const u64 missing = written.lanes & ~written.vector(index);
      if (missing != 0) return stop(wave, instruction, __builtin_ctzll(missing), index);
    }
    if (source.kind == Source::Kind::scalar && !written.scalar(index))
      return stop(wave, instruction, -1, scalar_numbers + index);
  }
  return true;
}

// Whether the first or the second operation of VOPD only moves: what it reads may be undefined.
bool moves(const Instruction& instruction, bool second) {
  constexpr unsigned move = 8;
  const unsigned opcode = second ? instruction.opcode >> 4 & 31u : instruction.opcode & 15u;
  return instruction.format == Format::vopd && opcode == move;
}

bool is_buffer_store(const Instruction& instruction) {
  const auto name = name_of(instruction);
  return name.starts_with("buffer_store") || name.starts_with("buffer_atomic") || name.starts_with("tbuffer_store");
}

// What a buffer's bounds cut off is never stored: compilers mask with an offset outside, and leave the data undefined.
bool check_buffer_store(Wave& wave, const Instruction& instruction, const Written& written) {
  for (const int n : {0, 2, 3})
    if (!check_operand(wave, instruction, instruction.src[n], written)) return false;
  const BufferAccess access(wave, instruction);
  const bool in_dwords =
      instruction.format == Format::mubuf && name_of(instruction).find("_format_") == std::string_view::npos &&
      !name_of(instruction).starts_with("buffer_atomic");
  Source one = instruction.src[1];
  one.registers = 1;
  for (int n = 0; n < instruction.src[1].registers; ++n, ++one.index) {
    Addresses addresses;
    access.component(in_dwords ? static_cast<std::uint32_t>(n) * 4 : 0, 1, addresses);
    Written inside = written;
    inside.lanes &= addresses.active;
    if (!check_operand(wave, instruction, one, inside)) return false;
  }
  return true;
}

// Two f32 operations: op_sel and op_sel_hi say which register of a pair each one reads, and may say the same.
bool takes_pairs(std::string_view name) {
  return name == "v_pk_fma_f32" || name == "v_pk_mul_f32" || name == "v_pk_add_f32";
}

bool check_pairs(Wave& wave, const Instruction& instruction, const Written& written) {
  for (int n = 0; n < 3; ++n) {
    Source one = instruction.src[n];
    if (one.registers < 2) {
      if (!check_operand(wave, instruction, one, written)) return false;
      continue;
    }
    one.registers = 1;
    const bool low = (instruction.op_sel >> n & 1) != 0, high = (instruction.op_sel_hi >> n & 1) != 0;
    for (const bool second : {false, true}) {
      one.index = instruction.src[n].index + (second ? 1 : 0);
      if ((low == second || high == second) && !check_operand(wave, instruction, one, written)) return false;
    }
  }
  return true;
}

bool check_operands(Wave& wave, const Instruction& instruction, const Written& written) {
  if (takes_pairs(name_of(instruction))) return check_pairs(wave, instruction, written);
  if (is_buffer_store(instruction)) return check_buffer_store(wave, instruction, written);
  const bool first_moves = moves(instruction, false), second_moves = moves(instruction, true);
  for (const Source& source : instruction.src)
    if (!first_moves && !check_operand(wave, instruction, source, written)) return false;
  for (const Source& scale : instruction.scale)
    if (!second_moves && !check_operand(wave, instruction, scale, written)) return false;
  return !accumulates(instruction.name) || check_operand(wave, instruction, instruction.dst, written);
}

void mark(const Source& result, u64 mask, Written& written) {
  for (int index = result.index; index < result.index + result.registers; ++index) {
    if (result.kind == Source::Kind::vector) written.set_vector(index, mask, ~u64(0));
    if (result.kind == Source::Kind::scalar) written.set_scalar(index, true);
  }
}

// Whether the n-th register of a copy's result gets a written value, by lanes.
u64 written_of(const Source& source, int n, const Written& written) {
  if (source.kind == Source::Kind::vector) return written.vector(source.index + n);
  if (source.kind == Source::Kind::scalar) return written.scalar(source.index + n) ? ~u64(0) : 0;
  return ~u64(0);
}

// Moves of whole registers. False: it is none.
bool copy(const Instruction& instruction, Written& written) {
  const std::string_view name = instruction.name;
  if (instruction.sdwa.used || instruction.dpp.used) return false;
  const Source &to = instruction.dst, &from = instruction.src[0];
  if (name == "s_mov_b32" || name == "s_mov_b64") {
    bool values[2] = {true, true};
    for (int n = 0; n < 2; ++n) values[n] = written_of(from, n, written) != 0;
    for (int n = 0; n < to.registers && n < 2; ++n) written.set_scalar(to.index + n, values[n]);
    return true;
  }
  if (name == "v_pk_mov_b32") {
    const u64 low = written_of(from, instruction.op_sel & 1, written),
              high = written_of(instruction.src[1], instruction.op_sel >> 1 & 1, written);
    written.set_vector(to.index, written.lanes, low);
    written.set_vector(to.index + 1, written.lanes, high);
    return true;
  }
  if (name != "v_mov_b32" && name != "v_mov_b64" && !name.starts_with("v_accvgpr")) return false;
  const u64 values[2] = {written_of(from, 0, written), written_of(from, 1, written)};
  for (int n = 0; n < to.registers && n < 2; ++n) written.set_vector(to.index + n, written.lanes, values[n]);
  return true;
}

// 64-bit sums of a product: the low half of the result is of the low half of the addend alone. Compilers take them for
// 32-bit sums and leave the rest undefined.
bool sums_wide_product(std::string_view name) { return name == "v_mad_u64_u32" || name == "v_mad_i64_i32"; }

bool check_wide_sum(Wave& wave, const Instruction& instruction, Written& written) {
  Source low = instruction.src[2];
  low.registers = 1;
  for (const Source& source : {instruction.src[0], instruction.src[1], low})
    if (!check_operand(wave, instruction, source, written)) return false;
  const u64 high = written_of(instruction.src[2], 1, written);
  written.set_vector(instruction.dst.index, written.lanes, ~u64(0));
  written.set_vector(instruction.dst.index + 1, written.lanes, high);
  const Source& carry = instruction.scalar_dst;
  for (int index = carry.index; carry.kind == Source::Kind::scalar && index < carry.index + carry.registers; ++index)
    written.set_scalar(index, (written.lanes & ~high) == 0);
  return true;
}

// The lanes whose values an instruction reads. Reads of one lane: that one, active or not.
u64 lanes_read(const Wave& wave, const Instruction& instruction) {
  const u64 all = wave.size == 64 ? ~u64(0) : (u64(1) << wave.size) - 1, exec = wave.exec();
  if (multiplies_matrices(instruction)) return all;
  const auto name = name_of(instruction);
  if (name == "v_readfirstlane_b32") return exec == 0 ? 1 : exec & (~exec + 1);
  if (name == "v_readlane_b32") return u64(1) << (read_scalar32(wave, instruction.src[1]) & (wave.size - 1u));
  return exec;
}

// Instructions that merge values into registers or exchange registers: what they read may be undefined.
bool merges(std::string_view name) { return name == "v_writelane_b32" || name.starts_with("v_swap"); }

}  // namespace

bool check_registers(Wave& wave, const Instruction& instruction) {
  const CheckState* checks = wave.group->checks;
  if (!checks) return true;
  Written written;
  if (checks->vector_written) written.vectors = checks->vector_written + u64(wave.index) * vector_registers;
  if (checks->scalar_written) written.scalars = checks->scalar_written + u64(wave.index) * 128;
  written.lanes = lanes_read(wave, instruction);
  if (copy(instruction, written)) return true;
  if (sums_wide_product(instruction.name)) return check_wide_sum(wave, instruction, written);
  const bool merging = merges(instruction.name);
  if (!merging && !spills(wave, instruction) && !check_operands(wave, instruction, written)) return false;
  const u64 mask = merging ? ~u64(0) : written.lanes;
  mark(instruction.dst, mask, written);
  mark(instruction.scalar_dst, mask, written);
  if (name_of(instruction).starts_with("v_swap")) mark(instruction.src[0], mask, written);
  if (instruction.format == Format::smem) mark(instruction.src[1], mask, written);
  return true;
}

}  // namespace kiln::emulator
