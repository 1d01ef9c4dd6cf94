// RDNA3's matrix instructions: elements where AMD's calculator says (wmma_layouts.txt), signs, halves, saturation.
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <sstream>

#include "tests/unit/emulator/vector_cases.hpp"

namespace kiln::emulator_test {
namespace {

using emulator::WaveStatus;
using u32 = std::uint32_t;
constexpr int size = 16, wave_lanes = 32;
constexpr int a_at = 16, b_at = 32, c_at = 48, d_at = 64;   // first registers

struct Item {
  int row = 0, column = 0;
};
using Table = std::vector<std::vector<Item>>;               // by lane and item
struct Published {
  std::map<int, Table> tables;
  std::map<std::string, std::array<int, 3>> instructions;   // tables of A, B, D
};

const Published& published() {
  static const Published read = [] {
    Published all;
    std::ifstream file(std::string(KILN_SOURCE_DIR) + "/tests/unit/emulator/wmma_layouts.txt");
    int table = -1;
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string first, name;
      if (line.starts_with("#") || !(words >> first)) continue;
      if (first == "table") {
        words >> table;
      } else if (first == "instruction") {
        words >> name;
        for (int& one : all.instructions[name]) words >> one;
      } else {
        std::vector<Item> lane;
        for (std::string item = first; !item.empty(); item.clear(), words >> item) {
          const auto dot = item.find('.');
          lane.push_back({std::stoi(item.substr(0, dot)), std::stoi(item.substr(dot + 1))});
        }
        all.tables[table].push_back(lane);
      }
    }
    return all;
  }();
  return read;
}

using Matrix = std::array<std::array<int, size>, size>;

// Small integers as the bits of a type; exact in all of them.
struct ElementType {
  int bits;
  std::function<u32(int)> encode;
};
u32 half_of(int value) {
  const u32 single = bits(static_cast<float>(value));
  return value == 0 ? 0 : (single >> 16 & 0x8000u) | ((single >> 23 & 0xffu) - 112) << 10 | (single >> 13 & 0x3ffu);
}
ElementType type_of(const std::string& name) {
  if (name == "f16") return {16, half_of};
  if (name == "bf16") return {16, [](int value) { return bits(static_cast<float>(value)) >> 16; }};
  if (name == "iu8") return {8, [](int value) { return static_cast<u32>(value) & 0xffu; }};
  if (name == "iu4") return {4, [](int value) { return static_cast<u32>(value) & 0xfu; }};
  if (name == "f32") return {32, [](int value) { return bits(static_cast<float>(value)); }};
  return {32, [](int value) { return static_cast<u32>(value); }};
}

void place(SmallWave& wave, int first, const Table& table, const ElementType& type, const Matrix& matrix) {
  const int in_register = 32 / type.bits;
  for (int lane = 0; lane < wave_lanes; ++lane) {
    const auto& items = table[static_cast<std::size_t>(lane)];
    for (std::size_t i = 0; i < items.size(); ++i) {
      const int item = static_cast<int>(i);
      const u32 value = type.encode(matrix[items[i].row][items[i].column]);
      wave.v(first + item / in_register, lane) |= value << type.bits * (item % in_register);
    }
  }
}

Matrix random_matrix(std::mt19937& random, int low, int high) {
  Matrix matrix;
  for (auto& row : matrix)
    for (int& value : row) value = low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  return matrix;
}
Matrix product(const Matrix& a, const Matrix& b, const Matrix& c) {
  Matrix d = c;
  for (int i = 0; i < size; ++i)
    for (int j = 0; j < size; ++j)
      for (int k = 0; k < size; ++k) d[i][j] += a[i][k] * b[k][j];
  return d;
}

// "v_wmma_f32_16x16x16_bf16": types of the result and of the factors.
struct Types {
  std::string result, factor;
};
Types types_of(const std::string& name) {
  const auto at = name.find('_', 7);
  return {name.substr(7, at - 7), name.substr(name.rfind('_') + 1)};
}

struct Product {
  std::string name, modifiers;
  Matrix a, b, c, want;
};
// Registers 16, 32, 48 hold A, B, C, 64 receives D; C's 16-bit elements, and D's, stand in the half that OP_SEL says.
void check(const Product& run) {
  const auto& tables = published().instructions.at(run.name);
  const auto table = [&](int which) -> const Table& { return published().tables.at(tables[which]); };
  const Types types = types_of(run.name);
  const ElementType factor = type_of(types.factor), result = type_of(types.result);
  const bool upper = run.modifiers.find("op_sel:[0,0,1]") != std::string::npos;
  SmallWave wave("gfx1100");
  wave.set_exec(0xffff);   // it does not matter
  place(wave, a_at, table(0), factor, run.a);
  place(wave, b_at, table(1), factor, run.b);
  // One item a register, whatever its size.
  const ElementType spread = {32, [&](int value) { return result.encode(value) << (upper ? 16 : 0); }};
  place(wave, c_at, table(2), spread, run.c);
  for (int r = 0; r < 8; ++r)
    for (int lane = 0; lane < wave_lanes; ++lane) wave.v(d_at + r, lane) = 0xdeadbeef;
  const auto range = [](int first, int count) {
    return "v[" + std::to_string(first) + ":" + std::to_string(first + count - 1) + "]";
  };
  const int registers = factor.bits / 2;
  const std::string text = run.name + " " + range(d_at, 8) + ", " + range(a_at, registers) + ", " +
                           range(b_at, registers) + ", " + range(c_at, 8) + run.modifiers;
  ASSERT_EQ(wave.run(text), WaveStatus::ended) << text;
  for (int lane = 0; lane < wave_lanes; ++lane) {
    const auto& items = table(2)[static_cast<std::size_t>(lane)];
    for (int r = 0; r < 8; ++r) {
      const Item item = items[static_cast<std::size_t>(r)];
      u32 want = result.encode(run.want[item.row][item.column]);
      if (result.bits == 16) want = upper ? want << 16 | 0xbeef : want | 0xdead0000;
      EXPECT_EQ(wave.v(d_at + r, lane), want) << std::hex << text << " register " << r << " lane " << lane;
    }
  }
}

TEST(Wmma, ElementsLieWhereTheCalculatorSays) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  ASSERT_EQ(published().instructions.size(), 6u);
  for (const auto& [name, tables] : published().instructions) {
    const bool integers = name.find("_i32_") != std::string::npos;
    Product run{name, integers ? " neg_lo:[1,1,0]" : "", random_matrix(random, -3, 3), random_matrix(random, -3, 3),
            random_matrix(random, -9, 9), {}};
    run.want = product(run.a, run.b, run.c);
    check(run);
    if (name.find("_f16_16") == std::string::npos && name.find("_bf16_16") == std::string::npos) continue;
    run.modifiers = " op_sel:[0,0,1]";
    check(run);
  }
}

