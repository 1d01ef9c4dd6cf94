// Sources and results of vector instructions: registers, constants, and the modifiers around an operation.
// Sources: AMD's ISA documents of MI200, MI300 and CDNA4, "VALU operands", "Input modifiers", "Output modifiers",
// "SDWA" and "DPP".
#include <immintrin.h>

#include "engine/emulator/core/vector.hpp"
#include "engine/emulator/core/scalar_access.hpp"

namespace kiln::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

void broadcast(u32* row, u32 value) {
  for (int i = 0; i < lanes; ++i) row[i] = value;
}

void copy_row(u32* to, const u32* from) {
  for (int i = 0; i < lanes; ++i) to[i] = from[i];
}

// --- DPP
// ---------------------------------------------------------------------------------------------------------------

// Which lane each lane reads; the mask says for which there is one.
u64 dpp_lanes(u32 control, std::uint8_t (&from)[lanes]) {
  u64 valid = 0;
  const int amount = static_cast<int>(control & 15);
  for (int lane = 0; lane < lanes; ++lane) {
    const int row = lane & ~15, at = lane & 15;
    int source = -1;
    if (control <= 0xff) {
      source = (lane & ~3) | static_cast<int>(control >> 2 * (lane & 3) & 3);
    } else if (control <= 0x10f) {
      source = at + amount < 16 ? lane + amount : -1;          // row_shl
    } else if (control <= 0x11f) {
      source = at >= amount ? lane - amount : -1;              // row_shr
    } else if (control <= 0x12f) {
      source = row | ((at - amount) & 15);                     // row_ror
    } else if (control >= 0x150 && control <= 0x15f) {
      source = row | amount;                                   // row_newbcast; RDNA: row_share
    } else if (control >= 0x160 && control <= 0x16f) {
      source = row | (at ^ amount);                            // RDNA: row_xmask
    } else {
      switch (control) {
        case 0x130: source = lane + 1 < lanes ? lane + 1 : -1; break;   // wave_shl
        case 0x134: source = (lane + 1) & 63; break;                    // wave_rol
        case 0x138: source = lane - 1; break;                           // wave_shr
        case 0x13c: source = (lane - 1) & 63; break;                    // wave_ror
        case 0x140: source = row | (15 - at); break;                    // row_mirror
        case 0x141: source = (lane & ~7) | (7 - (lane & 7)); break;     // row_half_mirror
        case 0x142: source = row - 1; break;                            // row_bcast:15
        case 0x143: source = lane >= 32 ? 31 : -1; break;               // row_bcast:31
        default: break;
      }
    }
    from[lane] = static_cast<std::uint8_t>(source < 0 ? lane : source);
    valid |= u64{source >= 0} << lane;
  }
  return valid;
}

// DPP8: any order within eight lanes.
u64 dpp8_lanes(u32 order, std::uint8_t (&from)[lanes]) {
  for (int lane = 0; lane < lanes; ++lane) {
    from[lane] = static_cast<std::uint8_t>((lane & ~7) | static_cast<int>(order >> 3 * (lane & 7) & 7));
  }
  return ~u64{0};
}

u64 rows_and_banks(const Dpp& dpp) {
  u64 mask = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    mask |= u64{(dpp.row_mask >> (lane >> 4) & 1u) & (dpp.bank_mask >> (lane >> 2 & 3) & 1u)} << lane;
  }
  return mask;
}

// A lane that is switched off counts as one out of range.
const u32* apply_dpp(ModifiedSources& sources, const u32* value, int rows, u32* scratch) {
  const Dpp& dpp = sources.instruction.dpp;
  std::uint8_t from[lanes];
  u64 valid = dpp.is_dpp8 ? dpp8_lanes(dpp.lanes8, from) : dpp_lanes(dpp.control, from);
  const u64 exec = sources.wave.exec();
  if (exec != ~u64{0} && !dpp.fetch_inactive) {
    for (int lane = 0; lane < lanes; ++lane) valid &= ~(u64{(exec >> from[lane] & 1) == 0} << lane);
  }
  u32 moved[rows_max * lanes];
  for (int i = 0; i < rows * lanes; ++i) {
    const int lane = i & (lanes - 1);
    moved[i] = valid >> lane & 1 ? value[(i & ~(lanes - 1)) + from[lane]] : 0;
  }
  for (int i = 0; i < rows; ++i) copy_row(scratch + i * lanes, moved + i * lanes);
  sources.writable &= rows_and_banks(dpp);
  if (!dpp.bound_control) sources.writable &= valid;
  return scratch;
}

// --- Parts of a dword
// --------------------------------------------------------------------------------------------------

void select_part(const u32* value, u32* out, int select, bool sign) {
  const int width = select < 4 ? 8 : select < 6 ? 16 : 32;
  const int at = select < 4 ? 8 * select : select == 5 ? 16 : 0, up = 32 - width;
  if (sign) {
    for (int i = 0; i < lanes; ++i) out[i] = static_cast<u32>(static_cast<std::int32_t>(value[i] >> at << up) >> up);
  } else {
    for (int i = 0; i < lanes; ++i) out[i] = value[i] >> at << up >> up;
  }
}

