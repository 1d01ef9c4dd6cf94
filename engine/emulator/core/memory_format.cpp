// MUBUF's and MTBUF's accesses with a format: components of 8, 16 or 32 bits. Formats whose components differ in width,
// and the stores that would have to clamp integers, are not covered.
// Source: "AMD Instinct MI200 Instruction Set Architecture", buffer data and number formats.
#include <immintrin.h>

#include <bit>

#include "engine/emulator/core/memory_buffer.hpp"
#include "engine/emulator/core/memory_races.hpp"
#include "engine/emulator/core/rounding.hpp"

namespace kiln::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

enum NumberFormat : std::uint8_t { unorm = 0, snorm = 1, uscaled = 2, sscaled = 3, uint_ = 4, sint = 5, float_ = 7 };

struct FormatRow {
  std::string_view name;
  bool store;
  std::uint8_t components;
  bool d16 = false;
  bool high = false;
};
constexpr FormatRow unsorted[] = {
    {"load_format_x", false, 1},          {"load_format_xy", false, 2},
    {"load_format_xyz", false, 3},        {"load_format_xyzw", false, 4},
    {"store_format_x", true, 1},          {"store_format_xy", true, 2},
    {"store_format_xyz", true, 3},        {"store_format_xyzw", true, 4},
    {"load_format_d16_x", false, 1, true},    {"load_format_d16_xy", false, 2, true},
    {"load_format_d16_xyz", false, 3, true},  {"load_format_d16_xyzw", false, 4, true},
    {"store_format_d16_x", true, 1, true},    {"store_format_d16_xy", true, 2, true},
    {"store_format_d16_xyz", true, 3, true},  {"store_format_d16_xyzw", true, 4, true},
    {"load_format_d16_hi_x", false, 1, true, true},
    {"store_format_d16_hi_x", true, 1, true, true},
};
constexpr SortedTable table(unsorted);

struct ElementFormat {
  std::uint8_t components = 0, bits = 0;  // components 0: not covered
  std::uint8_t number = 0;
};
ElementFormat element_format(std::uint8_t data_format, std::uint8_t number_format) {
  struct Shape { std::uint8_t components, bits; };
  constexpr Shape shapes[16] = {{0, 0}, {1, 8}, {1, 16}, {2, 8}, {1, 32}, {2, 16}, {0, 0}, {0, 0},
                                {0, 0}, {0, 0}, {4, 8},  {2, 32}, {4, 16}, {3, 32}, {4, 32}, {0, 0}};
  const Shape shape = shapes[data_format & 15];
  const bool number_fits = number_format == uint_ || number_format == sint ||
                           (number_format == float_ ? shape.bits != 8 : shape.bits != 32 && number_format < uint_);
  if (!number_fits) return {};
  return {shape.components, shape.bits, number_format};
}

u32 bits_of(float value) { return std::bit_cast<u32>(value); }

// A component's bits as the 32 bits that a register gets.
u32 from_memory(u32 raw, const ElementFormat& format) {
  const u32 most = format.bits == 32 ? ~0u : (1u << format.bits) - 1;
  const std::int32_t value = static_cast<std::int32_t>(raw << (32 - format.bits)) >> (32 - format.bits);
  switch (format.number) {
    case unorm: return bits_of(static_cast<float>(raw) / static_cast<float>(most));
    case snorm: {
      const float scaled = static_cast<float>(value) / static_cast<float>(most >> 1);
      return bits_of(scaled < -1.0f ? -1.0f : scaled);
    }
    case uscaled: return bits_of(static_cast<float>(raw));
    case sscaled: return bits_of(static_cast<float>(value));
    case sint: return static_cast<u32>(value);
    case float_: return format.bits == 16 ? bits_of(_cvtsh_ss(static_cast<unsigned short>(raw))) : raw;
    default: return raw;
  }
}

bool is_integer(const ElementFormat& format) { return format.number == uint_ || format.number == sint; }

u32 to_d16(u32 value, const ElementFormat& format) {
  if (is_integer(format)) return value & 0xffff;
  return _cvtss_sh(std::bit_cast<float>(value), _MM_FROUND_TO_NEAREST_INT);
}

void put_component(Row rows, int lane, const FormatRow& row, int component, u32 value) {
  if (!row.d16) {
    rows[component][lane] = value;
    return;
  }
  const bool high = row.high || component % 2 == 1;
  u32& target = rows[component / 2][lane];
  target = high ? (target & 0xffff) | value << 16 : (target & 0xffff0000) | (value & 0xffff);
}

