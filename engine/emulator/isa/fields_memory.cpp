#include "engine/emulator/isa/fields.hpp"

namespace kiln::emulator::fields {
namespace {

constexpr std::uint32_t scalar_off = 0x7f;

// What a DS operation reads and writes, by its name.
struct LdsOperands {
  bool address = true, first = true, second = false, result = false;
};
LdsOperands lds_operands(const Instruction& instruction) {
  const std::string_view name = instruction.name;
  if (name == "ds_nop" || name_starts(instruction, "ds_gws_sema_v") || name_starts(instruction, "ds_gws_sema_p") ||
      name_starts(instruction, "ds_gws_sema_release")) {
    return {false, false, false, false};
  }
  if (name_starts(instruction, "ds_gws_")) return {false, true, false, false};
  if (name == "ds_append" || name == "ds_consume" || name == "ds_read_addtid_b32") return {false, false, false, true};
  if (name == "ds_write_addtid_b32") return {false, true, false, false};
  if (name_starts(instruction, "ds_read") || name_starts(instruction, "ds_swizzle")) return {true, false, false, true};
  const bool second = name_starts(instruction, "ds_write2") || name_starts(instruction, "ds_cmpst") ||
                      name_starts(instruction, "ds_mskor") || name_starts(instruction, "ds_wrxchg2") ||
                      name_starts(instruction, "ds_wrap");
  const bool result = name_contains(instruction, "_rtn_") || name_contains(instruction, "permute");
  return {true, true, second, result};
}

}  // namespace

bool decode_lds(Instruction& instruction) {
  const std::uint32_t word = instruction.words[0], more = instruction.words[1];
  instruction.format = Format::ds;
  instruction.opcode = static_cast<std::uint16_t>(bits(word, 17, 8));
  instruction.offset = static_cast<std::int32_t>(bits(word, 0, 16));
  instruction.gds = bits(word, 16, 1) != 0;
  // Since gfx90a only the global wave sync is behind this bit; for the others it has no meaning.
  if (instruction.gds && !name_starts(instruction, "ds_gws_")) return false;
  const bool accumulation = bits(word, 25, 1) != 0;
  const LdsOperands has = lds_operands(instruction);
  if (has.address) instruction.src[0] = vector_register(bits(more, 0, 8));
  // The one operand of the global wave sync operations stands in the address's place.
  const bool in_address = name_starts(instruction, "ds_gws_");
  if (has.first) instruction.src[1] = vector_register(bits(more, in_address ? 0 : 8, 8), accumulation);
  if (has.second) instruction.src[3] = vector_register(bits(more, 16, 8), accumulation);
  if (has.result) instruction.dst = vector_register(bits(more, 24, 8), accumulation);
  return true;
}

// Loads have a result, or put it into LDS; atomics return what was there with glc (sc0).
bool decode_flat(Instruction& instruction, Family family) {
  const std::uint32_t word = instruction.words[0], more = instruction.words[1];
  const std::uint32_t segment = bits(word, 14, 2);
  if (segment == 3) return false;
  instruction.format = segment == 0 ? Format::flat : segment == 1 ? Format::scratch : Format::global;
  instruction.opcode = static_cast<std::uint16_t>(bits(word, 18, 7));
  // FLAT's offset has 12 bits and no sign, the 13th is reserved; the segments' have 13 with one.
  if (segment == 0 && bits(word, 12, 1) != 0) return false;
  instruction.offset =
      segment == 0 ? static_cast<std::int32_t>(bits(word, 0, 12)) : sign_extended(bits(word, 0, 13), 13);
  instruction.glc = bits(word, 16, 1) != 0;
  instruction.slc = bits(word, 17, 1) != 0;
  instruction.dlc = bits(word, 25, 1) != 0;
  const bool accumulation = bits(more, 23, 1) != 0;
  const bool store = name_contains(instruction, "_store_"), atomic = name_contains(instruction, "_atomic_");
  // Loads into LDS: operations of their own, on gfx90a bit 13 of the usual ones.
  instruction.lds = name_contains(instruction, "_lds_");
  if (family == Family::gfx90a && bits(word, 13, 1) != 0) {
    if (segment == 0 || store || atomic) return false;
    instruction.lds = true;
  }
  if (store || atomic) instruction.src[1] = vector_register(bits(more, 8, 8), accumulation);
  if ((!store && !atomic && !instruction.lds) || (atomic && instruction.glc))
    instruction.dst = vector_register(bits(more, 24, 8), accumulation);
  const std::uint32_t base = bits(more, 16, 7);
  if (segment != 0 && base != scalar_off) {
    instruction.scalar_base = true;
    instruction.src[2] = scalar_register(base);
  }
  if (segment == 1) {
    // gfx90a: either a vector or a scalar address; from gfx942 on bit 13 (SVE) says whether there is a vector one.
    instruction.vector_address = family == Family::gfx90a ? !instruction.scalar_base : bits(word, 13, 1) != 0;
  }
  if (instruction.vector_address) instruction.src[0] = vector_register(bits(more, 0, 8));
  return true;
}

bool decode_buffer(Instruction& instruction, Family) {
  const std::uint32_t word = instruction.words[0], more = instruction.words[1];
  const bool typed = bits(word, 26, 6) == 0b111010;
  instruction.format = typed ? Format::mtbuf : Format::mubuf;
  instruction.opcode = static_cast<std::uint16_t>(typed ? bits(word, 15, 4) : bits(word, 18, 7));
  instruction.glc = bits(word, 14, 1) != 0;
  instruction.slc = (typed ? bits(more, 22, 1) : bits(word, 17, 1)) != 0;
  instruction.dlc = (typed ? bits(more, 21, 1) : bits(word, 15, 1)) != 0;
  if (!name_contains(instruction, "_load_") && !name_contains(instruction, "_store_") &&
      !name_contains(instruction, "_atomic_"))
    return true;  // cache control has no operands
  instruction.offset = static_cast<std::int32_t>(bits(word, 0, 12));
  instruction.offen = bits(word, 12, 1) != 0;
  instruction.idxen = bits(word, 13, 1) != 0;
  instruction.lds = !typed && bits(word, 16, 1) != 0;
  if (typed) {
    instruction.data_format = static_cast<std::uint8_t>(bits(word, 19, 4));
    instruction.number_format = static_cast<std::uint8_t>(bits(word, 23, 3));
  }
  const bool accumulation = bits(more, 23, 1) != 0;
  if (name_starts(instruction, "buffer_store_lds")) return false;  // nothing makes it, no document says what it does
  const Source data = vector_register(bits(more, 8, 8), accumulation);
  const bool store = name_contains(instruction, "_store_"), atomic = name_contains(instruction, "_atomic_");
  if (store || atomic) instruction.src[1] = data;
  if ((!store && !atomic && !instruction.lds) || (atomic && instruction.glc)) instruction.dst = data;
  instruction.vector_address = instruction.offen || instruction.idxen;
  if (instruction.vector_address) instruction.src[0] = vector_register(bits(more, 0, 8));
  instruction.src[2] = scalar_register(bits(more, 16, 5) * 4);
  const std::uint32_t scalar_offset = bits(more, 24, 8);
  return scalar_offset != 255 && source_of(scalar_offset, 0, instruction.src[3]);
}

}  // namespace kiln::emulator::fields
