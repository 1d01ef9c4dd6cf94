// RDNA3: SMEM, DS, FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF.
#include "engine/emulator/isa/buffer_formats_gfx11.hpp"
#include "engine/emulator/isa/fields_gfx11.hpp"

namespace kiln::emulator::fields::gfx11 {
namespace {

// What a DS operation reads and writes, by its name.
struct LdsOperands {
  bool address = true, first = true, second = false, result = false;
};
LdsOperands lds_operands(const Instruction& instruction) {
  const std::string_view name = instruction.name;
  if (name == "ds_nop") return {false, false, false, false};
  if (name == "ds_append" || name == "ds_consume" || name == "ds_load_addtid_b32") return {false, false, false, true};
  if (name == "ds_store_addtid_b32") return {false, true, false, false};
  if (name_starts(instruction, "ds_load") || name_starts(instruction, "ds_swizzle")) return {true, false, false, true};
  const bool second = name_starts(instruction, "ds_store_2addr") || name_starts(instruction, "ds_cmpstore") ||
                      name_starts(instruction, "ds_mskor") || name_starts(instruction, "ds_storexchg_2addr") ||
                      name_starts(instruction, "ds_wrap");
  const bool result = name_contains(instruction, "_rtn_") || name_contains(instruction, "permute");
  return {true, true, second, result};
}

}  // namespace

// Opcodes: 0..4 loads, 8..12 loads through a buffer descriptor, 32 and 33 cache control, 34 and 35 probes.
bool decode_scalar_memory(Instruction& instruction) {
  const std::uint32_t word = instruction.words[0], more = instruction.words[1];
  instruction.format = Format::smem;
  instruction.opcode = static_cast<std::uint16_t>(bits(word, 18, 8));
  const int op = instruction.opcode;
  if (op == 0x20 || op == 0x21) return true;
  instruction.dlc = bits(word, 13, 1) != 0;
  instruction.glc = bits(word, 14, 1) != 0;
  const std::uint32_t data = bits(word, 6, 7);
  if (op < 0x20) instruction.dst = scalar_register(data);
  else instruction.immediate = static_cast<std::uint16_t>(data);
  instruction.src[2] = scalar_register(bits(word, 0, 6) * 2);
  instruction.offset = sign_extended(bits(more, 0, 21), 21);
  const std::uint32_t offset = bits(more, 25, 7);
  if (offset == null_code) return true;
  instruction.scalar_base = true;
  instruction.src[3] = scalar_register(offset);
  return true;
}

bool decode_lds(Instruction& instruction) {
  const std::uint32_t word = instruction.words[0], more = instruction.words[1];
  instruction.format = Format::ds;
  instruction.opcode = static_cast<std::uint16_t>(bits(word, 18, 8));
  instruction.offset = static_cast<std::int32_t>(bits(word, 0, 16));
  // The global data share and its wave sync are graphics'; ray tracing's stack has an operand of four registers.
  if (bits(word, 17, 1) != 0) return false;
  if (name_starts(instruction, "ds_gws_") || name_starts(instruction, "ds_bvh_")) return false;
  const LdsOperands has = lds_operands(instruction);
  if (has.address) instruction.src[0] = vector_register(bits(more, 0, 8));
  if (has.first) instruction.src[1] = vector_register(bits(more, 8, 8));
  if (has.second) instruction.src[3] = vector_register(bits(more, 16, 8));
  if (has.result) instruction.dst = vector_register(bits(more, 24, 8));
  return true;
}

// Loads have a result; atomics return what was there with glc.
bool decode_flat(Instruction& instruction) {
  const std::uint32_t word = instruction.words[0], more = instruction.words[1];
  const std::uint32_t segment = bits(word, 16, 2);
  if (segment == 3 || name_contains(instruction, "addtid")) return false;
  instruction.format = segment == 0 ? Format::flat : segment == 1 ? Format::scratch : Format::global;
  instruction.opcode = static_cast<std::uint16_t>(bits(word, 18, 7));
  // FLAT's offset has 12 bits and no sign, the 13th is reserved; the segments' have 13 with one.
  if (segment == 0 && bits(word, 12, 1) != 0) return false;
  instruction.offset =
      segment == 0 ? static_cast<std::int32_t>(bits(word, 0, 12)) : sign_extended(bits(word, 0, 13), 13);
  instruction.dlc = bits(word, 13, 1) != 0;
  instruction.glc = bits(word, 14, 1) != 0;
  instruction.slc = bits(word, 15, 1) != 0;
  const bool store = name_contains(instruction, "_store_"), atomic = name_contains(instruction, "_atomic_");
  if (store || atomic) instruction.src[1] = vector_register(bits(more, 8, 8));
  if ((!store && !atomic) || (atomic && instruction.glc)) instruction.dst = vector_register(bits(more, 24, 8));
  const std::uint32_t base = bits(more, 16, 7);
  if (segment != 0 && base != null_code) {
    instruction.scalar_base = true;
    instruction.src[2] = scalar_register(base);
  }
  if (segment == 1) instruction.vector_address = bits(more, 23, 1) != 0;
  if (instruction.vector_address) instruction.src[0] = vector_register(bits(more, 0, 8));
  return true;
}

bool decode_buffer(Instruction& instruction) {
  const std::uint32_t word = instruction.words[0], more = instruction.words[1];
  const bool typed = bits(word, 26, 6) == 0b111010;
  instruction.format = typed ? Format::mtbuf : Format::mubuf;
  instruction.opcode = static_cast<std::uint16_t>(typed ? bits(word, 15, 4) : bits(word, 18, 8));
  if (!name_contains(instruction, "_load_") && !name_contains(instruction, "_store_") &&
      !name_contains(instruction, "_atomic_"))
    return true;  // cache control has no operands
  instruction.offset = static_cast<std::int32_t>(bits(word, 0, 12));
  instruction.slc = bits(word, 12, 1) != 0;
  instruction.dlc = bits(word, 13, 1) != 0;
  instruction.glc = bits(word, 14, 1) != 0;
  instruction.tfe = bits(more, 21, 1) != 0;
  instruction.offen = bits(more, 22, 1) != 0;
  instruction.idxen = bits(more, 23, 1) != 0;
  if (typed) {
    const BufferFormat format = buffer_format_gfx11(bits(word, 19, 7));
    instruction.data_format = format.data;
    instruction.number_format = format.number;
  }
  const Source data = vector_register(bits(more, 8, 8));
  const bool store = name_contains(instruction, "_store_"), atomic = name_contains(instruction, "_atomic_");
  if (store || atomic) instruction.src[1] = data;
  if ((!store && !atomic) || (atomic && instruction.glc)) instruction.dst = data;
  instruction.vector_address = instruction.offen || instruction.idxen;
  if (instruction.vector_address) instruction.src[0] = vector_register(bits(more, 0, 8));
  instruction.src[2] = scalar_register(bits(more, 16, 5) * 4);
  const std::uint32_t scalar_offset = bits(more, 24, 8);
  return scalar_offset != literal_code && source_of(scalar_offset, 0, instruction.src[3]);
}

}  // namespace kiln::emulator::fields::gfx11
