#include "engine/device/hip/launch_argument.hpp"

#include <sys/stat.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "engine/base/fd.hpp"
#include "engine/base/half.hpp"
#include "engine/base/memory_left.hpp"

namespace kiln::device::hip {
namespace {

constexpr std::uint64_t bytes_max = std::uint64_t(1) << 36;
constexpr const char* type_names[] = {"i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64"};
constexpr std::size_t type_bytes[] = {1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8};

Error mistake(const std::string& text, const std::string& what) {
  return Error(ErrorCode::invalid_argument, "argument \"" + text + "\": " + what);
}

template <class T> bool number(const std::string& text, T& value) {
  const char* const end = text.data() + text.size();
  return !text.empty() && std::from_chars(text.data(), end, value).ptr == end &&
         std::from_chars(text.data(), end, value).ec == std::errc();
}

template <class T> Bytes bytes_of_value(T value) {
  Bytes bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}
template <class T> bool integer(const std::string& text, Bytes& bytes) {
  T value{};
  if (!number(text, value)) return false;
  bytes = bytes_of_value(value);
  return true;
}

Bytes real_bytes(ValueType type, double value) {
  if (type == ValueType::f16) return bytes_of_value(f64_to_f16(value));
  if (type == ValueType::bf16) return bytes_of_value(f64_to_bf16(value));
  if (type == ValueType::f32) return bytes_of_value(static_cast<float>(value));
  return bytes_of_value(value);
}

bool is_real(ValueType type) { return type >= ValueType::f16; }

bool value_bytes(ValueType type, const std::string& text, Bytes& bytes) {
  switch (type) {
    case ValueType::i8: return integer<std::int8_t>(text, bytes);
    case ValueType::u8: return integer<std::uint8_t>(text, bytes);
    case ValueType::i16: return integer<std::int16_t>(text, bytes);
    case ValueType::u16: return integer<std::uint16_t>(text, bytes);
    case ValueType::i32: return integer<std::int32_t>(text, bytes);
    case ValueType::u32: return integer<std::uint32_t>(text, bytes);
    case ValueType::i64: return integer<std::int64_t>(text, bytes);
    case ValueType::u64: return integer<std::uint64_t>(text, bytes);
    default: break;
  }
  double value = 0;
  if (!number(text, value)) return false;
  bytes = real_bytes(type, value);
  return true;
}

Result<std::uint64_t> size_of(const std::string& text, const std::string& digits, const char* what) {
  std::uint64_t value = 0;
  if (!number(digits, value) || value == 0 || value > bytes_max)
    return mistake(text, std::string(what) + " must be a number from 1 to 2^36, not \"" + digits + "\"");
  return value;
}

std::uint64_t next_random(std::uint64_t& state) {   // splitmix64
  state += 0x9e3779b97f4a7c15u;
  std::uint64_t value = state;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

Result<Bytes> random_bytes(const std::string& text, const std::string& rest) {
  const auto first = rest.find(':'), second = rest.find(':', first == std::string::npos ? first : first + 1);
  if (first == std::string::npos) return mistake(text, "random takes TYPE:COUNT[:SEED]");
  auto type = parse_value_type(rest.substr(0, first));
  if (!type) return mistake(text, type.error().message);
  KILN_TRY(const auto count, size_of(text, rest.substr(first + 1, second - first - 1), "the count"));
  std::uint64_t seed = 0;
  if (second != std::string::npos && !number(rest.substr(second + 1), seed))
    return mistake(text, "the seed must be a number, not \"" + rest.substr(second + 1) + "\"");
  const std::size_t size = bytes_of(*type);
  if (count * size > bytes_max) return mistake(text, "more than 2^36 bytes");
  KILN_CHECK(check_memory_left(2 * count * size, "the bytes and the card's copy of argument \"" + text + "\""));
  const bool is_unsigned = !is_real(*type) && static_cast<int>(*type) % 2 == 1;
  Bytes bytes(count * size);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t drawn = next_random(seed);
    const std::int64_t whole = static_cast<std::int64_t>(drawn % 17) - (is_unsigned ? 0 : 8);  // low bytes first
    if (is_real(*type)) {
      const Bytes one = real_bytes(*type, static_cast<double>(drawn >> 11) * 0x1p-52 - 1);
      std::memcpy(bytes.data() + i * size, one.data(), size);
    } else {
      std::memcpy(bytes.data() + i * size, &whole, size);
    }
  }
  return bytes;
}

Result<LaunchArgument> memory_argument(LaunchArgument argument, const std::string& kind, const std::string& rest) {
  argument.pointer = true;
  if (kind == "ptr") {
    if (rest != "null") return mistake(argument.text, "the only pointer that can be named is ptr:null");
    argument.null = true;
  } else if (kind == "buffer") {
    KILN_TRY(argument.bytes, size_of(argument.text, rest, "the size"));
  } else if (kind == "random") {
    KILN_TRY(argument.data, random_bytes(argument.text, rest));
  } else if (kind == "out") {
    const auto colon = rest.rfind(':');
    if (colon == std::string::npos || colon == 0) return mistake(argument.text, "out takes FILE:BYTES");
    KILN_TRY(argument.bytes, size_of(argument.text, rest.substr(colon + 1), "the size"));
    argument.write_to = rest.substr(0, colon);
  } else {
    struct stat status {};
    if (::stat(rest.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
      return mistake(argument.text, rest + " is no regular file");
    auto bytes = read_file(rest, bytes_max);
    if (!bytes) return std::move(bytes).error().with("argument \"" + argument.text + "\"");
    argument.data = std::move(*bytes);
    if (argument.data.empty()) return mistake(argument.text, "the file is empty");
    if (kind == "inout") argument.write_to = rest;
  }
  if (!argument.data.empty()) argument.bytes = argument.data.size();
  return argument;
}

}  // namespace

Result<ValueType> parse_value_type(const std::string& name) {
  std::string known;
  for (std::size_t i = 0; i < std::size(type_names); ++i) {
    if (name == type_names[i]) return static_cast<ValueType>(i);
    known += (i == 0 ? "" : ", ") + std::string(type_names[i]);
  }
  return Error(ErrorCode::invalid_argument, "no type \"" + name + "\"; there are " + known);
}

std::size_t bytes_of(ValueType type) { return type_bytes[static_cast<std::size_t>(type)]; }

std::string value_json(ValueType type, const std::uint8_t* at) {
  std::uint64_t raw = 0;
  const std::size_t size = bytes_of(type);
  std::memcpy(&raw, at, size);
  if (!is_real(type)) {
    if (static_cast<int>(type) % 2 == 1) return std::to_string(raw);
    const int shift = static_cast<int>(64 - size * 8);
    return std::to_string(static_cast<std::int64_t>(raw << shift) >> shift);
  }
  double value = 0;
  if (type == ValueType::f64) std::memcpy(&value, &raw, sizeof value);
  else if (type == ValueType::f16) value = static_cast<double>(f16_to_f32(static_cast<std::uint16_t>(raw)));
  else if (type == ValueType::bf16) value = static_cast<double>(bf16_to_f32(static_cast<std::uint16_t>(raw)));
  else {
    float narrow;
    std::memcpy(&narrow, &raw, sizeof narrow);
    value = static_cast<double>(narrow);
  }
  if (std::isnan(value)) return "\"nan\"";
  if (std::isinf(value)) return value > 0 ? "\"inf\"" : "\"-inf\"";
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", type == ValueType::f64 ? 17 : type == ValueType::f32 ? 9 : 6, value);
  return text;
}

Result<LaunchArgument> parse_launch_argument(const std::string& text) {
  LaunchArgument argument;
  argument.text = text;
  const auto colon = text.find(':');
  const std::string kind = text.substr(0, colon), rest = colon == std::string::npos ? "" : text.substr(colon + 1);
  for (const char* memory : {"ptr", "buffer", "random", "out", "in", "inout"})
    if (kind == memory) return memory_argument(std::move(argument), kind, rest);
  if (kind == "bytes") {
    auto bytes = from_hex(rest);
    if (!bytes || bytes->empty()) return mistake(text, "bytes takes an even number of hexadecimal digits");
    argument.data = std::move(*bytes);
    return argument;
  }
  const auto type = parse_value_type(kind);
  if (!type) {
    return mistake(text, "TYPE:VALUE, bytes:HEX, buffer:BYTES, in:FILE, inout:FILE, out:FILE:BYTES, random:TYPE:COUNT[:SEED] "
                         "or ptr:null is meant; " + type.error().message);
  }
  if (!value_bytes(*type, rest, argument.data)) return mistake(text, "\"" + rest + "\" is no " + kind);
  return argument;
}

}  // namespace kiln::device::hip
