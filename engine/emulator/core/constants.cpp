// Inline constants, literals and the specials of scalar operands.
// Source: "AMD Instinct MI300 Instruction Set Architecture", scalar operand table; RDNA3 document, "Literal Constants".
#include "engine/emulator/core/scalar_access.hpp"

namespace kiln::emulator {
namespace {

// By code - 240: 0.5, -0.5, 1, -1, 2, -2, 4, -4, 1 / (2 pi).
constexpr std::uint32_t floats32[9] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                       0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
constexpr std::uint64_t floats64[9] = {0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000,
                                       0xbff0000000000000, 0x4000000000000000, 0xc000000000000000,
                                       0x4010000000000000, 0xc010000000000000, 0x3fc45f306dc9c882};
constexpr std::uint16_t floats16[9] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118};

bool is_64_bits(Type type) {
  return type == Type::b64 || type == Type::i64 || type == Type::u64 || type == Type::f64;
}

std::uint64_t inline_float(int which, Type type) {
  switch (type) {
    case Type::f16:
    case Type::pkf16: return floats16[which];
    case Type::bf16:
    case Type::pkbf16: return floats32[which] >> 16;  // 1 / (2 pi) is cut off, not rounded
    case Type::b64:
    case Type::i64:
    case Type::u64:
    case Type::f64: return floats64[which];
    default: return floats32[which];  // integers of 16 bits too: the low half of it
  }
}

std::uint64_t literal_value(std::uint32_t literal, Type type) {
  if (type == Type::f64) return std::uint64_t(literal) << 32;
  if (type == Type::i64) return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(literal)});
  return literal;
}

}  // namespace

std::uint64_t constant_value(const Source& source, Type type) {
  if (source.kind == Source::Kind::literal) return literal_value(source.literal, type);
  const int code = source.index;
  if (code >= code::float_first && code <= code::float_first + 8) return inline_float(code - code::float_first, type);
  // The card makes 32 bits of an integer for every type up to 32 bits, packed ones too, and 64 bits for the others.
  const std::int64_t integer = code <= 192 ? code - code::integer_zero : 192 - code;
  const bool wide = is_64_bits(type) || type == Type::pkf32 || type == Type::pkb32;
  return wide ? static_cast<std::uint64_t>(integer) : static_cast<std::uint32_t>(integer);
}

std::uint64_t read_special(const Wave& wave, int code) {
  const Execution& execution = *wave.execution;
  constexpr std::uint64_t aperture_bytes = std::uint64_t(1) << 32;
  const std::uint64_t mask = wave.size == 32 ? 0xffffffffu : ~std::uint64_t(0);
  switch (code) {
    case code::shared_base: return execution.shared_base;
    case code::shared_limit: return execution.shared_base + aperture_bytes - 1;
    case code::private_base: return execution.private_base;
    case code::private_limit: return execution.private_base + aperture_bytes - 1;
    case code::vccz: return (wave.scalar64(code::vcc) & mask) == 0;
    case code::execz: return (wave.exec() & mask) == 0;
    case code::scc: return wave.scc;
    default: return 0;
  }
}

std::uint32_t read_scalar32(const Wave& wave, const Source& source) { return scalar32(wave, source); }
std::uint64_t read_scalar64(const Wave& wave, const Source& source) { return scalar64(wave, source); }

}  // namespace kiln::emulator
