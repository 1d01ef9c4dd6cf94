#include "tests/differential/emulator/random_expression.hpp"

#include <bit>
#include <cstdio>

namespace kiln::test {
namespace {

constexpr const char* names[types] = {"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64", "f16", "f32", "f64"};
constexpr int bits_of[types] = {8, 8, 16, 16, 32, 32, 64, 64, 16, 32, 64};

int index_of(Type type) { return static_cast<int>(type); }

// Parts in the order in which they stand: operands of + may be evaluated in any, and each takes from the same choices.
std::string joined(std::initializer_list<std::string> parts) {
  std::string text;
  for (const auto& part : parts) text += part;
  return text;
}

}  // namespace

const char* type_name(Type type) { return names[index_of(type)]; }

Type Expressions::any_type() {
  static constexpr Type weighted[] = {Type::u8,  Type::s8,  Type::u16, Type::s16, Type::u32, Type::u32, Type::s32,
                                      Type::u32, Type::u64, Type::s64, Type::f16, Type::f32, Type::f32, Type::f64};
  return choice_.in(weighted);
}

std::string Expressions::constant(Type type) {
  if (is_real(type)) {
    static constexpr const char* reals[] = {
        "0.0",    "-0.0",    "1.0",      "-1.0",      "0.5",   "2.0", "-4.0", "0x1p-14", "0x1p-24", "3.5",    "0x1.8p4",
        "1024.0", "65504.0", "0x1.55p0", "-0x1.abp5", "0.25f", "4.0", "-2.0", "-0x1p-1", "0x1p-10", "-0x1.4p-3"};
    static constexpr const char* wide[] = {"0x1p-126", "0x1p-140", "0x1p100", "-0x1.fp127", "0x1.fffffep23", "0x1p31"};
    const bool far = type != Type::f16 && choice_.one_in(4);
    return joined({"(", type_name(type), ")", far ? choice_.in(wide) : choice_.in(reals)});
  }
  const int width = bits_of[index_of(type)];
  std::uint64_t value = 0;
  switch (choice_.below(6)) {
    case 0: value = choice_.below(65); break;                                       // inline
    case 1: value = 0 - std::uint64_t(choice_.below(17)); break;
    case 2: value = std::uint64_t(1) << choice_.below(static_cast<std::uint32_t>(width)); break;
    case 3: value = (std::uint64_t(1) << choice_.below(static_cast<std::uint32_t>(width))) - 1; break;
    default: value = choice_.bits() >> choice_.below(60); break;
  }
  if (width < 64) value &= (std::uint64_t(1) << width) - 1;
  char text[48];
  std::snprintf(text, sizeof text, width == 64 ? "(%s)0x%llxull" : "(%s)0x%llxu", type_name(type),
                static_cast<unsigned long long>(value));
  return text;
}

// Arguments of the launch and the block's number: the same in all threads.
std::string Expressions::launch_constant(Type type) {
  switch (type) {
    case Type::u8: return "q0";
    case Type::u16: return "q1";
    case Type::u32: return choice_.one_in(3) ? "block" : "q2";
    case Type::u64: return "q3";
    case Type::s32: return "q7";
    case Type::f32: return "q4";
    case Type::f64: return "q5";
    case Type::f16: return "q6";
    default: return "(" + std::string(type_name(type)) + ")q3";
  }
}

std::string Expressions::leaf(Type type, bool uniform) {
  if (choice_.one_in(4)) return constant(type);
  if (uniform || choice_.one_in(8)) {
    std::vector<std::string> fit;
    for (const auto& one : scope_.uniform) if (one.type == type_name(type)) fit.push_back(one.name);
    return !fit.empty() && choice_.one_in(2) ? choice_.in(fit) : launch_constant(type);
  }
  std::vector<std::string> fit;
  for (const auto& one : scope_.variables) if (one.type == type_name(type)) fit.push_back(one.name);
  if (!fit.empty() && !choice_.one_in(6)) return choice_.in(fit);
  return is_real(type) ? input(type, 0, false) : "(" + std::string(type_name(type)) + ")thread";
}

std::string Expressions::input(Type type, int depth, bool uniform) {
  const std::string at = "[" + value(Type::u32, depth, uniform) + " & (INPUTS - 1)]";
  switch (type) {
    case Type::u32: return "in_i" + at;
    case Type::f32: return "in_f" + at;
    case Type::f64: return "in_d" + at;
    case Type::f16: return "in_h" + at;
    default: return "((const " + std::string(type_name(type)) + "*)in_i)" + at;
  }
}

std::string Expressions::shared(Type type, int depth) {
  const std::string half = std::to_string(scope_.phase & 1);
  const std::string at = "[" + half + "][" + value(Type::u32, depth) + " & (SLOTS - 1)]";
  const std::string cast = "(" + std::string(type_name(type)) + ")";
  switch (type) {
    case Type::u8: case Type::s8: return cast + "sh->bytes" + at;
    case Type::u16: case Type::s16: return cast + "sh->shorts" + at;
    case Type::f32: return "sh->reals" + at;
    case Type::f16: return "f16_of_bits(sh->shorts" + at + ")";
    case Type::f64: return "f64_of_bits(sh->longs" + at + ")";
    case Type::u64: case Type::s64:
      return cast + (scope_.counts && choice_.one_in(4) ? "sh->counts64[" + value(Type::u32, depth) + " & 15]"
                                                        : "sh->longs" + at);
    default: break;
  }
  if (scope_.counts && choice_.one_in(4)) return cast + "sh->counts[" + value(Type::u32, depth) + " & 15]";
  if (choice_.one_in(3)) return cast + "fold_quad(sh->quads" + at + ")";
  return cast + "sh->words" + at;
}

// The thread's own 64 bytes of global memory.
std::string Expressions::own_memory(Type type, int depth) {
  const int elements = 512 / bits_of[index_of(type)];
  const std::string at = "[" + value(Type::u32, depth) + " & " + std::to_string(elements - 1) + "]";
  switch (type) {
    case Type::f16: return "f16_of_bits(((u16*)mine)" + at + ")";
    case Type::f32: return "f32_of_bits(((u32*)mine)" + at + ")";
    case Type::f64: return "f64_of_bits(((u64*)mine)" + at + ")";
    default: return "((" + std::string(type_name(type)) + "*)mine)" + at;
  }
}

std::string Expressions::call(const std::string& name, Type type, int operands, int depth, bool uniform) {
  std::string text = name + "(";
  for (int i = 0; i < operands; ++i) text += (i ? ", " : "") + value(type, depth - 1 - i / 2, uniform);
  return text + ")";
}

std::string Expressions::value(Type type, int depth, bool uniform) {
  if (depth <= 0) return leaf(type, uniform);
  if (!uniform && choice_.one_in(9)) uniform = true;
  switch (choice_.below(12)) {
    case 0: return leaf(type, uniform);
    case 1: return converted(type, depth, uniform);
    case 2: return joined({"(", condition(depth - 1, uniform), " ? ", value(type, depth - 1, uniform), " : ",
                           value(type, depth - 1, uniform), ")"});
    case 3: return input(type, depth - 1, uniform);
    case 4: if (!uniform) return shared(type, depth - 1); break;
    case 5:
      if (!uniform && choice_.one_in(2)) return own_memory(type, depth - 1);
      for (const auto& array : scope_.arrays)
        if (!uniform && array.type == type_name(type)) return array.name + "[" + value(Type::u32, depth - 1) + " & 7]";
      break;
    case 6: case 7:
      if (auto text = special(type, depth, uniform); !text.empty()) return text;
      break;
    default: break;
  }
  return is_real(type) ? real(type, depth, uniform) : integer(type, depth, uniform);
}

std::string Expressions::operation(Type type) {
  const bool uniform = choice_.one_in(12);
  switch (choice_.below(8)) {
    case 0: return converted(type, 1, uniform);
    case 1: return joined({"(", condition(1, uniform), " ? ", leaf(type, uniform), " : ", leaf(type, uniform), ")"});
    case 2: case 3: break;
    case 4: if (!uniform) return choice_.one_in(2) ? shared(type, 1) : own_memory(type, 1); break;
    default:
      if (auto text = special(type, 1, uniform); !text.empty()) return text;
      break;
  }
  return is_real(type) ? real(type, 1, uniform) : integer(type, 1, uniform);
}

std::string Expressions::integer(Type type, int depth, bool uniform) {
  static constexpr const char* two[] = {"add", "sub", "mul", "and", "or",  "xor",     "andn",    "shl",      "shr",
                                        "rot", "min", "max", "add", "sub", "dist",    "xor",     "sat_add",  "sat_sub"};
  static constexpr const char* seldom[] = {"div", "rem", "over_add", "over_sub"};
  static constexpr const char* three[] = {"mix", "mad",  "shl_add", "xor_add", "and_or",
                                          "med", "max3", "min3",    "dist_add"};
  const std::string suffix = std::string("_") + type_name(type);
  switch (choice_.below(8)) {
    case 0: return call((choice_.one_in(2) ? "not" : "neg") + suffix, type, 1, depth, uniform);
    case 1: case 2: return call(choice_.in(three) + suffix, type, 3, depth, uniform);
    case 3: return call(choice_.in(seldom) + suffix, type, 2, depth, uniform);
    default: return call(choice_.in(two) + suffix, type, 2, depth, uniform);
  }
}

std::string Expressions::real(Type type, int depth, bool uniform) {
  static constexpr const char* two[] = {"add", "sub", "mul", "add", "mul", "min", "max", "sign", "least", "most"};
  static constexpr const char* one[] = {"neg", "abs", "floor", "ceil", "trunc", "rint", "clamp"};
  static constexpr const char* three[] = {"fma", "fma", "med", "max3", "min3"};
  const std::string suffix = std::string("_") + type_name(type);
  switch (choice_.below(9)) {
    case 0: case 1: return call(choice_.in(one) + suffix, type, 1, depth, uniform);
    case 2: case 3: return call(choice_.in(three) + suffix, type, 3, depth, uniform);
    case 4:
      if (choice_.one_in(2)) return call("div" + suffix, type, 2, depth, uniform);
      return call("sqrt" + suffix, type, 1, depth, uniform);
    default: return call(choice_.in(two) + suffix, type, 2, depth, uniform);
  }
}

std::string Expressions::converted(Type type, int depth, bool uniform) {
  Type from = any_type();
  while (from == type) from = any_type();
  const std::string operand = value(from, depth - 1, uniform);
  if (!is_real(type) && is_real(from))
    return std::string(type_name(type)) + "_of_" + type_name(from) + "(" + operand + ")";
  return "(" + std::string(type_name(type)) + ")(" + operand + ")";
}

std::string Expressions::special_word(int depth, bool uniform) {
  static constexpr const char* pairs[] = {"add_h2", "mul_h2", "max_h2", "add_w2", "sub_w2", "mul_w2",
                                          "max_w2", "min_v2", "shr_w2", "pack",   "high_u32",
                                          "min_h2", "sub_h2", "min_w2", "max_v2", "sra_v2", "shl_w2", "pack_high",
                                          "pack_cross"};
  static constexpr const char* triples[] = {"fma_h2", "mad_w2", "mul24"};
  static constexpr const char* singles[] = {"leading_u32", "trailing_u32", "ones_u32",
                                            "swap_u32",    "x_bitreverse", "zeros_u32"};
  static constexpr const char* instructions[] = {
      "x_perm",   "x_ubfe", "x_sbfe",  "x_alignbit", "x_alignbyte", "x_sad_u8",    "x_sad_hi_u8", "x_sad_u16",
      "x_msad_u8", "x_lerp", "x_udot4", "x_udot8",    "x_pkrtz",     "x_udot4_sat",
      "x_cvt_pk_i16", "x_cvt_pk_u16"};
  static constexpr const char* of_gfx9[] = {"x_udot2", "x_sdot2", "x_sdot4"};
  switch (choice_.below(9)) {
    case 0: return call(choice_.in(pairs), Type::u32, 2, depth, uniform);
    case 1: return call(choice_.in(triples), Type::u32, 3, depth, uniform);
    case 2: return call(choice_.in(singles), Type::u32, 1, depth, uniform);
    case 3: return "bits_f32(" + value(Type::f32, depth - 1, uniform) + ")";
    case 4:
      if (choice_.one_in(2)) return "(u32)bits_f16(" + value(Type::f16, depth - 1, uniform) + ")";
      return joined({"kind_f32(", value(Type::f32, depth - 1, uniform), ", ", std::to_string(choice_.below(31) + 1),
                     ")"});
    case 7: return buffer_word(depth, uniform);
    case 8: {
      static constexpr const char* halves[] = {"pair_bf16", "pair_fp8", "pair_bf8"};
      if (choice_.one_in(3)) return call("middle_f32", Type::f32, 3, depth, uniform);
      return call(halves[choice_.below(scope_.target.float8 ? 3 : 1)], Type::f32, 2, depth, uniform);
    }
    case 5:
      if (choice_.one_in(3)) return "fold_sixteen(in_i, " + value(Type::u32, depth - 1, uniform) + ")";
      if (choice_.one_in(2)) return "fold_quad(quad_in(in_i, " + value(Type::u32, depth - 1, uniform) + "))";
      return "fold_triple(in_i, " + value(Type::u32, depth - 1, uniform) + ")";
    default:
      if (scope_.target.family == 9 && choice_.one_in(6))
        return call(choice_.in(of_gfx9), Type::u32, 3, depth, uniform);
      if (scope_.target.family == 11 && choice_.one_in(12)) return call("x_sudot4", Type::u32, 3, depth, uniform);
      return call(choice_.in(instructions), Type::u32, 3, depth, uniform);
  }
}

std::string Expressions::buffer_word(int depth, bool uniform) {
  // The size is the same in all lanes, as buffer descriptors are.
  switch (choice_.below(4)) {
    case 0: return joined({"buffer_word(in_i, ", choice_.of<std::string>({"4096", "q1", "1000", "8192"}), ", ",
                           value(Type::u32, depth - 1, uniform), ")"});
    case 1: return "buffer_far(in_i, " + value(Type::u32, depth - 1, uniform) + ")";
    case 2: return "buffer_quad(in_i, " + value(Type::u32, depth - 1, uniform) + ")";
    default: return joined({"buffer_byte(in_i, ", choice_.of<std::string>({"4095", "(q1 & 0x1fff)", "77"}), ", ",
                            value(Type::u32, depth - 1, uniform), ")"});
  }
}

std::string Expressions::special_real(Type type, int depth, bool uniform) {
  const std::string name = type_name(type);
  switch (choice_.below(type == Type::f64 ? 4 : 6)) {
    case 0: return "fract_" + name + "(" + value(type, depth - 1, uniform) + ")";
    case 1: return "mantissa_" + name + "(" + value(type, depth - 1, uniform) + ")";
    case 2: return joined({"(", name, ")exponent_", name, "(", value(type, depth - 1, uniform), ")"});
    case 3: return joined({"scale_", name, "(", value(type, depth - 1, uniform), ", ",
                           value(Type::s32, depth - 1, uniform), ")"});
    default: break;
  }
  if (type == Type::f16)
    return joined({"fma_mix(", value(type, depth - 1, uniform), ", ", value(type, depth - 1, uniform), ", ",
                   value(Type::f32, depth - 1, uniform), ")"});
  static constexpr const char* decoded[] = {"f32_of_bf16(", "f32_of_fp8(", "f32_of_bf8("};
  switch (choice_.below(3)) {
    case 0:
      return joined({"fma_mix_f32(", value(Type::f16, depth - 1, uniform), ", ", value(type, depth - 1, uniform), ", ",
                     value(Type::f16, depth - 1, uniform), ")"});
    case 1:
      return joined({"byte_f32(", value(Type::u32, depth - 1, uniform), ", ", std::to_string(choice_.below(4)), ")"});
    default:
      return decoded[choice_.below(scope_.target.float8 ? 3 : 1)] + value(Type::u32, depth - 1, uniform) + ")";
  }
}

std::string Expressions::special(Type type, int depth, bool uniform) {
  switch (type) {
    case Type::u32: return special_word(depth, uniform);
    case Type::s32:
      return choice_.one_in(2) ? call("high_s32", type, 2, depth, uniform) : call("smul24", type, 3, depth, uniform);
    case Type::s64: return call("wide_s32", Type::s32, 2, depth, uniform);
    case Type::u64: {
      static constexpr const char* pairs[] = {"add_f2", "mul_f2", "high_u64", "bit_u64"};
      static constexpr const char* singles[] = {"leading_u64", "trailing_u64", "ones_u64", "swap_u64",
                                                "x_bitreverse64"};
      switch (choice_.below(6)) {
        case 0: return call(choice_.in(pairs), type, 2, depth, uniform);
        case 1: return call(choice_.one_in(3) ? "field_u64" : "fma_f2", type, 3, depth, uniform);
        case 2: return call(choice_.in(singles), type, 1, depth, uniform);
        case 3: return "bits_f64(" + value(Type::f64, depth - 1, uniform) + ")";
        case 4: return call("wide_u32", Type::u32, 2, depth, uniform);
        default: return joined({"mad64(", value(Type::u32, depth - 1, uniform), ", ",
                                value(Type::u32, depth - 1, uniform), ", ", value(Type::u64, depth - 1, uniform), ")"});
      }
    }
    case Type::f16:
      if (choice_.one_in(3)) return "f16_of_bits(" + value(Type::u16, depth - 1, uniform) + ")";
      return special_real(type, depth, uniform);
    case Type::f32:
      if (choice_.one_in(4)) return "f32_of_bits(" + value(Type::u32, depth - 1, uniform) + ")";
      return special_real(type, depth, uniform);
    case Type::f64:
      if (choice_.one_in(3)) return "f64_of_bits(" + value(Type::u64, depth - 1, uniform) + ")";
      return special_real(type, depth, uniform);
    default: return "";
  }
}

std::string Expressions::condition(int depth, bool uniform) {
  static constexpr const char* comparisons[] = {" < ", " <= ", " > ", " >= ", " == ", " != "};
  if (depth > 0 && choice_.one_in(4)) {
    switch (choice_.below(3)) {
      case 0: return "!(" + condition(depth - 1, uniform) + ")";
      case 1: return joined({"(", condition(depth - 1, uniform), " && ", condition(depth - 1, uniform), ")"});
      default: return joined({"(", condition(depth - 1, uniform), " || ", condition(depth - 1, uniform), ")"});
    }
  }
  if (choice_.one_in(6))
    return joined({"(", value(Type::u32, depth - 1, uniform), " & ", std::to_string(1u << choice_.below(5)), ") != 0"});
  const Type type = any_type();
  const std::string left = value(type, depth - 1, uniform), right = value(type, depth - 1, uniform);
  const char* comparison = choice_.in(comparisons);
  // Unordered forms: what is not greater may be NaN.
  if (is_real(type) && choice_.one_in(3)) return "!(" + left + comparison + right + ")";
  return "(" + left + comparison + right + ")";
}

}  // namespace kiln::test
