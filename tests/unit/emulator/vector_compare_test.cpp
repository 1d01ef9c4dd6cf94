#include <cmath>

#include "tests/unit/emulator/vector_cases.hpp"

namespace kiln::emulator_test {
namespace {

// Lanes 0, 1, 2: a < b, a == b, a > b; lane 3: a is NaN (floats only).
void check_conditions(const std::string& type, int registers, const std::vector<std::uint64_t>& a,
                      const std::vector<std::uint64_t>& b,
                      const std::vector<std::pair<std::string, std::uint64_t>>& conditions) {
  for (const auto& [condition, want] : conditions) {
    SmallWave wave("gfx942");
    for (int i = 0; i < static_cast<int>(a.size()); ++i) {
      wave.set_v64(2, i, a[static_cast<std::size_t>(i)]);
      wave.set_v64(4, i, b[static_cast<std::size_t>(i)]);
    }
    wave.set_exec((std::uint64_t{1} << a.size()) - 1);
    wave.set_s64(4, ~std::uint64_t{0});
    const std::string sources = registers == 1 ? "v2, v4" : "v[2:3], v[4:5]", name = condition + "_" + type;
    ASSERT_EQ(wave.run("v_cmp_" + name + " s[4:5], " + sources + "\nv_cmp_" + name + " vcc, " + sources + "\nv_cmpx_" +
                       name + " s[6:7], " + sources),
              emulator::WaveStatus::ended)
        << name;
    EXPECT_EQ(wave.s64(4), want) << name;
    EXPECT_EQ(wave.s64(106), want) << name;
    EXPECT_EQ(wave.s64(6), want) << name;
    EXPECT_EQ(wave.s64(126), want) << name;
  }
}

const std::vector<std::pair<std::string, std::uint64_t>> float_conditions = {
    {"f", 0}, {"lt", 1}, {"eq", 2}, {"le", 3}, {"gt", 4}, {"lg", 5}, {"ge", 6}, {"o", 7},
    {"u", 8}, {"nge", 9}, {"nlg", 10}, {"ngt", 11}, {"nle", 12}, {"neq", 13}, {"nlt", 14}, {"tru", 15}};
const std::vector<std::pair<std::string, std::uint64_t>> integer_conditions = {
    {"f", 0}, {"lt", 1}, {"eq", 2}, {"le", 3}, {"gt", 4}, {"ne", 5}, {"ge", 6}, {"t", 7}};

TEST(VectorCompare, EveryConditionOfEveryType) {
  const std::uint64_t one64 = bits(1.0), two64 = bits(2.0), nan64 = 0x7ff8000000000000;
  check_conditions("f16", 1, {0x3c00, 0x4000, 0x4000, 0x7e00}, {0x4000, 0x4000, 0x3c00, 0x3c00}, float_conditions);
  check_conditions("f32", 1, {bits(1.0f), 0, bits(2.0f), 0x7fc00000}, {bits(2.0f), 0x80000000, bits(1.0f), 0},
                   float_conditions);
  check_conditions("f64", 2, {one64, two64, two64, nan64}, {two64, two64, one64, one64}, float_conditions);
  check_conditions("i16", 1, {0x7777ffff, 5, 1}, {0x11110001, 0xffff0005, 0xffff}, integer_conditions);
  check_conditions("u16", 1, {1, 5, 0xffff}, {0xffff, 5, 1}, integer_conditions);
  check_conditions("i32", 1, {0xffffffff, 5, 1}, {1, 5, 0xffffffff}, integer_conditions);
  check_conditions("u32", 1, {1, 5, 0xffffffff}, {0xffffffff, 5, 1}, integer_conditions);
  const std::uint64_t minus = ~std::uint64_t{0};
  check_conditions("i64", 2, {minus, 1ull << 40, 1}, {1, 1ull << 40, minus}, integer_conditions);
  check_conditions("u64", 2, {1, 1ull << 40, minus}, {minus, 1ull << 40, 1}, integer_conditions);
}

TEST(VectorCompare, Classes) {
  // By class bit: signalling NaN, quiet NaN, -inf, -normal, -denormal, -0, +0, +denormal, +normal, +inf.
  const std::uint32_t values[10] = {0x7f800001, 0xffc00000, 0xff800000, 0xbf800000, 0x80000001,
                                    0x80000000, 0,          1,          0x3f800000, 0x7f800000};
  const std::uint32_t halves[10] = {0x7c01, 0xfe00, 0xfc00, 0xbc00, 0x8001, 0x8000, 0, 1, 0x3c00, 0x7c00};
  const std::uint64_t doubles[10] = {0x7ff0000000000001,
                                     0xfff8000000000000,
                                     0xfff0000000000000,
                                     0xbff0000000000000,
                                     0x8000000000000001,
                                     0x8000000000000000,
                                     0,
                                     1,
                                     0x3ff0000000000000,
                                     0x7ff0000000000000};
  for (int i = 0; i < 10; ++i) {
    SmallWave wave("gfx90a");
    for (int lane = 0; lane < 64; ++lane) {
      wave.v(1, lane) = values[i];
      wave.v(2, lane) = 1u << (lane % 16);
      wave.v(3, lane) = halves[i];
      wave.set_v64(4, lane, doubles[i]);
    }
    ASSERT_EQ(
        wave.run("v_cmp_class_f32 vcc, v1, v2\nv_cmp_class_f16 s[4:5], v3, v2\nv_cmp_class_f64 s[6:7], v[4:5], v2\n"
                 "v_cmp_class_f32 s[8:9], -v1, v2\nv_cmpx_class_f32 vcc, v1, v2"),
        emulator::WaveStatus::ended);
    const std::uint64_t want = 0x0001000100010001ull << i;
    EXPECT_EQ(wave.s64(106), want) << i;
    EXPECT_EQ(wave.s64(4), want) << i;
    EXPECT_EQ(wave.s64(6), want) << i;
    EXPECT_EQ(wave.s64(8), i < 2 ? want : 0x0001000100010001ull << (11 - i)) << i;
    EXPECT_EQ(wave.s64(126), want) << i;
  }
}

TEST(VectorCompare, DenormalInputsFollowTheMode) {
  SmallWave wave("gfx942");
  wave.v(1, 0) = 1;
  wave.wave().mode = 0x3c0;
  ASSERT_EQ(wave.run("v_cmp_eq_f32 vcc, 0, v1\nv_cmp_eq_u32 s[4:5], 0, v1"), emulator::WaveStatus::ended);
  EXPECT_EQ(wave.s64(106), ~std::uint64_t{0});
  EXPECT_EQ(wave.s64(4), ~std::uint64_t{1});
  wave.wave().mode = 0x3f0;
  ASSERT_EQ(wave.run("v_cmp_eq_f32 vcc, 0, v1"), emulator::WaveStatus::ended);
  EXPECT_EQ(wave.s64(106), ~std::uint64_t{1});
}

TEST(VectorCompare, SdwaPicksPartsAndItsMask) {
  SmallWave wave("gfx942");
  for (int i = 0; i < 64; ++i) wave.v(1, i) = static_cast<std::uint32_t>(i) << 8, wave.v(2, i) = 32u << 16;
  ASSERT_EQ(wave.run("v_cmp_lt_u32_sdwa s[10:11], v1, v2 src0_sel:BYTE_1 src1_sel:WORD_1"),
            emulator::WaveStatus::ended);
  EXPECT_EQ(wave.s64(10), 0xffffffffu);
}

}  // namespace
}  // namespace kiln::emulator_test
