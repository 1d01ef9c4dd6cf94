// Vector ALU instructions: the tables that name them and what their execution is made of.
//
// An instruction runs in three steps. Its sources become rows of 64 dwords (values of 64 bits: two rows, the low halves
// first): the register file's own row where no modifier stands in between, else a scratch row. A pure loop, `compute`,
// turns rows into rows for all 64 lanes. The result goes straight into the destination's row where every lane is active
// and nothing follows; else output modifiers and the merge with what inactive lanes hold come last. A lane's result
// depends on that lane's sources only and a loop reads all of a lane before it writes any of it, so that destinations
// may share rows with sources in any way.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "engine/emulator/core/families.hpp"
#include "engine/emulator/core/wave.hpp"

namespace kiln::emulator {

// Bits of MODE (ISA documents, "MODE register").
namespace mode_bit {
inline constexpr std::uint32_t round32 = 0x3, round_wide = 0xc;       // f32; f64 and f16
inline constexpr std::uint32_t denormal_in32 = 0x10, denormal_out32 = 0x20;
inline constexpr std::uint32_t denormal_in_wide = 0x40, denormal_out_wide = 0x80;
inline constexpr std::uint32_t dx10_clamp = 1u << 8, ieee = 1u << 9, half_overflow = 1u << 23;
}  // namespace mode_bit

struct VectorRow;

// What a compute loop works on. Rows are 64-byte aligned.
struct Lanes {
  const std::uint32_t* a = nullptr;
  const std::uint32_t* b = nullptr;
  const std::uint32_t* c = nullptr;
  std::uint32_t* d = nullptr;
  std::uint64_t mask_in = 0;             // carry, condition
  std::uint64_t mask_out = 0;            // set by loops of rows with `mask_out` or `compares`; all 64 lanes
  std::uint32_t mode = 0;                // the wave's MODE
};
using Compute = void (*)(Lanes& lanes);

enum RowFlag : std::uint32_t {
  accumulates = 1,       // the destination is the third source
  keeps_high = 2,        // 16-bit result whose other half stays; without it that half becomes 0
  takes_mask = 4,        // src[2] is a mask of lanes
  takes_vcc = 8,         // VCC is one
  gives_mask = 16,       // scalar_dst receives a mask beside the result
  compares = 32,         // scalar_dst receives a mask, there is no other result
  writes_exec = 64,      // and EXEC too
  inverts = 128,         // the mask is complemented
  floats = 256,          // honours the denormal mode of its types
  rounds_wide = 512,     // rounds by MODE's f64/f16 mode
  plain_bits = 1024,     // neg, abs and omod are no modifiers of it
  saturates = 2048,      // the row for `clamp` of an integer operation
};

// Families that a row is for.
inline constexpr std::uint8_t on_gfx90a = 1, on_gfx942 = 2, on_gfx950 = 4, on_gfx11 = 8;
inline constexpr std::uint8_t on_fp8 = on_gfx942 | on_gfx950, on_all = on_gfx90a | on_gfx942 | on_gfx950 | on_gfx11;

struct VectorRow {
  std::string_view name;
  Compute compute = nullptr;
  Type d = Type::none, a = Type::none, b = Type::none, c = Type::none;
  std::uint32_t flags = 0;
  std::uint8_t families = on_all;
  Execute execute = nullptr;             // instead of the common one; `compute` may be null then
  std::uint32_t parameter = 0;           // for `execute`
  // MODE & mode_relevant == mode_usual: no denormal is flushed and the host rounds as the row wants. Set by usual_mode.
  std::uint32_t mode_relevant = 0, mode_usual = 0;
};

constexpr bool uses_mode32(Type type) { return type == Type::f32 || type == Type::pkf32; }
constexpr bool uses_mode_wide(Type type) { return type == Type::f16 || type == Type::pkf16 || type == Type::f64; }

constexpr VectorRow usual_mode(VectorRow row) {
  for (const Type type : {row.d, row.a, row.b, row.c}) {
    if ((row.flags & floats) == 0) break;
    if (uses_mode32(type)) row.mode_usual |= mode_bit::denormal_in32 | mode_bit::denormal_out32;
    if (uses_mode_wide(type)) row.mode_usual |= mode_bit::denormal_in_wide | mode_bit::denormal_out_wide;
  }
  row.mode_relevant = row.mode_usual;
  if ((row.flags & rounds_wide) != 0) row.mode_relevant |= mode_bit::round32 | mode_bit::round_wide;
  return row;
}

struct VectorTable {
  const VectorRow* rows;                 // sorted by name
  int count;
};

// The tables, by what their instructions work on; each in the file of that name.
extern const VectorTable vector_f32_table, vector_f16_table, vector_f64_table, vector_integer_table,
    vector_integer16_table, vector_integer64_table, vector_packed_table, vector_dot_table, vector_convert_table,
    vector_small_table, vector_transcendental_table, vector_divide_table, vector_move_table,
    vector_rdna_table;  // RDNA3's alone, or otherwise there; looked up before the others
// v_cmp*, v_cmpx*: null where the name is none.
const VectorRow* find_compare(std::string_view name);

// The row of a name; `clamp`: the saturating one where there is one. Null: none for this family.
const VectorRow* find_vector(std::string_view name, bool clamp, Family family);

// A constexpr table sorted at compile time.
template <int n>
struct SortedRows {
  VectorRow rows[n] = {};
  constexpr explicit SortedRows(const VectorRow (&unsorted)[n]) {
    for (int i = 0; i < n; ++i) {
      int at = i;
      for (; at > 0 && unsorted[i].name < rows[at - 1].name; --at) rows[at] = rows[at - 1];
      rows[at] = usual_mode(unsorted[i]);
    }
  }
  [[nodiscard]] constexpr VectorTable table() const { return {rows, n}; }
};

inline constexpr int rows_max = 2;       // of a source or destination that the common path handles
using RowScratch = std::uint32_t[rows_max * lanes];

// Number of rows that a type occupies.
constexpr int rows_of(Type type) {
  switch (type) {
    case Type::none: return 0;
    case Type::b64: case Type::i64: case Type::u64: case Type::f64: case Type::pkf32: case Type::pkb32: return 2;
    default: return 1;
  }
}

// Fills the sources' values. Every bind calls it once.
void bind_sources(Instruction& instruction, const VectorRow& row);

// Source `index` as rows, without modifiers: the register's row, or `scratch` filled.
const std::uint32_t* fetch_plain(const Wave& wave, const Source& source, int rows, std::uint32_t* scratch);
// The sources of one instruction with modifiers. DPP takes lanes that are not to be written out of `writable`.
struct ModifiedSources {
  const Wave& wave;
  const Instruction& instruction;
  const VectorRow& row;
  std::uint64_t writable;                // EXEC to begin with
};
const std::uint32_t* fetch(ModifiedSources& sources, int index, Type type, std::uint32_t* scratch);

// dst[lane] = value[lane] for the lanes of `mask`.
void merge_row(std::uint32_t* destination, const std::uint32_t* value, std::uint64_t mask);
// Output modifiers (omod, clamp, denormals, SDWA's and op_sel's place) on `value`, in place, then the merge.
void finish(Wave& wave, const Instruction& instruction, const VectorRow& row, std::uint32_t* value,
            std::uint64_t writable);
// Lanes that src[2] (VCC where `row` says so) names; waves of 32 have their masks in one register.
std::uint64_t read_mask(const Wave& wave, const Source& source);
void write_mask(Wave& wave, const Instruction& instruction, const VectorRow& row, std::uint64_t mask);

// The common ways to execute a row.
void execute_vector(Wave& wave, const Instruction& instruction);          // any modifiers
void execute_vector_plain(Wave& wave, const Instruction& instruction);    // none
void execute_vector_compare(Wave& wave, const Instruction& instruction);

// One bit per lane from a row of ~0u and 0.
std::uint64_t pack_mask(const std::uint32_t* row);
void expand_mask(std::uint64_t mask, std::uint32_t* row);

}  // namespace kiln::emulator
