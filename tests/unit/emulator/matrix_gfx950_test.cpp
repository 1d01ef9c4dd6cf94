// gfx950's own matrix instructions. Where their elements lie is derived by hand from AMD's article "Matrix Core
// Programming on AMD CDNA3 and CDNA4" (ROCm blogs): a lane holds runs of consecutive k; where an operand takes eight
// registers there are two runs, half of K apart. It shows 32x32x64 only; the others follow the same rule.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/emulator/matrix_case.hpp"

namespace kiln::emulator_test {
namespace {

constexpr int lanes = 64;

// Element k of a row (or column): runs of `run` elements go to the groups of lanes in turn, then round again.
Place in_runs(int size, int run, int row, int k) {
  const int groups = lanes / size;
  return {row + size * (k / run % groups), k / (run * groups) * run + k % run};
}

// D's rows by fours: registers, then groups of lanes.
Place result_place(int size, int row, int column) {
  const int groups = lanes / size;
  return {column + size * (row / 4 % groups), row / (4 * groups) * 4 + row % 4};
}

struct Row {
  const char* name;
  int size, depth;
  const char *a_type, *b_type, *d_type;
  int a_run, b_run;
};

MatrixCase case_of(const Row& row) {
  MatrixCase one;
  one.processor = "gfx950";
  one.name = row.name;
  one.size = row.size;
  one.depth = row.depth;
  one.a_type = row.a_type;
  one.b_type = row.b_type;
  one.d_type = row.d_type;
  one.sparse = one.name.find("smfmac") != std::string::npos;
  one.b_elements = row.depth * row.size / lanes;
  one.a_elements = one.b_elements / (one.sparse ? 2 : 1);
  one.d_elements = row.size * row.size / lanes;
  one.a = [row](int m, int k, int) { return in_runs(row.size, row.a_run, m, k); };
  one.b = [row](int k, int n, int) { return in_runs(row.size, row.b_run, n, k); };
  one.d = [row](int m, int n, int) { return result_place(row.size, m, n); };
  return one;
}

TEST(MatrixGfx950, DoubledDepth) {
  const Row rows[] = {{"v_mfma_f32_16x16x32_f16", 16, 32, "f16", "f16", "f32", 8, 8},
                      {"v_mfma_f32_32x32x16_f16", 32, 16, "f16", "f16", "f32", 8, 8},
                      {"v_mfma_f32_16x16x32_bf16", 16, 32, "bf16", "bf16", "f32", 8, 8},
                      {"v_mfma_f32_32x32x16_bf16", 32, 16, "bf16", "bf16", "f32", 8, 8},
                      {"v_mfma_i32_16x16x64_i8", 16, 64, "i8", "i8", "i32", 16, 16},
                      {"v_mfma_i32_32x32x32_i8", 32, 32, "i8", "i8", "i32", 16, 16}};
  std::uint32_t seed = 1;
  for (const Row& row : rows) {
    MatrixOptions options;
    options.values_max = row.d_type == std::string("i32") ? 127 : 4;
    expect_product(case_of(row), options, seed++);
  }
}

TEST(MatrixGfx950, Sparse) {
  std::uint32_t seed = 100;
  const Row rows[] = {{"v_smfmac_f32_16x16x64_f16", 16, 64, "f16", "f16", "f32", 8, 8},
                      {"v_smfmac_f32_32x32x32_f16", 32, 32, "f16", "f16", "f32", 8, 8},
                      {"v_smfmac_f32_16x16x64_bf16", 16, 64, "bf16", "bf16", "f32", 8, 8},
                      {"v_smfmac_f32_32x32x32_bf16", 32, 32, "bf16", "bf16", "f32", 8, 8},
                      {"v_smfmac_i32_16x16x128_i8", 16, 128, "i8", "i8", "i32", 16, 16},
                      {"v_smfmac_i32_32x32x64_i8", 32, 64, "i8", "i8", "i32", 16, 16}};
  for (const Row& row : rows) expect_product(case_of(row), {}, seed++);
  for (const char* shape : {"16x16x128", "32x32x64"}) {
    for (const char* a : {"fp8", "bf8"}) {
      for (const char* b : {"fp8", "bf8"}) {
        const bool large = shape[0] == '3';
        const std::string name = std::string("v_smfmac_f32_") + shape + "_" + a + "_" + b;
        expect_product(case_of({name.c_str(), large ? 32 : 16, large ? 64 : 128, a, b, "f32", 16, 16}), {}, seed++);
      }
    }
  }
  MatrixOptions second;  // 16-bit elements: two sets of 16 bits
  second.index_set = 1;
  second.modifiers = "abid:1";
  expect_product(case_of(rows[0]), second, seed++);
}

const char* const mixed_types[] = {"fp8", "bf8", "fp6", "bf6", "fp4"};
int mixed_run(int type) { return type < 2 ? 16 : 32; }

TEST(MatrixGfx950, EightSixAndFourBits) {
  std::uint32_t seed = 200;
  for (int a = 0; a < 5; ++a) {
    for (int b = 0; b < 5; ++b) {
      MatrixOptions options;
      options.modifiers = "cbsz:" + std::to_string(a) + " blgp:" + std::to_string(b);
      options.values_max = 4;
      expect_product(case_of({"v_mfma_f32_16x16x128_f8f6f4", 16, 128, mixed_types[a], mixed_types[b], "f32",
                              mixed_run(a), mixed_run(b)}),
                     options, seed++);
      expect_product(case_of({"v_mfma_f32_32x32x64_f8f6f4", 32, 64, mixed_types[a], mixed_types[b], "f32",
                              mixed_run(a), mixed_run(b)}),
                     options, seed++);
    }
  }
}

// A scale for each 32 k of a row of A and of a column of B: in lane row + size * (k / 32), the byte that OP_SEL and
// OP_SEL_HI say.
void expect_scaled(int size, int a_type, int b_type, int a_byte, int b_byte, std::uint32_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const int depth = size == 16 ? 128 : 64;
  SmallWave wave("gfx950");
  const std::string types[2] = {mixed_types[a_type], mixed_types[b_type]};
  const int runs[2] = {mixed_run(a_type), mixed_run(b_type)}, bytes[2] = {a_byte, b_byte};
  std::vector<std::vector<double>> values[2], scales[2];
  for (int operand = 0; operand < 2; ++operand) {
    const int bits = element_bits(types[operand]);
    values[operand].assign(static_cast<std::size_t>(size), std::vector<double>(static_cast<std::size_t>(depth)));
    scales[operand].assign(static_cast<std::size_t>(size), std::vector<double>(static_cast<std::size_t>(depth / 32)));
    for (int row = 0; row < size; ++row) {
      for (int k = 0; k < depth; ++k) {
        const double value = static_cast<int>(random() % 5) - 2;
        values[operand][static_cast<std::size_t>(row)][static_cast<std::size_t>(k)] = value;
        const Place place = in_runs(size, runs[operand], row, k);
        put_element(wave, 'v', operand * 8, place.lane, place.element, bits, encode_element(types[operand], value));
      }
      for (int group = 0; group < depth / 32; ++group) {
        const int exponent = 124 + static_cast<int>(random() % 6);
        scales[operand][static_cast<std::size_t>(row)][static_cast<std::size_t>(group)] =
            std::ldexp(1.0, exponent - 127);
        std::uint32_t& scale = wave.v(40 + operand, row + size * group);
        scale = random();
        scale &= ~(0xffu << (8 * bytes[operand]));
        scale |= static_cast<std::uint32_t>(exponent) << (8 * bytes[operand]);
      }
    }
  }
  const auto pair = [](int first, int second) {
    return "[" + std::to_string(first) + "," + std::to_string(second) + ",0]";
  };
  const int results = size * size / lanes;
  const std::string shape = size == 16 ? "16x16x128" : "32x32x64";
  ASSERT_EQ(wave.run("v_mfma_scale_f32_" + shape + "_f8f6f4 " + registers('v', 64, results) + ", " +
                     registers('v', 0, element_bits(types[0])) + ", " + registers('v', 8, element_bits(types[1])) +
                     ", 1.0, v40, v41 op_sel:" + pair(a_byte & 1, b_byte & 1) + " op_sel_hi:" +
                     pair(a_byte >> 1, b_byte >> 1) + " cbsz:" + std::to_string(a_type) +
                     " blgp:" + std::to_string(b_type)),
            emulator::WaveStatus::ended);
  for (int row = 0; row < size; ++row) {
    for (int column = 0; column < size; ++column) {
      const auto m = static_cast<std::size_t>(row), n = static_cast<std::size_t>(column);
      double expected = 1;
      for (std::size_t k = 0; k < static_cast<std::size_t>(depth); ++k) {
        expected += values[0][m][k] * values[1][n][k] * scales[0][m][k / 32] * scales[1][n][k / 32];
      }
      const Place place = result_place(size, row, column);
      ASSERT_EQ(wave.vf(64 + place.element, place.lane), expected) << row << " " << column;
    }
  }
}

TEST(MatrixGfx950, BlockScales) {
  std::uint32_t seed = 300;
  for (const int size : {16, 32}) {
    for (int type = 0; type < 5; ++type) {
      expect_scaled(size, type, type, 0, 0, seed++);
      expect_scaled(size, type, (type + 2) % 5, type % 4, 3 - type % 4, seed++);
    }
  }
}

TEST(MatrixGfx950, AScaleOf255IsNan) {
  SmallWave wave("gfx950");
  for (int lane = 0; lane < lanes; ++lane) {
    wave.v(40, lane) = lane == 3 ? 255 : 127;
    wave.v(41, lane) = 127;
  }
  ASSERT_EQ(wave.run("v_mfma_scale_f32_16x16x128_f8f6f4 v[64:67], v[0:7], v[8:15], 1.0, v40, v41"),
            emulator::WaveStatus::ended);
  for (int row = 0; row < 16; ++row) {
    const Place place = result_place(16, row, 5);
    EXPECT_EQ(std::isnan(wave.vf(64 + place.element, place.lane)), row == 3) << row;
  }
}

}  // namespace
}  // namespace kiln::emulator_test
