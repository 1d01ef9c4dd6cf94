#include "engine/emulator/core/lds_table.hpp"

#include "engine/emulator/core/memory_atomic.hpp"
#include "engine/emulator/core/names_rdna.hpp"

namespace kiln::emulator {
namespace {

void nothing(Wave&, const Instruction&) {}

constexpr auto low = Half::low, high = Half::high, whole = Half::whole;

constexpr LdsRow unsorted[] = {
    {"read_u8", execute_lds_load, {1}},
    {"read_i8", execute_lds_load, {1, true}},
    {"read_u16", execute_lds_load, {2}},
    {"read_i16", execute_lds_load, {2, true}},
    {"read_b32", execute_lds_load, {4}},
    {"read_b64", execute_lds_load, {8}},
    {"read_b96", execute_lds_load, {12}},
    {"read_b128", execute_lds_load, {16}},
    {"read_u8_d16", execute_lds_load, {1, false, low}},
    {"read_u8_d16_hi", execute_lds_load, {1, false, high}},
    {"read_i8_d16", execute_lds_load, {1, true, low}},
    {"read_i8_d16_hi", execute_lds_load, {1, true, high}},
    {"read_u16_d16", execute_lds_load, {2, false, low}},
    {"read_u16_d16_hi", execute_lds_load, {2, false, high}},
    {"read2_b32", execute_lds_load2, {4}, 4, 2},
    {"read2_b64", execute_lds_load2, {8}, 8, 2},
    {"read2st64_b32", execute_lds_load2, {4}, 256, 2},
    {"read2st64_b64", execute_lds_load2, {8}, 512, 2},
    {"read_addtid_b32", execute_lds_addtid, {4}},
    {"read_b64_tr_b16", execute_lds_transpose, {8}, 16, 1, false, target_gfx950},
    {"read_b64_tr_b8", execute_lds_transpose, {8}, 8, 1, false, target_gfx950},
    {"read_b64_tr_b4", execute_lds_transpose, {8}, 4, 1, false, target_gfx950},
    {"read_b96_tr_b6", execute_lds_transpose, {12}, 6, 1, false, target_gfx950},
    {"write_b8", execute_lds_store, {1}, 1, 1, true},
    {"write_b16", execute_lds_store, {2}, 1, 1, true},
    {"write_b32", execute_lds_store, {4}, 1, 1, true},
    {"write_b64", execute_lds_store, {8}, 1, 1, true},
    {"write_b96", execute_lds_store, {12}, 1, 1, true},
    {"write_b128", execute_lds_store, {16}, 1, 1, true},
    {"write_b8_d16_hi", execute_lds_store, {1, false, high}, 1, 1, true},
    {"write_b16_d16_hi", execute_lds_store, {2, false, high}, 1, 1, true},
    {"write2_b32", execute_lds_store2, {4}, 4, 1, true},
    {"write2_b64", execute_lds_store2, {8}, 8, 1, true},
    {"write2st64_b32", execute_lds_store2, {4}, 256, 1, true},
    {"write2st64_b64", execute_lds_store2, {8}, 512, 1, true},
    {"write_addtid_b32", execute_lds_addtid, {4}, 1, 1, true},
    {"wrxchg2_rtn_b32", execute_lds_exchange2, {4}, 4, 2},
    {"wrxchg2_rtn_b64", execute_lds_exchange2, {8}, 8, 2},
    {"wrxchg2st64_rtn_b32", execute_lds_exchange2, {4}, 256, 2},
    {"wrxchg2st64_rtn_b64", execute_lds_exchange2, {8}, 512, 2},
    {"condxchg32_rtn_b64", execute_lds_conditional_exchange, {8}},
    {"append", execute_lds_count, {4}, 1, 1, true},
    {"consume", execute_lds_count, {4}},
    {"swizzle_b32", execute_lds_swizzle, {4, false, whole}},
    {"permute_b32", execute_lds_permute, {4}},
    {"bpermute_b32", execute_lds_backward_permute, {4}},
    {"nop", nothing, {4}},
};
constexpr SortedTable table(unsorted);

bool fits(const Source& operand, int count) { return operand.kind == Source::Kind::none || rows_fit(operand, count); }

// "add_rtn_u32" and "add_u32" are one operation; that it returns is seen by the destination.
bool bind_atomic(Instruction& instruction, std::string_view rest, Family family) {
  constexpr std::string_view returning = "_rtn_";
  char name[32];
  const std::size_t at = rest.find(returning);
  if (rest.size() >= sizeof name) return false;
  std::size_t size = 0;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (at != std::string_view::npos && i > at && i < at + returning.size()) continue;
    name[size++] = rest[i];
  }
  const AtomicOperation* operation = find_lds_atomic({name, size}, family);
  if (!operation) return false;
  const int registers = operation->apply64 ? 2 : 1;
  if (!rows_fit(instruction.src[0], 1) || !rows_fit(instruction.src[1], registers)) return false;
  if (!fits(instruction.dst, registers)) return false;
  if (operation->compares && !rows_fit(instruction.src[3], registers)) return false;
  instruction.execute = execute_lds_atomic;
  instruction.operation = operation;
  return true;
}

}  // namespace

bool bind_lds(Instruction& instruction, Family family) {
  const std::string_view name = instruction.name;
  if (!name.starts_with("ds_") || instruction.gds) return false;
  const std::string_view rest = lds_name(name.substr(3), family);
  const LdsRow* row = table.find(rest);
  if (!row) return bind_atomic(instruction, rest, family);
  if (!has_target(row->targets, family)) return false;
  const int registers = dwords(row->transfer);
  if (!fits(instruction.src[0], 1) || !fits(instruction.src[1], registers) || !fits(instruction.src[3], registers)) {
    return false;
  }
  if (!fits(instruction.dst, registers * row->accesses)) return false;
  instruction.execute = row->execute;
  instruction.operation = row;
  return true;
}

}  // namespace kiln::emulator