// Halves of packed 16-bit values as op_sel (for the low result) and op_sel_hi choose them.
void select_halves(const u32* value, u32* out, bool low_from_high, bool high_from_high) {
  const int low = low_from_high ? 16 : 0, high = high_from_high ? 16 : 0;
  for (int i = 0; i < lanes; ++i) out[i] = (value[i] >> low & 0xffffu) | value[i] >> high << 16;
}

// --- Signs and denormals
// -----------------------------------------------------------------------------------------------

struct SignBits {
  u32 clear = 0, flip = 0;
};

void change_signs(const u32* value, u32* out, SignBits bits) {
  for (int i = 0; i < lanes; ++i) out[i] = (value[i] & ~bits.clear) ^ bits.flip;
}

void flush_row32(const u32* value, u32* out) {
  for (int i = 0; i < lanes; ++i) out[i] = (value[i] & 0x7f800000u) == 0 ? value[i] & 0x80000000u : value[i];
}

void flush_row16(const u32* value, u32* out) {
  for (int i = 0; i < lanes; ++i) {
    const u32 low = (value[i] & 0x7c00u) == 0 ? value[i] & 0x8000u : value[i] & 0xffffu;
    const u32 high = (value[i] & 0x7c000000u) == 0 ? value[i] & 0x80000000u : value[i] & 0xffff0000u;
    out[i] = low | high;
  }
}

void flush_row64(const u32* value, u32* out) {
  for (int i = 0; i < lanes; ++i) {
    const bool tiny = (value[i + lanes] & 0x7ff00000u) == 0;
    const u32 high = value[i + lanes];
    out[i] = tiny ? 0 : value[i];
    out[i + lanes] = tiny ? high & 0x80000000u : high;
  }
}

// `out` may be `value`.
void flush_type(Type type, const u32* value, u32* out) {
  switch (type) {
    case Type::f32: flush_row32(value, out); break;
    case Type::pkf32:
      flush_row32(value, out);
      flush_row32(value + lanes, out + lanes);
      break;
    case Type::f16:
    case Type::pkf16: flush_row16(value, out); break;
    case Type::f64: flush_row64(value, out); break;
    default: break;
  }
}

bool flushes_input(Type type, u32 mode) {
  return (uses_mode32(type) && (mode & mode_bit::denormal_in32) == 0) ||
         (uses_mode_wide(type) && (mode & mode_bit::denormal_in_wide) == 0);
}

bool is_packed16(Type type) { return type == Type::pk16 || type == Type::pkf16 || type == Type::pkbf16; }
bool is_half(Type type) {
  return type == Type::b16 || type == Type::i16 || type == Type::u16 || type == Type::f16 || type == Type::bf16;
}

// Neg and abs of source `index` by type; packed types have a neg for each half.
const u32* apply_signs(const Instruction& in, int index, Type type, const u32* value, u32* scratch) {
  const bool neg = (in.neg >> index & 1) != 0, abs = (in.abs >> index & 1) != 0, high = (in.neg_hi >> index & 1) != 0;
  if (!neg && !abs && !high) return value;
  switch (type) {
    case Type::f16:
    case Type::bf16: change_signs(value, scratch, {abs ? 0x8000u : 0, neg ? 0x8000u : 0}); return scratch;
    case Type::b32:
    case Type::f32: change_signs(value, scratch, {abs ? 0x80000000u : 0, neg ? 0x80000000u : 0}); return scratch;
    case Type::pkf16:
    case Type::pkbf16:
      change_signs(value, scratch, {0, (neg ? 0x8000u : 0) | (high ? 0x80000000u : 0)});
      return scratch;
    case Type::b64:
    case Type::f64:
      if (value != scratch) copy_row(scratch, value);
      change_signs(value + lanes, scratch + lanes, {abs ? 0x80000000u : 0, neg ? 0x80000000u : 0});
      return scratch;
    case Type::pkf32:
      change_signs(value, scratch, {0, neg ? 0x80000000u : 0});
      change_signs(value + lanes, scratch + lanes, {0, high ? 0x80000000u : 0});
      return scratch;
    default: return value;
  }
}

// op_sel and op_sel_hi.
const u32* apply_selection(const Instruction& in, int index, Type type, const u32* value, u32* scratch) {
  const bool select = (in.op_sel >> index & 1) != 0, select_high = (in.op_sel_hi >> index & 1) != 0;
  if (is_half(type) && select && !in.sdwa.used) {
    select_part(value, scratch, 5, false);
    return scratch;
  }
  if (in.format != Format::vop3p || (!select && select_high)) return value;
  if (is_packed16(type)) {
    select_halves(value, scratch, select, select_high);
    return scratch;
  }
  if (type == Type::pkf32) {
    alignas(64) u32 low[lanes];
    copy_row(low, value + (select ? lanes : 0));
    if (value + lanes != scratch + lanes || !select_high) copy_row(scratch + lanes, value + (select_high ? lanes : 0));
    copy_row(scratch, low);
    return scratch;
  }
  return value;
}

}  // namespace

