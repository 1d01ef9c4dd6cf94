// s_getreg and s_setreg, over what each family has of hardware registers.
#pragma once

#include "engine/emulator/core/scalar_access.hpp"

namespace kiln::emulator {

// Of their immediate: which register, and which bits of it.
struct RegisterField {
  std::uint32_t id, offset, mask;
  explicit RegisterField(std::uint32_t immediate) : id(immediate & 63), offset(immediate >> 6 & 31) {
    mask = static_cast<std::uint32_t>((std::uint64_t(1) << ((immediate >> 11 & 31) + 1)) - 1);
  }
};

inline constexpr std::uint32_t mode_id = 1;

// `hardware_register(wave, id, value)`: false where the register is not modelled.
template <auto hardware_register>
void get_register(Wave& wave, const Instruction& instruction) {
  const RegisterField field(instruction.immediate);
  std::uint32_t value;
  if (!hardware_register(wave, field.id, value)) return execute_not_covered(wave, instruction);
  write_scalar32(wave, instruction.dst, value >> field.offset & field.mask);
}

// Of the registers that exist, a wave without privileges changes MODE; writes to the others are lost.
template <auto hardware_register, auto set_mode>
void set_register(Wave& wave, const Instruction& instruction, std::uint32_t source) {
  const RegisterField field(instruction.immediate);
  std::uint32_t value;
  if (!hardware_register(wave, field.id, value)) return execute_not_covered(wave, instruction);
  const std::uint32_t mask = field.mask << field.offset;
  if (field.id == mode_id) set_mode(wave, (value & ~mask) | (source << field.offset & mask));
}
template <auto hardware_register, auto set_mode>
void set_register_literal(Wave& wave, const Instruction& instruction) {
  set_register<hardware_register, set_mode>(wave, instruction, instruction.words[1]);
}

}  // namespace kiln::emulator
