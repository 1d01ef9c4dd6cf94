// Numbers in matrix instructions: formats code by code, denormals, NaN and infinity, rounding, wrapping, overlaps.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tests/unit/emulator/matrix_case.hpp"

namespace kiln::emulator_test {
namespace {

using emulator::FaultKind;
using emulator::WaveStatus;

constexpr float infinity = std::numeric_limits<float>::infinity();

// D[0][0] of a product whose A and B are all zeros but for A[0][0] and B[0][0]: both are element 0 of lane 0.
float first_of(const std::string& processor, const std::string& name, int operand_registers, std::uint32_t a,
               std::uint32_t b, float c, std::uint32_t mode = 0x3f0) {
  SmallWave wave(processor);
  wave.wave().mode = mode;
  wave.v(0, 0) = a;
  wave.v(8, 0) = b;
  wave.set_vf(16, 0, c);
  const int results = name.find("32x32") != std::string::npos ? 16 : 4;
  EXPECT_EQ(wave.run(name + " " + registers('v', 64, results) + ", " + registers('v', 0, operand_registers) + ", " +
                     registers('v', 8, operand_registers) + ", " + registers('v', 16, results)),
            WaveStatus::ended)
      << name;
  return wave.vf(64, 0);
}

// Every code but `skipped`, through A against a B that is the unit matrix.
void expect_codes(const std::string& processor, const std::string& name, const std::string& type,
                  const std::function<bool(std::uint32_t)>& skipped) {
  const SmallFormat format = small_format(type);
  SmallWave wave(processor);
  const std::uint64_t one = encode_element(type, 1);
  for (int row = 0; row < 16; ++row) {
    for (int k = 0; k < 16; ++k) {  // 16x16x32: eight consecutive k a lane
      const auto code = static_cast<std::uint32_t>(row * 16 + k);
      put_element(wave, 'v', 0, row + 16 * (k / 8), k % 8, 8, skipped(code) ? 0 : code);
      if (row == k) put_element(wave, 'v', 8, row + 16 * (k / 8), k % 8, 8, one);
    }
  }
  ASSERT_EQ(wave.run(name + " v[64:67], v[0:1], v[8:9], 0"), WaveStatus::ended);
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 16; ++column) {
      const auto code = static_cast<std::uint32_t>(row * 16 + column);
      const double expected = skipped(code) ? 0 : decode_small(format, code);
      EXPECT_EQ(wave.vf(64 + row % 4, column + 16 * (row / 4)), expected) << processor << " " << type << " " << code;
    }
  }
}

TEST(MatrixValues, EveryCodeOfEightBits) {
  const auto unsigned_zero = [](std::uint32_t code) { return code == 0x80; };
  const auto nan = [](std::uint32_t code) { return (code & 0x7f) == 0x7f; };
  const auto not_finite = [](std::uint32_t code) { return (code & 0x7f) >= 0x7c; };
  expect_codes("gfx942", "v_mfma_f32_16x16x32_fp8_fp8", "fp8_fnuz", unsigned_zero);
  expect_codes("gfx942", "v_mfma_f32_16x16x32_bf8_bf8", "bf8_fnuz", unsigned_zero);
  expect_codes("gfx950", "v_mfma_f32_16x16x32_fp8_fp8", "fp8", nan);
  expect_codes("gfx950", "v_mfma_f32_16x16x32_bf8_bf8", "bf8", not_finite);
}

TEST(MatrixValues, SpecialCodesOfEightBits) {
  const std::string fp8 = "v_mfma_f32_16x16x32_fp8_fp8", bf8 = "v_mfma_f32_16x16x32_bf8_bf8";
  EXPECT_TRUE(std::isnan(first_of("gfx942", fp8, 2, 0x80, 0x40, 0)));
  EXPECT_TRUE(std::isnan(first_of("gfx942", bf8, 2, 0x80, 0x40, 0)));
  EXPECT_EQ(first_of("gfx942", bf8, 2, 0x7f, 0x40, 0), 57344.0f);  // no infinities in FNUZ; 0x40 is 1
  EXPECT_TRUE(std::isnan(first_of("gfx950", fp8, 2, 0x7f, 0x38, 0)));
  EXPECT_TRUE(std::isnan(first_of("gfx950", fp8, 2, 0xff, 0x38, 0)));
  EXPECT_EQ(first_of("gfx950", fp8, 2, 0x7e, 0x38, 0), 448.0f);
  EXPECT_EQ(first_of("gfx950", bf8, 2, 0x7c, 0x3c, 0), infinity);
  EXPECT_EQ(first_of("gfx950", bf8, 2, 0xfc, 0x3c, 0), -infinity);
  EXPECT_TRUE(std::isnan(first_of("gfx950", bf8, 2, 0x7d, 0x3c, 0)));
}