const u32* fetch_plain(const Wave& wave, const Source& source, int rows, u32* scratch) {
  if (source.kind == Source::Kind::vector) [[likely]] {
    return wave.vector[source.index];
  }
  if (rows == 1) {
    broadcast(scratch, scalar32(wave, source));
  } else {
    const u64 value = scalar64(wave, source);
    broadcast(scratch, static_cast<u32>(value));
    broadcast(scratch + lanes, static_cast<u32>(value >> 32));
  }
  return scratch;
}

const u32* fetch(ModifiedSources& sources, int index, Type type, u32* scratch) {
  const Wave& wave = sources.wave;
  const Instruction& in = sources.instruction;
  const VectorRow& row = sources.row;
  if (index == 2 && (row.flags & accumulates) != 0) {
    const u32* value = wave.vector[in.dst.index];
    // The half that a 16-bit accumulation works on is the one it writes.
    if (is_half(type) && (in.op_sel & 8) != 0) {
      select_part(value, scratch, 5, false);
      value = scratch;
    }
    if ((row.flags & floats) == 0 || !flushes_input(type, wave.mode)) return value;
    flush_type(type, value, scratch);
    return scratch;
  }
  const u32* value = fetch_plain(wave, in.src[index], rows_of(type), scratch);
  if (in.dpp.used && index == 0) value = apply_dpp(sources, value, rows_of(type), scratch);
  if (in.sdwa.used && index < 2 && rows_of(type) == 1 &&
      (in.sdwa.source_select[index] != 6 || in.sdwa.sign_extend[index])) {
    select_part(value, scratch, in.sdwa.source_select[index], in.sdwa.sign_extend[index]);
    value = scratch;
  }
  value = apply_selection(in, index, type, value, scratch);
  if ((row.flags & plain_bits) == 0) value = apply_signs(in, index, type, value, scratch);
  if ((row.flags & floats) != 0 && flushes_input(type, wave.mode)) {
    flush_type(type, value, scratch);
    value = scratch;
  }
  return value;
}

void merge_row(u32* destination, const u32* value, u64 mask) {
  if (mask == ~u64{0}) return copy_row(destination, value);
#ifdef __AVX512F__
  for (int i = 0; i < 4; ++i) {
    _mm512_mask_store_epi32(destination + 16 * i, static_cast<__mmask16>(mask >> 16 * i),
                            _mm512_load_si512(value + 16 * i));
  }
#else
  const __m256i bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  for (int i = 0; i < 8; ++i) {
    const __m256i some = _mm256_set1_epi32(static_cast<int>(mask >> 8 * i & 255));
    const __m256i chosen = _mm256_cmpeq_epi32(_mm256_and_si256(some, bits), bits);
    _mm256_maskstore_epi32(reinterpret_cast<int*>(destination + 8 * i), chosen,
                           _mm256_load_si256(reinterpret_cast<const __m256i*>(value + 8 * i)));
  }
#endif
}

u64 pack_mask(const u32* row) {
  u64 mask = 0;
#ifdef __AVX512F__
  for (int i = 0; i < 4; ++i) {
    const __m512i value = _mm512_load_si512(row + 16 * i);
    mask |= u64{_mm512_test_epi32_mask(value, value)} << 16 * i;
  }
#else
  for (int i = 0; i < 8; ++i) {
    const auto value = _mm256_load_ps(reinterpret_cast<const float*>(row + 8 * i));
    mask |= static_cast<u64>(static_cast<u32>(_mm256_movemask_ps(value))) << 8 * i;
  }
#endif
  return mask;
}

void expand_mask(u64 mask, u32* row) {
#ifdef __AVX512F__
  for (int i = 0; i < 4; ++i) {
    _mm512_store_si512(row + 16 * i, _mm512_maskz_set1_epi32(static_cast<__mmask16>(mask >> 16 * i), -1));
  }
#else
  const __m256i bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  for (int i = 0; i < 8; ++i) {
    const __m256i some = _mm256_set1_epi32(static_cast<int>(mask >> 8 * i & 255));
    _mm256_store_si256(reinterpret_cast<__m256i*>(row + 8 * i), _mm256_cmpeq_epi32(_mm256_and_si256(some, bits), bits));
  }
#endif
}

u64 read_mask(const Wave& wave, const Source& source) {
  return wave.size == 32 ? scalar32(wave, source) : scalar64(wave, source);
}

void write_mask(Wave& wave, const Instruction& in, const VectorRow& row, u64 mask) {
  if (in.scalar_dst.kind == Source::Kind::scalar) {
    if (wave.size == 32) write_scalar32(wave, in.scalar_dst, static_cast<u32>(mask));
    else write_scalar64(wave, in.scalar_dst, mask);
  }
  if ((row.flags & writes_exec) != 0) wave.set_scalar64(code::exec, mask);
}

}  // namespace kiln::emulator