u32 read_raw(u64 address, int bits) {
  u32 raw = 0;
  std::memcpy(&raw, reinterpret_cast<const void*>(address), static_cast<std::size_t>(bits / 8));
  return raw;
}

void load_element(Row rows, int lane, const FormatRow& row, const BufferAccess& access, const ElementFormat& format,
                  u64 address, bool inside, bool identity) {
  const u32 one = is_integer(format) ? 1 : bits_of(1.0f);
  for (int component = 0; component < row.components; ++component) {
    const int select = identity ? 4 + component : access.descriptor.select[component];
    u32 value = 0;
    if (select == 1) value = one;
    if (select >= 4 && inside) {
      const int from = select - 4;
      value = from == 3 ? one : 0;  // of components that the format lacks
      if (from < format.components) {
        value = from_memory(read_raw(address + static_cast<u32>(from) * format.bits / 8, format.bits), format);
      }
    }
    put_component(rows, lane, row, component, row.d16 ? to_d16(value, format) : value);
  }
}

// Covered: components of 32 bits as they stand, halves from floats or d16.
void store_element(Row rows, int lane, const FormatRow& row, const ElementFormat& format, u64 address) {
  for (int component = 0; component < row.components && component < format.components; ++component) {
    const u32 whole = row.d16 ? rows[component / 2][lane] : rows[component][lane];
    u32 value = whole;
    if (row.d16) value = row.high || component % 2 == 1 ? whole >> 16 : whole & 0xffff;
    const bool float_form = !is_integer(format);
    if (row.d16 && format.bits == 32 && float_form) value = bits_of(_cvtsh_ss(static_cast<unsigned short>(value)));
    if (!row.d16 && format.bits == 16) value = _cvtss_sh(std::bit_cast<float>(value), _MM_FROUND_TO_NEAREST_INT);
    std::memcpy(reinterpret_cast<void*>(address + component * format.bits / 8), &value, format.bits / 8);
  }
}

bool store_is_covered(const ElementFormat& format, bool d16) {
  if (format.bits == 32) return !d16 || format.number == float_;
  return format.bits == 16 && (format.number == float_ || (d16 && is_integer(format)));
}

void execute_format(Wave& wave, const Instruction& instruction) {
  const auto& row = *static_cast<const FormatRow*>(instruction.operation);
  const BufferAccess access(wave, instruction);
  if (access.active == 0) return;
  const bool typed = instruction.format == Format::mtbuf;
  const BufferDescriptor& descriptor = access.descriptor;
  const ElementFormat format = typed ? element_format(instruction.data_format, instruction.number_format)
                                     : element_format(descriptor.data_format, descriptor.number_format);
  const u32 bytes = u32(format.components) * format.bits / 8;
  const bool in_pieces = access.crosses(0, bytes);
  if (format.components == 0 || in_pieces || (row.store && !store_is_covered(format, row.d16))) {
    return execute_not_covered(wave, instruction);
  }
  Addresses addresses;
  access.component(0, bytes, addresses);
  const u64 inside = addresses.active;
  if (inside != 0) {
    if (!check_addresses(wave, instruction, addresses, bytes, row.store)) return;
    Transfer element;
    element.bytes = static_cast<std::uint8_t>(bytes);
    const GlobalUse use = row.store ? GlobalUse::store : GlobalUse::load;
    if (!check_races(wave, instruction, addresses, element, use)) return;
    count_traffic(wave, instruction, addresses, bytes);
  }
  const Rounding nearest(0);
  const Row rows = wave.vector + (row.store ? instruction.src[1].index : instruction.dst.index);
  for (u64 left = row.store ? inside : access.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    if (row.store) store_element(rows, lane, row, format, addresses.at[lane]);
    else load_element(rows, lane, row, access, format, addresses.at[lane], inside >> lane & 1, typed);
  }
}

}  // namespace

bool bind_format(Instruction& instruction, std::string_view rest, Family) {
  const FormatRow* row = table.find(rest);
  if (!row || instruction.lds || !buffer_operands_fit(instruction)) return false;
  const int registers = row->d16 ? (row->components + 1) / 2 : row->components;
  if (!rows_fit(row->store ? instruction.src[1] : instruction.dst, registers)) return false;
  instruction.execute = execute_format;
  instruction.operation = row;
  return true;
}

}  // namespace kiln::emulator
