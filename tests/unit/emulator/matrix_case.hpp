// One matrix instruction in a test's hands: random small operands in registers, and the plain sum that must come out.
// Where elements lie is told by the test; nothing here knows the emulator's own formulas.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tests/support/emulator/small_wave.hpp"

namespace kiln::emulator_test {

// A number format of up to 16 bits: sign, `exponent` bits, `fraction` bits.
struct SmallFormat {
  int exponent = 0, fraction = 0, bias = 0;
  int bits() const { return 1 + exponent + fraction; }
};
// "f16", "bf16", "fp8", "bf8" (OCP), "fp8_fnuz", "bf8_fnuz", "fp6", "bf6", "fp4".
SmallFormat small_format(const std::string& type);
// The value of a code that is neither infinity nor NaN, by definition: (-1)^s 2^(e - bias) 1.f, or 2^(1 - bias) 0.f.
double decode_small(const SmallFormat& format, std::uint32_t code);
// Bits of an element of the type; also "f32", "xf32", "i8", "i32", "f64".
int element_bits(const std::string& type);
// Its code of a value that it holds exactly.
std::uint64_t encode_element(const std::string& type, double value);

struct Place {
  int lane = 0, element = 0;
};
struct MatrixCase {
  std::string processor, name;
  int size = 0, depth = 0, blocks = 1;                  // M = N, K
  std::string a_type, b_type, d_type;
  int a_elements = 0, b_elements = 0, d_elements = 0;   // in a lane
  bool sparse = false;                                  // a: of the K/2 elements held
  std::function<Place(int row, int k, int block)> a;
  std::function<Place(int k, int column, int block)> b;
  std::function<Place(int row, int column, int block)> d;
};

struct MatrixOptions {
  int cbsz = 0, abid = 0, blgp = 0;                        // as written in `modifiers`
  std::function<int(int block)> a_block = nullptr;         // whose A a block takes
  std::function<int(int lane)> b_lane = nullptr;           // which lane's B a lane takes
  std::string modifiers;
  char a_file = 'v', b_file = 'v', d_file = 'v';           // 'a': accumulation registers
  std::string constant;                                    // C; "" for registers
  double constant_value = 0;
  int index_set = 0;                                       // sparse: which set of the register holds the indices
  double values_max = 4;
};

// Runs it once and expects every element of D.
void expect_product(const MatrixCase& matrix, const MatrixOptions& options, std::uint32_t seed);

// "v[4:7]", "v4"
std::string registers(char file, int first, int count);
// Puts `bits` bits of `code` at element `element` of a lane's registers from `first` on.
void put_element(SmallWave& wave, char file, int first, int lane, int element, int bits, std::uint64_t code);

}  // namespace kiln::emulator_test