TEST(Wmma, IntegersWithAndWithoutSigns) {
  std::mt19937 random(7);
  for (const char* name : {"v_wmma_i32_16x16x16_iu8", "v_wmma_i32_16x16x16_iu4"}) {
    const int top = std::string(name).ends_with("iu8") ? 255 : 15, half = (top + 1) / 2;
    for (int signs = 0; signs < 4; ++signs) {
      const bool a_signed = (signs & 1) != 0, b_signed = (signs & 2) != 0;
      const auto factor = [&](bool with_sign) {
        return with_sign ? random_matrix(random, -half, half - 1) : random_matrix(random, 0, top);
      };
      Product run{name, "", factor(a_signed), factor(b_signed), random_matrix(random, -100000, 100000), {}};
      if (signs != 0) run.modifiers = " neg_lo:[" + std::string(a_signed ? "1," : "0,") + (b_signed ? "1,0]" : "0,0]");
      run.want = product(run.a, run.b, run.c);
      check(run);
    }
  }
}

TEST(Wmma, IntegersWrapOrSaturate) {
  Matrix ones, most, least;
  for (auto& row : ones) row.fill(1);
  for (auto& row : most) row.fill(0x7ffffff8);
  for (auto& row : least) row.fill(-0x7ffffff8);
  Matrix wrapped = most, top, minus = ones, bottom;
  for (auto& row : wrapped) row.fill(static_cast<int>(0x7ffffff8u + 16));
  for (auto& row : top) row.fill(INT32_MAX);
  for (auto& row : minus) row.fill(-1);
  for (auto& row : bottom) row.fill(INT32_MIN);
  check({"v_wmma_i32_16x16x16_iu8", "", ones, ones, most, wrapped});
  check({"v_wmma_i32_16x16x16_iu8", " clamp", ones, ones, most, top});
  check({"v_wmma_i32_16x16x16_iu8", " neg_lo:[1,1,0] clamp", ones, minus, least, bottom});
}

