#include "engine/ir/types.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <vector>

namespace kiln {
namespace {

enum class TypeClass : std::uint8_t { floating, signed_integer, unsigned_integer, boolean };

struct TypeTraits {
  const char* name;
  int bits;
  TypeClass type_class;
  bool supported;
};

using enum TypeClass;
// In the order of DType.
constexpr std::array<TypeTraits, std::size_t(dtype_last) + 1> traits{{
    {"f64", 64, floating, true},         {"f32", 32, floating, true},         {"f16", 16, floating, true},
    {"bf16", 16, floating, true},        {"f8e4m3fn", 8, floating, true},     {"f8e4m3fnuz", 8, floating, true},
    {"f8e5m2", 8, floating, true},       {"f8e5m2fnuz", 8, floating, true},   {"f4e2m1", 4, floating, false},
    {"f6e2m3", 6, floating, false},      {"f6e3m2", 6, floating, false},      {"e8m0", 8, floating, false},
    {"i64", 64, signed_integer, true},   {"i32", 32, signed_integer, true},   {"i16", 16, signed_integer, true},
    {"i8", 8, signed_integer, true},     {"i4", 4, signed_integer, false},    {"u64", 64, unsigned_integer, true},
    {"u32", 32, unsigned_integer, true}, {"u16", 16, unsigned_integer, true}, {"u8", 8, unsigned_integer, true},
    {"u4", 4, unsigned_integer, false},  {"bool", 8, boolean, true},          {"index", 64, signed_integer, true},
}};

const TypeTraits& traits_of(DType type) { return traits[static_cast<std::size_t>(type)]; }

bool parse_number(std::string_view text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::optional<std::vector<std::int64_t>> parse_numbers(std::string_view text) {
  std::vector<std::int64_t> values;
  while (true) {
    const auto comma = text.find(',');
    std::int64_t value = 0;
    if (!parse_number(text.substr(0, comma), value)) return std::nullopt;
    values.push_back(value);
    if (comma == std::string_view::npos) return values;
    text.remove_prefix(comma + 1);
  }
}

bool is_power_of_two(std::int64_t value) { return value > 0 && std::has_single_bit(static_cast<std::uint64_t>(value)); }

}  // namespace

const char* dtype_name(DType type) { return traits_of(type).name; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (std::size_t i = 0; i < std::size_t(DType::index); ++i)
    if (name == traits[i].name) return static_cast<DType>(i);
  return std::nullopt;
}

int dtype_bits(DType type) { return traits_of(type).bits; }
bool is_float(DType type) { return traits_of(type).type_class == floating; }
bool is_integer(DType type) {
  return traits_of(type).type_class == signed_integer || traits_of(type).type_class == unsigned_integer;
}
bool is_signed(DType type) {
  return traits_of(type).type_class == signed_integer || traits_of(type).type_class == floating;
}
bool is_supported(DType type) { return traits_of(type).supported; }

const char* space_name(Space space) {
  switch (space) {
    case Space::shared: return "shared";
    case Space::fragment: return "fragment";
    case Space::local: return "local";
  }
  return "fragment";
}

const char* access_name(Access access) {
  switch (access) {
    case Access::read: return "read";
    case Access::write: return "write";
    case Access::readwrite: return "readwrite";
  }
  return "read";
}

std::string layout_spec_text(const LayoutSpec& spec) {
  switch (spec.kind) {
    case LayoutSpec::Kind::automatic: return "auto";
    case LayoutSpec::Kind::row_major: return "row_major";
    case LayoutSpec::Kind::pad: return "pad:" + std::to_string(spec.pad_bytes);
    case LayoutSpec::Kind::swizzle:
      return "swizzle:" + std::to_string(spec.chunk_bytes) + "," + std::to_string(spec.row_divisor) + "," +
             std::to_string(spec.rows_mod);
  }
  return "auto";
}

std::optional<LayoutSpec> layout_spec_from_text(std::string_view text) {
  LayoutSpec spec;
  if (text == "auto") return spec;
  if (text == "row_major") {
    spec.kind = LayoutSpec::Kind::row_major;
    return spec;
  }
  if (text.starts_with("pad:")) {
    const auto values = parse_numbers(text.substr(4));
    if (!values || values->size() != 1) return std::nullopt;
    spec.kind = LayoutSpec::Kind::pad;
    spec.pad_bytes = (*values)[0];
    if (spec.pad_bytes < 0 || spec.pad_bytes > 4096) return std::nullopt;
    return spec;
  }
  if (text.starts_with("swizzle:")) {
    const auto values = parse_numbers(text.substr(8));
    if (!values || values->size() != 3) return std::nullopt;
    spec.kind = LayoutSpec::Kind::swizzle;
    spec.chunk_bytes = (*values)[0];
    spec.row_divisor = (*values)[1];
    spec.rows_mod = (*values)[2];
    const bool chunk_known = spec.chunk_bytes == 8 || spec.chunk_bytes == 16;
    if (!chunk_known || !is_power_of_two(spec.row_divisor) || !is_power_of_two(spec.rows_mod)) return std::nullopt;
    if (spec.row_divisor > 1024 || spec.rows_mod > 1024) return std::nullopt;
    return spec;
  }
  return std::nullopt;
}

}  // namespace kiln