TEST(MatrixValues, DenormalsOfF16) {
  const std::string old_name = "v_mfma_f32_16x16x16f16", new_name = "v_mfma_f32_16x16x16_f16";
  EXPECT_EQ(first_of("gfx942", new_name, 2, 0x0001, 0x3c00, 0), std::ldexp(1.0f, -24));
  EXPECT_EQ(first_of("gfx942", new_name, 2, 0x3c00, 0x83ff, 1), 1 - std::ldexp(1023.0f, -24));
  EXPECT_EQ(first_of("gfx950", "v_mfma_f32_16x16x32_f16", 4, 0x0001, 0x3c00, 0), std::ldexp(1.0f, -24));
  EXPECT_EQ(first_of("gfx90a", old_name, 2, 0x0001, 0x3c00, 0), 0.0f);
  EXPECT_EQ(first_of("gfx90a", old_name, 2, 0x3c00, 0x83ff, 1), 1.0f);
  EXPECT_EQ(first_of("gfx90a", old_name, 2, 0x0400, 0x3c00, 0), std::ldexp(1.0f, -14));  // the smallest normal one
}

TEST(MatrixValues, DenormalsOfBf16AndF32) {
  const float tiny = std::bit_cast<float>(0x00400000u);  // 2^-127
  const std::string new_name = "v_mfma_f32_32x32x8_bf16";
  EXPECT_EQ(first_of("gfx942", new_name, 2, 0x0040, 0x3f80, 0), tiny);
  EXPECT_EQ(first_of("gfx942", new_name, 2, 0, 0, tiny), tiny);
  for (const char* name : {"v_mfma_f32_32x32x8bf16_1k", "v_mfma_f32_32x32x4bf16"}) {
    const int operand = std::string(name).ends_with("_1k") ? 2 : 1;
    EXPECT_EQ(first_of("gfx90a", name, operand, 0x0040, 0x3f80, 0), 0.0f) << name;
    EXPECT_EQ(first_of("gfx90a", name, operand, 0, 0, tiny), 0.0f) << name;                // C
    EXPECT_EQ(first_of("gfx90a", name, operand, 0x0080, 0x3f00, 0), 0.0f) << name;         // D: 2^-126 / 2
  }
  // Those of f32 keep them, on gfx90a too.
  EXPECT_EQ(first_of("gfx90a", "v_mfma_f32_16x16x4f32", 1, 0x00800000, 0x3f000000, 0), tiny);
  EXPECT_EQ(first_of("gfx90a", "v_mfma_f32_16x16x4f32", 1, 0x00000001, 0x3f800000, 0), std::bit_cast<float>(1u));
}

TEST(MatrixValues, NanAndInfinity) {
  const std::string name = "v_mfma_f32_16x16x16_f16";
  EXPECT_EQ(first_of("gfx942", name, 2, 0x7c00, 0x3c00, 0), infinity);
  EXPECT_EQ(first_of("gfx942", name, 2, 0x7c00, 0xbc00, 5), -infinity);
  EXPECT_TRUE(std::isnan(first_of("gfx942", name, 2, 0x7c00, 0x0000, 0)));
  EXPECT_TRUE(std::isnan(first_of("gfx942", name, 2, 0x7c00, 0x3c00, -infinity)));
  EXPECT_TRUE(std::isnan(first_of("gfx942", name, 2, 0x7e00, 0x0000, 0)));
  EXPECT_TRUE(std::isnan(first_of("gfx942", name, 2, 0, 0, std::numeric_limits<float>::quiet_NaN())));
  EXPECT_EQ(first_of("gfx942", "v_mfma_f32_16x16x4_f32", 1, 0x7f7fffff, 0x40000000, 0), infinity);  // overflow
}

// What a sparse A does not hold is no product: infinity times nothing.
TEST(MatrixValues, SparseSkipsWhatIsNotChosen) {
  SmallWave wave("gfx942");
  for (int lane = 0; lane < 64; ++lane) {
    // Infinity but for k % 4 == 1.
    for (int reg = 0; reg < 4; ++reg) wave.v(8 + reg, lane) = reg % 2 == 0 ? 0x3c007c00u : 0x7c007c00u;
    wave.v(0, lane) = wave.v(1, lane) = 0x00003c00u;  // pairs 1, 0
    wave.v(20, lane) = 0x55;                          // both of each pair meet k % 4 == 1
  }
  ASSERT_EQ(wave.run("v_smfmac_f32_16x16x32_f16 v[64:67], v[0:1], v[8:11], v20"), WaveStatus::ended);
  for (int lane = 0; lane < 64; ++lane) EXPECT_EQ(wave.vf(64, lane), 8.0f);
}

