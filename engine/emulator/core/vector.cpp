// Which row executes a vector instruction, and the common executions.
#include "engine/emulator/core/vector.hpp"

#include "engine/emulator/core/names_rdna.hpp"
#include "engine/emulator/core/rounding.hpp"

namespace kiln::emulator {
namespace {

std::uint8_t family_bit(Family family) {
  switch (family) {
    case Family::gfx90a: return on_gfx90a;
    case Family::gfx942: return on_gfx942;
    case Family::gfx950: return on_gfx950;
    case Family::gfx11: return on_gfx11;
  }
  return 0;
}

// Types that finish() clamps.
bool clamps_as_float(Type type) { return uses_mode32(type) || uses_mode_wide(type); }

bool is_half(Type type) {
  return type == Type::b16 || type == Type::i16 || type == Type::u16 || type == Type::f16 || type == Type::bf16;
}

bool is_packed(Type type) {
  return type == Type::pk16 || type == Type::pkf16 || type == Type::pkbf16 || type == Type::pkf32 ||
         type == Type::pkb32;
}

// Rows with that name lie next to each other.
const VectorRow* find_in(const VectorTable& table, std::string_view name, bool clamp, std::uint8_t family) {
  int low = 0, high = table.count;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (table.rows[middle].name < name) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const VectorRow* found = nullptr;
  for (; low < table.count && table.rows[low].name == name; ++low) {
    const VectorRow& row = table.rows[low];
    if ((row.families & family) == 0) continue;
    const bool saturating = (row.flags & saturates) != 0;
    if (saturating == clamp) return &row;
    if (!saturating) found = &row;
  }
  return found;
}

Type source_type(const VectorRow& row, int index) { return index == 0 ? row.a : index == 1 ? row.b : row.c; }

// What the instruction itself says that its row's plain loop does not do. RDNA3 keeps the other half of all 16-bit
// results.
bool has_modifiers(const Instruction& in, const VectorRow& row, Family family) {
  if (in.sdwa.used || in.dpp.used || (row.flags & keeps_high) != 0) return true;
  if (family == Family::gfx11 && is_half(row.d)) return true;
  if ((row.flags & plain_bits) == 0 && (in.neg | in.abs | in.neg_hi | in.omod) != 0) return true;
  if (in.clamp && (row.flags & saturates) == 0) return true;
  int packed = 0;
  bool half = is_half(row.d);
  for (int i = 0; i < 3; ++i) {
    packed |= is_packed(source_type(row, i)) ? 1 << i : 0;
    half = half || is_half(source_type(row, i));
  }
  if (packed != 0 && in.format == Format::vop3p) {
    return (in.op_sel & packed) != 0 || (in.op_sel_hi & packed) != packed;
  }
  return half && in.op_sel != 0;
}

std::uint64_t input_mask(const Wave& wave, const Instruction& in, const VectorRow& row) {
  if ((row.flags & takes_vcc) != 0) return wave.scalar64(code::vcc);
  return (row.flags & takes_mask) != 0 ? read_mask(wave, in.src[2]) : 0;
}

}  // namespace

const VectorRow* find_vector(std::string_view name, bool clamp, Family family) {
  const std::uint8_t bit = family_bit(family);
  if (bit == 0) return nullptr;
  if (name.starts_with("v_cmp")) return find_compare(name);
  if (family == Family::gfx11) {
    if (const VectorRow* row = find_in(vector_rdna_table, name, clamp, bit)) return row;
    name = vector_name_rdna(name);
  }
  const VectorTable* const tables[] = {&vector_f32_table,
                                       &vector_f16_table,
                                       &vector_f64_table,
                                       &vector_integer_table,
                                       &vector_integer16_table,
                                       &vector_integer64_table,
                                       &vector_packed_table,
                                       &vector_dot_table,
                                       &vector_convert_table,
                                       &vector_small_table,
                                       &vector_transcendental_table,
                                       &vector_divide_table,
                                       &vector_move_table};
  for (const VectorTable* table : tables) {
    if (const VectorRow* row = find_in(*table, name, clamp, bit)) return row;
  }
  return nullptr;
}

void bind_sources(Instruction& in, const VectorRow& row) {
  for (int i = 0; i < 3; ++i) {
    Source& source = in.src[i];
    if (source.kind != Source::Kind::constant && source.kind != Source::Kind::literal) continue;
    const Type type = source_type(row, i);
    source.value = constant_value(source, type == Type::none ? Type::b64 : type);
  }
}

bool bind_vector(Instruction& in, Family family) {
  const VectorRow* row = find_vector(in.name, in.clamp, family);
  if (row == nullptr) return false;
  const bool is_compare = (row->flags & compares) != 0;
  // A clamp that neither the row nor its result's type knows would be lost. Compares have a bit there that only changes
  // exceptions; of the rows with an execution of their own the mixing ones clamp, which are floats.
  const bool clamps = (row->flags & saturates) != 0 || is_compare ||
                      (clamps_as_float(row->d) && (row->execute == nullptr || (row->flags & floats) != 0));
  if (in.clamp && !clamps) return false;
  in.operation = row;
  bind_sources(in, *row);
  if (row->execute != nullptr) {
    in.execute = row->execute;
  } else if (is_compare) {
    in.execute = execute_vector_compare;
  } else {
    in.execute = has_modifiers(in, *row, family) ? execute_vector : execute_vector_plain;
  }
  return true;
}

void execute_vector_plain(Wave& wave, const Instruction& in) {
  const VectorRow& row = *static_cast<const VectorRow*>(in.operation);
  if ((wave.mode & row.mode_relevant) != row.mode_usual) [[unlikely]] return execute_vector(wave, in);
  alignas(64) RowScratch scratch[3];
  Lanes l;
  l.mode = wave.mode;
  l.a = fetch_plain(wave, in.src[0], rows_of(row.a), scratch[0]);
  if (row.b != Type::none) l.b = fetch_plain(wave, in.src[1], rows_of(row.b), scratch[1]);
  if ((row.flags & accumulates) != 0) {
    l.c = wave.vector[in.dst.index];
  } else if (row.c != Type::none) {
    l.c = fetch_plain(wave, in.src[2], rows_of(row.c), scratch[2]);
  }
  if ((row.flags & (takes_mask | takes_vcc)) != 0) l.mask_in = input_mask(wave, in, row);
  const std::uint64_t exec = wave.exec();
  std::uint32_t* destination = wave.vector[in.dst.index];
  if (exec == ~std::uint64_t{0}) {
    l.d = destination;
    row.compute(l);
  } else {
    alignas(64) RowScratch result;
    l.d = result;
    row.compute(l);
    for (int i = 0; i < rows_of(row.d); ++i) merge_row(destination + i * lanes, result + i * lanes, exec);
  }
  if ((row.flags & gives_mask) != 0) write_mask(wave, in, row, l.mask_out & exec);
}

namespace {

// Sources with modifiers, and the loop.
void compute_modified(ModifiedSources& sources, RowScratch (&scratch)[3], Lanes& l) {
  const VectorRow& row = sources.row;
  l.mode = sources.wave.mode;
  l.a = fetch(sources, 0, row.a, scratch[0]);
  if (row.b != Type::none) l.b = fetch(sources, 1, row.b, scratch[1]);
  if (row.c != Type::none) l.c = fetch(sources, 2, row.c, scratch[2]);
  l.mask_in = input_mask(sources.wave, sources.instruction, row);
  const std::uint32_t wide = l.mode >> 2 & 3;
  if ((row.flags & rounds_wide) != 0 && wide != (l.mode & 3)) {
    const Rounding rounding(wide);
    row.compute(l);
  } else {
    row.compute(l);
  }
}

}  // namespace

void execute_vector(Wave& wave, const Instruction& in) {
  const VectorRow& row = *static_cast<const VectorRow*>(in.operation);
  alignas(64) RowScratch scratch[3], result;
  Lanes l;
  l.d = result;
  ModifiedSources sources{wave, in, row, wave.exec()};
  compute_modified(sources, scratch, l);
  finish(wave, in, row, result, sources.writable);
  if ((row.flags & gives_mask) != 0) write_mask(wave, in, row, l.mask_out & sources.writable);
}

void execute_vector_compare(Wave& wave, const Instruction& in) {
  const VectorRow& row = *static_cast<const VectorRow*>(in.operation);
  alignas(64) RowScratch scratch[3];
  Lanes l;
  ModifiedSources sources{wave, in, row, wave.exec()};
  const bool plain = (in.neg | in.abs | in.op_sel) == 0 && !in.sdwa.used && !in.dpp.used;
  if (plain && (wave.mode & row.mode_relevant) == row.mode_usual) {
    l.mode = wave.mode;
    l.a = fetch_plain(wave, in.src[0], rows_of(row.a), scratch[0]);
    l.b = fetch_plain(wave, in.src[1], rows_of(row.b), scratch[1]);
    row.compute(l);
  } else {
    compute_modified(sources, scratch, l);
  }
  if ((row.flags & inverts) != 0) l.mask_out = ~l.mask_out;
  write_mask(wave, in, row, l.mask_out & sources.writable);
}

}  // namespace kiln::emulator
