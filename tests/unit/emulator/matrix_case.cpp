#include "tests/unit/emulator/matrix_case.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace kiln::emulator_test {
namespace {

constexpr int a_first = 0, b_first = 32, c_first = 64, d_first = 128, index_register = 250;
constexpr int lanes = 64;

std::uint32_t& at(SmallWave& wave, char file, int index, int lane) {
  return file == 'a' ? wave.a(index, lane) : wave.v(index, lane);
}

// Values of an operand by lane and element; small numbers that every format holds.
using Values = std::vector<std::vector<double>>;
Values random_values(std::mt19937& random, int elements, int largest) {
  Values values(lanes, std::vector<double>(static_cast<std::size_t>(elements)));
  std::uniform_int_distribution<int> pick(-largest, largest);
  for (auto& lane : values) {
    for (double& value : lane) value = pick(random);
  }
  return values;
}

void put_values(SmallWave& wave, char file, int first, const std::string& type, const Values& values) {
  const int bits = element_bits(type);
  for (int lane = 0; lane < lanes; ++lane) {
    const auto& elements = values[static_cast<std::size_t>(lane)];
    for (int element = 0; element < static_cast<int>(elements.size()); ++element) {
      put_element(wave, file, first, lane, element, bits,
                  encode_element(type, elements[static_cast<std::size_t>(element)]));
    }
  }
}

double take(SmallWave& wave, char file, const std::string& type, Place place) {
  const std::uint32_t low = at(wave, file, d_first + place.element, place.lane);
  if (type == "i32") return static_cast<std::int32_t>(low);
  if (type == "f32") return std::bit_cast<float>(low);
  const int pair = d_first + place.element * 2;
  return std::bit_cast<double>(std::uint64_t{at(wave, file, pair + 1, place.lane)} << 32 |
                               at(wave, file, pair, place.lane));
}

int register_count(const std::string& type, int elements) { return (element_bits(type) * elements + 31) / 32; }

double value_at(const Values& values, Place place) {
  return values[static_cast<std::size_t>(place.lane)][static_cast<std::size_t>(place.element)];
}

// For each lane and element of a sparse A: which of four k it stands for, rising in each pair.
Values random_indices(std::mt19937& random, int elements) {
  Values indices(lanes, std::vector<double>(static_cast<std::size_t>(elements)));
  for (auto& lane : indices) {
    for (std::size_t pair = 0; pair < lane.size(); pair += 2) {
      const int first = static_cast<int>(random() % 3), second = first + 1 + static_cast<int>(random() % (3 - first));
      lane[pair] = first;
      lane[pair + 1] = second;
    }
  }
  return indices;
}

}  // namespace

SmallFormat small_format(const std::string& type) {
  if (type == "f16") return {5, 10, 15};
  if (type == "bf16") return {8, 7, 127};
  if (type == "fp8") return {4, 3, 7};
  if (type == "bf8") return {5, 2, 15};
  if (type == "fp8_fnuz") return {4, 3, 8};
  if (type == "bf8_fnuz") return {5, 2, 16};
  if (type == "fp6") return {2, 3, 1};
  if (type == "bf6") return {3, 2, 3};
  return {2, 1, 1};
}

double decode_small(const SmallFormat& format, std::uint32_t code) {
  const int sign = static_cast<int>(code >> (format.bits() - 1) & 1);
  const int exponent = static_cast<int>(code >> format.fraction & ((1u << format.exponent) - 1));
  const double fraction = std::ldexp(static_cast<double>(code & ((1u << format.fraction) - 1)), -format.fraction);
  const double value =
      exponent == 0 ? std::ldexp(fraction, 1 - format.bias) : std::ldexp(1 + fraction, exponent - format.bias);
  return sign != 0 ? -value : value;
}

int element_bits(const std::string& type) {
  if (type == "f64") return 64;
  if (type == "f32" || type == "xf32" || type == "i32") return 32;
  return type == "i8" ? 8 : small_format(type).bits();
}

