// Elements in memory: loading and storing canonical values.
#include <bit>
#include <cstring>

#include "engine/base/half.hpp"
#include "engine/ir/bound/arithmetic.hpp"
#include "engine/ir/float8.hpp"

namespace kiln::bound {
namespace {

template <class T> T read(const std::uint8_t* at) {
  T v;
  std::memcpy(&v, at, sizeof v);
  return v;
}
template <class T> void write(std::uint8_t* at, T v) { std::memcpy(at, &v, sizeof v); }

template <class T>
Value load_integer(const std::uint8_t* at) {
  return integer_value(static_cast<std::int64_t>(read<T>(at)));
}
template <class T> void store_integer(std::uint8_t* at, Value v) { write<T>(at, static_cast<T>(v.integer)); }

Value load_f64(const std::uint8_t* at) { return real_value(read<double>(at)); }
Value load_f32(const std::uint8_t* at) { return real_value(static_cast<double>(read<float>(at))); }
Value load_f16(const std::uint8_t* at) { return real_value(static_cast<double>(f16_to_f32(read<std::uint16_t>(at)))); }
Value load_bf16(const std::uint8_t* at) {
  return real_value(static_cast<double>(bf16_to_f32(read<std::uint16_t>(at))));
}
template <DType type> Value load_f8(const std::uint8_t* at) {
  return real_value(static_cast<double>(f8_to_f32(*float8_format(type), *at)));
}
Value load_boolean(const std::uint8_t* at) { return integer_value(*at != 0); }

void store_f64(std::uint8_t* at, Value v) { write(at, v.real); }
void store_f32(std::uint8_t* at, Value v) { write(at, static_cast<float>(v.real)); }
void store_f16(std::uint8_t* at, Value v) { write(at, f64_to_f16(v.real)); }
void store_bf16(std::uint8_t* at, Value v) { write(at, f64_to_bf16(v.real)); }
template <DType type> void store_f8(std::uint8_t* at, Value v) { *at = f64_to_f8(*float8_format(type), v.real); }

}  // namespace

LoadFunction load_function(DType type) {
  switch (type) {
    case DType::f64: return load_f64;
    case DType::f32: return load_f32;
    case DType::f16: return load_f16;
    case DType::bf16: return load_bf16;
    case DType::f8e4m3fn: return load_f8<DType::f8e4m3fn>;
    case DType::f8e4m3fnuz: return load_f8<DType::f8e4m3fnuz>;
    case DType::f8e5m2: return load_f8<DType::f8e5m2>;
    case DType::f8e5m2fnuz: return load_f8<DType::f8e5m2fnuz>;
    case DType::i64: return load_integer<std::int64_t>;
    case DType::i32: return load_integer<std::int32_t>;
    case DType::i16: return load_integer<std::int16_t>;
    case DType::i8: return load_integer<std::int8_t>;
    case DType::u64: return load_integer<std::uint64_t>;
    case DType::u32: return load_integer<std::uint32_t>;
    case DType::u16: return load_integer<std::uint16_t>;
    case DType::u8: return load_integer<std::uint8_t>;
    case DType::boolean: return load_boolean;
    default: return nullptr;
  }
}

StoreFunction store_function(DType type) {
  switch (type) {
    case DType::f64: return store_f64;
    case DType::f32: return store_f32;
    case DType::f16: return store_f16;
    case DType::bf16: return store_bf16;
    case DType::f8e4m3fn: return store_f8<DType::f8e4m3fn>;
    case DType::f8e4m3fnuz: return store_f8<DType::f8e4m3fnuz>;
    case DType::f8e5m2: return store_f8<DType::f8e5m2>;
    case DType::f8e5m2fnuz: return store_f8<DType::f8e5m2fnuz>;
    case DType::i64: return store_integer<std::int64_t>;
    case DType::i32: return store_integer<std::int32_t>;
    case DType::i16: return store_integer<std::int16_t>;
    case DType::i8: return store_integer<std::int8_t>;
    case DType::u64: return store_integer<std::uint64_t>;
    case DType::u32: return store_integer<std::uint32_t>;
    case DType::u16: return store_integer<std::uint16_t>;
    case DType::u8:
    case DType::boolean: return store_integer<std::uint8_t>;
    default: return nullptr;
  }
}

}  // namespace kiln::bound
