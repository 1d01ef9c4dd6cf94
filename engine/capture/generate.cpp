#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "engine/base/half.hpp"
#include "engine/capture/capture.hpp"
#include "engine/ir/float8.hpp"

namespace kiln::capture {
namespace {

void store(DType type, double value, std::uint8_t* at) {
  switch (type) {
    case DType::f64: std::memcpy(at, &value, 8); return;
    case DType::f32: { const float v = float(value); std::memcpy(at, &v, 4); return; }
    case DType::f16: { const auto v = f64_to_f16(value); std::memcpy(at, &v, 2); return; }
    case DType::bf16: { const auto v = f64_to_bf16(value); std::memcpy(at, &v, 2); return; }
    default: {
      if (const auto format = float8_format(type)) {
        *at = f64_to_f8(*format, value);
        return;
      }
      const std::int64_t v = std::llrint(value);
      std::memcpy(at, &v, std::size_t(dtype_bytes(type)));
    }
  }
}

}  // namespace

bool generate(DType type, bool read, std::uint64_t seed, std::span<std::uint8_t> bytes,
              const std::function<bool()>& ended) {
  constexpr std::size_t asked_every = std::size_t(1) << 20;  // bytes
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> small(-8, 8);
  const auto step = std::size_t(dtype_bytes(type));
  for (std::size_t at = 0; at + step <= bytes.size(); at += step) {
    if (at % asked_every == 0 && ended && ended()) return false;
    const double value = is_float(type) ? (read ? normal(random) : std::numeric_limits<double>::quiet_NaN())
                       : type == DType::boolean ? small(random) & 1 : is_signed(type) ? small(random) : std::abs(small(random));
    store(type, value, bytes.data() + at);
  }
  return true;
}

std::uint64_t tensor_seed(std::uint64_t seed, std::size_t index) {
  return (seed * 1000003 + index) & ((std::uint64_t(1) << 53) - 1);
}

}  // namespace kiln::capture