TEST(MatrixValues, RoundsToNearestEvenInEveryMode) {
  const std::string name = "v_mfma_f32_16x16x16_f16";
  // 1 + 2^-24 is half way: to the even 1. 1 + 2^-24 + 2^-34 is more.
  for (std::uint32_t round = 0; round < 4; ++round) {
    const std::uint32_t mode = 0x3f0 | round * 5;
    EXPECT_EQ(first_of("gfx942", name, 2, 0x0c00, 0x0c00, 1, mode), 1.0f) << round;              // 2^-12 each
    EXPECT_EQ(first_of("gfx942", name, 2, 0x0c01, 0x0c00, 1, mode), 1 + std::ldexp(1.0f, -23)) << round;
    SmallWave wave("gfx942");
    wave.wave().mode = mode;
    wave.set_v64(0, 0, std::bit_cast<std::uint64_t>(std::ldexp(1.0, -53)));
    wave.set_v64(8, 0, std::bit_cast<std::uint64_t>(1.0));
    ASSERT_EQ(wave.run("v_mfma_f64_16x16x4_f64 v[64:71], v[0:1], v[8:9], 1.0"), WaveStatus::ended);
    EXPECT_EQ(wave.v64(64, 0), std::bit_cast<std::uint64_t>(1.0)) << round;
  }
}

// Products are added one after the other in order of k: each 1 is lost in 2^24.
TEST(MatrixValues, AddsInOrderOfK) {
  SmallWave wave("gfx942");
  for (int lane = 0; lane < 64; ++lane) {
    wave.v(0, lane) = wave.v(1, lane) = wave.v(8, lane) = wave.v(9, lane) = 0x3c003c00;
    for (int reg = 0; reg < 4; ++reg) wave.set_vf(16 + reg, lane, 16777216.0f);
  }
  ASSERT_EQ(wave.run("v_mfma_f32_16x16x16_f16 v[16:19], v[0:1], v[8:9], v[16:19]"), WaveStatus::ended);
  EXPECT_EQ(wave.vf(16, 0), 16777216.0f);
}

TEST(MatrixValues, Xf32RoundsItsInputs) {
  const std::string name = "v_mfma_f32_16x16x8_xf32";
  const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
  const auto product = [&](float a) { return first_of("gfx942", name, 2, bits(a), bits(1.0f), 0); };
  EXPECT_EQ(product(1 + std::ldexp(1.0f, -10)), 1 + std::ldexp(1.0f, -10));
  EXPECT_EQ(product(1 + std::ldexp(1.0f, -11)), 1.0f);                              // half way, to even
  EXPECT_EQ(product(1 + std::ldexp(3.0f, -11)), 1 + std::ldexp(2.0f, -10));
  EXPECT_EQ(product(1 + std::ldexp(1.0f, -11) + std::ldexp(1.0f, -23)), 1 + std::ldexp(1.0f, -10));
  EXPECT_EQ(product(infinity), infinity);
  EXPECT_TRUE(std::isnan(first_of("gfx942", name, 2, 0x7f800001, bits(1.0f), 0)));
}

TEST(MatrixValues, IntegersWrap) {
  SmallWave wave("gfx942");
  for (int lane = 0; lane < 64; ++lane) {
    for (int reg = 0; reg < 2; ++reg) wave.v(reg, lane) = wave.v(8 + reg, lane) = 0x80808080;  // -128
    for (int reg = 0; reg < 16; ++reg) wave.v(16 + reg, lane) = 0x7fffffff;
  }
  ASSERT_EQ(wave.run("v_mfma_i32_32x32x16_i8 v[64:79], v[0:1], v[8:9], v[16:31]"), WaveStatus::ended);
  for (int reg = 0; reg < 16; ++reg) EXPECT_EQ(wave.v(64 + reg, 7), 0x7fffffffu + 16u * 16384u);
}