std::uint64_t encode_element(const std::string& type, double value) {
  if (type == "f64") return std::bit_cast<std::uint64_t>(value);
  if (type == "f32" || type == "xf32") return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (type == "i32" || type == "i8") return static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
  const SmallFormat format = small_format(type);
  for (std::uint32_t code = 0; code < 1u << format.bits(); ++code) {
    if (type == "f16" || type == "bf16") {  // too many to look for
      const std::uint32_t bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
      if (type == "bf16") return bits >> 16;
      if (value == 0) return 0;
      return (bits >> 16 & 0x8000) | (((bits >> 23 & 0xff) - 112) << 10) | (bits >> 13 & 0x3ff);
    }
    if (decode_small(format, code) == value) return code;
  }
  ADD_FAILURE() << type << " does not hold " << value;
  return 0;
}

std::string registers(char file, int first, int count) {
  const std::string name(1, file);
  if (count == 1) return name + std::to_string(first);
  return name + "[" + std::to_string(first) + ":" + std::to_string(first + count - 1) + "]";
}

void put_element(SmallWave& wave, char file, int first, int lane, int element, int bits, std::uint64_t code) {
  for (int bit = 0; bit < bits; ++bit) {
    const int position = element * bits + bit;
    std::uint32_t& word = at(wave, file, first + position / 32, lane);
    const std::uint32_t mask = 1u << (position % 32);
    word = code >> bit & 1 ? word | mask : word & ~mask;
  }
}

void expect_product(const MatrixCase& matrix, const MatrixOptions& options, std::uint32_t seed) {
  SCOPED_TRACE(matrix.processor + " " + matrix.name + " " + options.modifiers + ", seed " + std::to_string(seed));
  std::mt19937 random(seed);
  SmallWave wave(matrix.processor);
  const int largest = static_cast<int>(options.values_max);
  const Values a = random_values(random, matrix.a_elements, largest);
  const Values b = random_values(random, matrix.b_elements, largest);
  const Values c = random_values(random, matrix.d_elements, 100);
  const Values indices = random_indices(random, matrix.sparse ? matrix.a_elements : 0);
  put_values(wave, options.a_file, a_first, matrix.a_type, a);
  put_values(wave, options.b_file, b_first, matrix.b_type, b);
  const int c_at = matrix.sparse ? d_first : c_first;
  if (options.constant.empty()) put_values(wave, options.d_file, c_at, matrix.d_type, c);
  for (int lane = 0; matrix.sparse && lane < lanes; ++lane) {
    wave.v(index_register, lane) = random();
    for (int element = 0; element < matrix.a_elements; ++element) {
      put_element(wave, 'v', index_register, lane, options.index_set * matrix.a_elements + element, 2,
                  static_cast<std::uint64_t>(value_at(indices, {lane, element})));
    }
  }
  const int d_registers = register_count(matrix.d_type, matrix.d_elements);
  const std::string third = matrix.sparse               ? registers('v', index_register, 1)
                            : options.constant.empty() ? registers(options.d_file, c_first, d_registers)
                                                       : options.constant;
  wave.set_exec(0x0123456789abcdefu);  // matrix instructions do not heed it
  ASSERT_EQ(wave.run(matrix.name + " " + registers(options.d_file, d_first, d_registers) + ", " +
                     registers(options.a_file, a_first, register_count(matrix.a_type, matrix.a_elements)) + ", " +
                     registers(options.b_file, b_first, register_count(matrix.b_type, matrix.b_elements)) + ", " +
                     third + " " + options.modifiers),
            emulator::WaveStatus::ended)
      << "fault " << static_cast<int>(wave.wave().fault.kind);
  for (int block = 0; block < matrix.blocks; ++block) {
    for (int row = 0; row < matrix.size; ++row) {
      for (int column = 0; column < matrix.size; ++column) {
        const Place to = matrix.d(row, column, block);
        double expected = options.constant.empty() ? value_at(c, to) : options.constant_value;
        for (int held = 0; held < (matrix.sparse ? matrix.depth / 2 : matrix.depth); ++held) {
          const Place from = matrix.a(row, held, options.a_block ? options.a_block(block) : block);
          const int k = matrix.sparse ? held / 2 * 4 + static_cast<int>(value_at(indices, from)) : held;
          Place of_b = matrix.b(k, column, block);
          if (options.b_lane) of_b.lane = options.b_lane(of_b.lane);
          expected += value_at(a, from) * value_at(b, of_b);
        }
        ASSERT_EQ(take(wave, options.d_file, matrix.d_type, to), expected)
            << "block " << block << " row " << row << " column " << column;
      }
    }
  }
}

}  // namespace kiln::emulator_test
