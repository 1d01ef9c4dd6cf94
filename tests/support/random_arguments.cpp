#include "tests/support/random_arguments.hpp"

#include <limits>
#include <random>

#include "engine/ir/bound/arithmetic.hpp"

namespace kiln::test {
namespace {

void strew_extremes(DType type, Bytes& bytes, std::mt19937_64& random) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double reals[] = {0.0,     -0.0,   infinity, -infinity, std::numeric_limits<double>::quiet_NaN(),
                              1e-40,   -1e-44, 6e-8,     65504,     3.3e38,
                              -3.3e38, 1,      -1};
  constexpr std::int64_t wholes[] = {0,    -1,    1,      INT64_MIN,  INT64_MAX,    127,
                                     -128, 32767, -32768, 2147483647, -2147483648LL};
  const std::size_t width = dtype_bytes(type);
  for (std::size_t at = 0; at + width <= bytes.size(); at += width) {
    if (random() % 8 != 0) continue;
    const auto value = is_float(type)
                           ? bound::real_value(bound::round_real(type, reals[random() % std::size(reals)]))
                           : bound::integer_value(bound::wrap_integer(type, wholes[random() % std::size(wholes)]));
    bound::store_function(type)(bytes.data() + at, value);
  }
}

}  // namespace

std::vector<Bytes> random_arguments(const bound::Program& program, std::uint64_t seed, bool extremes) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<Bytes> arguments;
  for (const auto& tensor : program.tensors) {
    if (tensor.workspace) continue;
    const std::size_t width = dtype_bytes(tensor.dtype);
    Bytes bytes(tensor.scalar ? width : tensor.bytes(), 0xff);
    const auto store = bound::store_function(tensor.dtype);
    for (std::size_t at = 0; tensor.access != Access::write && at + width <= bytes.size(); at += width) {
      const double real = bound::round_real(tensor.dtype, normal(random));
      const auto whole = static_cast<std::int64_t>(random() % 17) - (is_signed(tensor.dtype) ? 8 : 0);
      store(bytes.data() + at, is_float(tensor.dtype) ? bound::real_value(real)
                                                      : bound::integer_value(bound::wrap_integer(tensor.dtype, whole)));
    }
    if (extremes && tensor.access != Access::write) strew_extremes(tensor.dtype, bytes, random);
    arguments.push_back(std::move(bytes));
  }
  return arguments;
}

}  // namespace kiln::test