TEST(MatrixValues, DoublesAreFusedAndTakeSigns) {
  const double a = 1 + std::ldexp(1.0, -52), c = -a * a;
  for (int signs = 0; signs < 8; ++signs) {
    SmallWave wave("gfx942");
    wave.set_v64(0, 0, std::bit_cast<std::uint64_t>(a));
    wave.set_v64(8, 0, std::bit_cast<std::uint64_t>(a));
    wave.set_v64(16, 0, std::bit_cast<std::uint64_t>(c));
    const auto bit = [signs](int n) { return std::to_string(signs >> n & 1); };
    ASSERT_EQ(wave.run("v_mfma_f64_4x4x4_4b_f64 v[64:65], v[0:1], v[8:9], v[16:17] neg:[" + bit(0) + "," + bit(1) +
                       "," + bit(2) + "]"),
              WaveStatus::ended);
    const double expected =
        std::fma(signs & 1 ? -a : a, signs & 2 ? -a : a, signs & 4 ? -c : c);
    EXPECT_EQ(wave.v64(64, 0), std::bit_cast<std::uint64_t>(expected)) << signs;
  }
}

TEST(MatrixValues, ResultsMayOverlapTheirSources) {
  // 16x16x4 of f32, all ones: each product is 4.
  for (const char* operands : {"v[0:3], v0, v8, v[16:19]", "v[16:19], v0, v8, v[16:19]", "v[8:11], v0, v8, v[16:19]",
                               "v[18:21], v0, v8, v[16:19]", "v[14:17], v0, v8, v[16:19]"}) {
    SmallWave wave("gfx942");
    for (int lane = 0; lane < 64; ++lane) {
      wave.set_vf(0, lane, 1);
      wave.set_vf(8, lane, 1);
      for (int reg = 0; reg < 4; ++reg) wave.set_vf(16 + reg, lane, static_cast<float>(10 * reg + lane));
    }
    ASSERT_EQ(wave.run(std::string("v_mfma_f32_16x16x4_f32 ") + operands), WaveStatus::ended) << operands;
    const int first = std::stoi(std::string(operands).substr(2));
    for (int reg = 0; reg < 4; ++reg) {
      for (int lane = 0; lane < 64; ++lane) {
        EXPECT_EQ(wave.vf(first + reg, lane), static_cast<float>(10 * reg + lane + 4)) << operands;
      }
    }
  }
}

TEST(MatrixValues, MovesToAndFromAccumulationRegisters) {
  for (const char* processor : {"gfx90a", "gfx942", "gfx950"}) {
    SmallWave wave(processor);
    for (int lane = 0; lane < 64; ++lane) {
      wave.v(3, lane) = 1000u + static_cast<std::uint32_t>(lane);
      wave.a(4, lane) = wave.a(5, lane) = wave.v(6, lane) = 7;
    }
    constexpr std::uint64_t exec = 0x00000000ffffff0fu;
    wave.set_exec(exec);
    ASSERT_EQ(wave.run("v_accvgpr_write_b32 a4, v3\nv_accvgpr_write_b32 a5, -2\nv_accvgpr_read_b32 v6, a4"),
              WaveStatus::ended);
    for (int lane = 0; lane < 64; ++lane) {
      const bool active = (exec >> lane & 1) != 0;
      EXPECT_EQ(wave.a(4, lane), active ? 1000u + static_cast<std::uint32_t>(lane) : 7u);
      EXPECT_EQ(wave.a(5, lane), active ? 0xfffffffeu : 7u);
      EXPECT_EQ(wave.v(6, lane), active ? 1000u + static_cast<std::uint32_t>(lane) : 7u);
    }
  }
}

TEST(MatrixValues, WhatHasNoMeaningIsNotCovered) {
  const struct {
    const char *processor, *text;
  } rows[] = {{"gfx942", "v_mfma_f32_32x32x8_f16 v[0:15], v[16:17], v[18:19], v[0:15] cbsz:1"},
              {"gfx942", "v_mfma_f32_32x32x4_2b_f16 v[0:31], v[32:33], v[34:35], v[0:31] cbsz:1 abid:2"},
              {"gfx90a", "v_mfma_f64_4x4x4f64 v[0:1], v[2:3], v[4:5], v[0:1] blgp:1"},
              {"gfx950", "v_mfma_ld_scale_b32 v0, v1"}};
  for (const auto& row : rows) {
    SmallWave wave(row.processor);
    EXPECT_EQ(wave.run(row.text), WaveStatus::faulted) << row.text;
    EXPECT_EQ(wave.wave().fault.kind, FaultKind::not_covered) << row.text;
  }
}

}  // namespace
}  // namespace kiln::emulator_test