// NEG of A and B: the signs of even k, NEG_HI: of odd k; of C: its sign, and NEG_HI its absolute value.
TEST(Wmma, SignsOfFloats) {
  std::mt19937 random(11);
  const Matrix a = random_matrix(random, -3, 3), b = random_matrix(random, -3, 3), c = random_matrix(random, -9, 9);
  const auto changed = [](const Matrix& m, auto change) {
    Matrix result = m;
    for (int i = 0; i < size; ++i)
      for (int j = 0; j < size; ++j) result[i][j] = change(i, j, m[i][j]);
    return result;
  };
  const auto even_k = changed(a, [](int, int k, int x) { return k % 2 == 0 ? -x : x; });
  const auto odd_k = changed(b, [](int k, int, int x) { return k % 2 == 1 ? -x : x; });
  const auto minus = changed(c, [](int, int, int x) { return -x; });
  const auto minus_absolute = changed(c, [](int, int, int x) { return x < 0 ? x : -x; });
  for (const char* name : {"v_wmma_f32_16x16x16_f16", "v_wmma_f32_16x16x16_bf16", "v_wmma_f16_16x16x16_f16"}) {
    check({name, " neg_lo:[1,0,0]", a, b, c, product(even_k, b, c)});
    check({name, " neg_hi:[0,1,0]", a, b, c, product(a, odd_k, c)});
    check({name, " neg_lo:[0,0,1]", a, b, c, product(a, b, minus)});
    check({name, " neg_lo:[0,0,1] neg_hi:[0,0,1]", a, b, c, product(a, b, minus_absolute)});
  }
}

TEST(Wmma, ConstantsAsAddends) {
  SmallWave wave("gfx1100");
  ASSERT_EQ(wave.run("v_wmma_f32_16x16x16_f16 v[64:71], v[0:7], v[0:7], 1.0\n"
                     "v_wmma_i32_16x16x16_iu8 v[72:79], v[0:3], v[0:3], -5\n"
                     "v_wmma_f16_16x16x16_f16 v[80:87], v[0:7], v[0:7], 2.0"),
            WaveStatus::ended);
  for (int lane = 0; lane < wave_lanes; ++lane) {
    EXPECT_EQ(wave.v(64, lane), 0x3f800000u);
    EXPECT_EQ(wave.v(75, lane), static_cast<u32>(-5));
    EXPECT_EQ(wave.v(87, lane), 0x4000u);
  }
}

// One rounding to f32 a step, in order of k: 2^24 + 1 is no f32, so that what is added to it one by one is lost.
TEST(Wmma, EachStepRoundsToNearestEven) {
  SmallWave wave("gfx1100");
  wave.wave().mode = 0x3f0 | 3;  // MODE's rounding towards zero does not count
  for (int lane = 0; lane < wave_lanes; ++lane) {
    for (int r = 0; r < 8; ++r) wave.v(a_at + r, lane) = wave.v(b_at + r, lane) = 0x3c003c00;  // 1.0
    for (int r = 0; r < 8; ++r) wave.v(c_at + r, lane) = bits(16777215.0f);
  }
  ASSERT_EQ(wave.run("v_wmma_f32_16x16x16_f16 v[64:71], v[16:23], v[32:39], v[48:55]"), WaveStatus::ended);
  EXPECT_EQ(wave.v(d_at, 0), bits(16777216.0f)) << "the first 1 counts, the others round away";
}

}  // namespace
}  // namespace kiln::emulator_test
