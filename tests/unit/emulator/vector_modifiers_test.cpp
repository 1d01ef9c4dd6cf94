// DPP, SDWA, output modifiers, and moves between lanes and files.
#include "tests/unit/emulator/vector_cases.hpp"

namespace kiln::emulator_test {
namespace {

using emulator::WaveStatus;

// Runs a v_mov with DPP on lane numbers + 100 and compares with `source`: the lane read, -1: none.
template <class Source>
void check_dpp(const std::string& control, Source source, std::uint64_t exec = ~std::uint64_t{0},
               const std::string& masks = "", std::uint64_t written = ~std::uint64_t{0}) {
  for (const bool zero : {false, true}) {
    SmallWave wave("gfx90a");
    for (int i = 0; i < 64; ++i) wave.v(1, i) = 100 + static_cast<std::uint32_t>(i), wave.v(0, i) = 7;
    wave.set_exec(exec);
    ASSERT_EQ(wave.run("v_mov_b32_dpp v0, v1 " + control + " " + masks + (zero ? " bound_ctrl:0" : "")),
              WaveStatus::ended)
        << control;
    for (int i = 0; i < 64; ++i) {
      int from = source(i);
      if (from >= 0 && (exec >> from & 1) == 0) from = -1;
      std::uint32_t want = from >= 0 ? 100 + static_cast<std::uint32_t>(from) : zero ? 0 : 7;
      if ((exec & written) >> i & 1) {
        EXPECT_EQ(wave.v(0, i), want) << control << " lane " << i << " bound_ctrl " << zero;
      } else {
        EXPECT_EQ(wave.v(0, i), 7u) << control << " lane " << i;
      }
    }
  }
}

TEST(VectorDpp, EveryControl) {
  const auto row = [](int i) { return i / 16 * 16; };
  check_dpp("quad_perm:[1,0,3,2]", [](int i) { return i ^ 1; });
  check_dpp("quad_perm:[3,3,0,1]", [](int i) { const int at[4] = {3, 3, 0, 1}; return i / 4 * 4 + at[i % 4]; });
  for (int n = 1; n < 16; n += 7) {
    const std::string amount = std::to_string(n);
    check_dpp("row_shl:" + amount, [&](int i) { return i % 16 + n < 16 ? i + n : -1; });
    check_dpp("row_shr:" + amount, [&](int i) { return i % 16 >= n ? i - n : -1; });
    check_dpp("row_ror:" + amount, [&](int i) { return row(i) + (i % 16 + 16 - n) % 16; });
    check_dpp("row_newbcast:" + amount, [&](int i) { return row(i) + n; });
  }
  check_dpp("wave_shl:1", [](int i) { return i < 63 ? i + 1 : -1; });
  check_dpp("wave_shr:1", [](int i) { return i - 1; });
  check_dpp("wave_rol:1", [](int i) { return (i + 1) % 64; });
  check_dpp("wave_ror:1", [](int i) { return (i + 63) % 64; });
  check_dpp("row_mirror", [&](int i) { return row(i) + 15 - i % 16; });
  check_dpp("row_half_mirror", [](int i) { return i / 8 * 8 + 7 - i % 8; });
  check_dpp("row_bcast:15", [&](int i) { return row(i) - 1; });
  check_dpp("row_bcast:31", [](int i) { return i >= 32 ? 31 : -1; });
}

TEST(VectorDpp, MasksAndInactiveLanes) {
  const auto previous = [](int i) { return i % 16 >= 1 ? i - 1 : -1; };
  check_dpp("row_shr:1", previous, ~std::uint64_t{0}, "row_mask:0xa bank_mask:0xf", 0xffff0000ffff0000);
  check_dpp("row_shr:1", previous, ~std::uint64_t{0}, "row_mask:0xf bank_mask:0x5", 0x0f0f0f0f0f0f0f0f);
  check_dpp("row_shr:1", previous, 0x5555555500ff00ff);
}

TEST(VectorDpp, ReductionInPlace) {
  // The usual wave-wide sum: the destination is a source that lanes read from each other.
  SmallWave wave("gfx942");
  for (int i = 0; i < 64; ++i) wave.v(0, i) = static_cast<std::uint32_t>(i + 1);
  ASSERT_EQ(
      wave.run(
          "v_add_u32_dpp v0, v0, v0 row_shr:1 bound_ctrl:0\nv_add_u32_dpp v0, v0, v0 row_shr:2 bound_ctrl:0\n"
          "v_add_u32_dpp v0, v0, v0 row_shr:4 bound_ctrl:0\nv_add_u32_dpp v0, v0, v0 row_shr:8 bound_ctrl:0\n"
          "v_add_u32_dpp v0, v0, v0 row_bcast:15 row_mask:0xa\nv_add_u32_dpp v0, v0, v0 row_bcast:31 row_mask:0xc\n"
          "v_readlane_b32 s4, v0, 63"),
      WaveStatus::ended);
  EXPECT_EQ(wave.s(4), 64u * 65 / 2);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(wave.v(0, i), static_cast<std::uint32_t>((i + 1) * (i + 2) / 2)) << i;
}

TEST(VectorDpp, SignsAndWideRegisters) {
  SmallWave wave("gfx942");
  for (int i = 0; i < 64; ++i) {
    wave.set_vf(1, i, static_cast<float>(i));
    wave.set_v64(2, i, static_cast<std::uint64_t>(i) << 32 | 5);
  }
  ASSERT_EQ(wave.run("v_add_f32_dpp v0, -v1, |v1| quad_perm:[1,0,3,2]\nv_mov_b64_dpp v[4:5], v[2:3] row_newbcast:3"),
            WaveStatus::ended);
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(wave.vf(0, i), static_cast<float>(i - (i ^ 1)));
    EXPECT_EQ(wave.v64(4, i), static_cast<std::uint64_t>(i / 16 * 16 + 3) << 32 | 5);
  }
}

TEST(VectorSdwa, SourcesAndDestination) {
  for (const auto& p : cdna()) {
    check32(p, "v_add_u32_sdwa v0, v1, v2 dst_sel:DWORD src0_sel:BYTE_1 src1_sel:WORD_1",
            {{0x1234, 0x00050000, 0, 0x17}});
    check32(p, "v_add_u32_sdwa v0, sext(v1), v2 dst_sel:DWORD src0_sel:BYTE_3 src1_sel:DWORD", {{0xff000000, 5, 0, 4}});
    check32(p, "v_mov_b32_sdwa v0, v1 dst_sel:BYTE_2 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_0",
            {{0x12, 0, 0, 0xde12beef}});
    check32(p, "v_mov_b32_sdwa v0, v1 dst_sel:BYTE_2 dst_unused:UNUSED_PAD src0_sel:BYTE_0",
            {{0x12, 0, 0, 0x00120000}});
    check32(p, "v_mov_b32_sdwa v0, v1 dst_sel:BYTE_1 dst_unused:UNUSED_SEXT src0_sel:BYTE_0",
            {{0x92, 0, 0, 0xffff9200}, {0x12, 0, 0, 0x1200}});
    check32(p, "v_mov_b32_sdwa v0, v1 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0",
            {{0x1234, 0, 0, 0x1234beef}});
    check32(p, "v_mul_f16_sdwa v0, -v1, |v2| dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:WORD_0",
            {{0x40000000, 0xc200, 0, 0xc600beef}});
    check32(p, "v_cvt_f32_f16_sdwa v0, v1 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1",
            {{0x40000000, 0, 0, bits(2.0f)}});
    check32(p, "v_lshlrev_b32_sdwa v0, v1, v2 dst_sel:DWORD src0_sel:DWORD src1_sel:BYTE_1", {{4, 0x1200, 0, 0x120}});
  }
}

TEST(VectorOutput, ClampAndOmod) {
  check32("gfx942", "v_add_f32 v0, v1, v2 clamp",
          {{bits(0.75f), bits(0.5f), 0, bits(1.0f)},
           {bits(-3.0f), 0, 0, 0},
           {bits(0.25f), bits(0.25f), 0, bits(0.5f)},
           {0x7fc00000, 0, 0, 0}});
  // Without DX10_CLAMP NaN stays.
  check32("gfx942", "v_add_f32 v0, v1, v2 clamp", {{0x7fc00000, 0, 0, 0x7fc00000}}, 0x2f0);
  // omod works only without IEEE mode and without denormal results.
  check32("gfx942", "v_add_f32 v0, v1, v2 mul:4",
          {{bits(1.0f), bits(2.0f), 0, bits(12.0f)}, {0x80000000, 0x80000000, 0, 0}}, 0x1c0);
  check32("gfx942", "v_add_f32 v0, v1, v2 div:2", {{bits(1.0f), bits(2.0f), 0, bits(1.5f)}}, 0x1c0);
  check32("gfx942", "v_add_f32 v0, v1, v2 clamp mul:2", {{bits(1.0f), bits(-0.75f), 0, bits(0.5f)}}, 0x1c0);
  check32("gfx942", "v_add_f32 v0, v1, v2 mul:4", {{bits(1.0f), bits(2.0f), 0, bits(3.0f)}}, 0x3f0);
  check64("gfx942", "v_add_f64 v[0:1], v[2:3], v[4:5] clamp",
          {{bits(0.75), bits(0.5), 0, bits(1.0)}, {bits(-1.0), 0, 0, 0}});
}

TEST(VectorMove, LanesAndScalars) {
  SmallWave wave("gfx942");
  for (int i = 0; i < 64; ++i) wave.v(1, i) = static_cast<std::uint32_t>(i + 10);
  wave.s(6) = 69, wave.s(7) = 1234;
  wave.set_exec(0xff00);
  ASSERT_EQ(wave.run("v_readfirstlane_b32 s4, v1\nv_readlane_b32 s5, v1, s6\nv_writelane_b32 v2, s7, 3\n"
                     "s_mov_b64 exec, 0\nv_readfirstlane_b32 s8, v1"),
            WaveStatus::ended);
  EXPECT_EQ(wave.s(4), 18u);
  EXPECT_EQ(wave.s(5), 15u);          // lane 69 mod 64
  EXPECT_EQ(wave.v(2, 3), 1234u);     // whatever EXEC says
  EXPECT_EQ(wave.s(8), 10u);
}

TEST(VectorMove, Swaps) {
  SmallWave wave("gfx950");
  for (int i = 0; i < 64; ++i) {
    for (int r = 1; r <= 4; ++r) wave.v(r, i) = static_cast<std::uint32_t>(1000 * r + i);
    wave.v(5, i) = static_cast<std::uint32_t>(5000 + i), wave.v(6, i) = static_cast<std::uint32_t>(6000 + i);
  }
  ASSERT_EQ(
      wave.run("v_permlane32_swap_b32 v1, v2\nv_permlane16_swap_b32 v3, v4\ns_mov_b64 exec, 0xf\nv_swap_b32 v5, v6"),
      WaveStatus::ended);
  for (int i = 0; i < 64; ++i) {
    const auto n = static_cast<std::uint32_t>(i);
    EXPECT_EQ(wave.v(1, i), i < 32 ? 1000 + n : 2000 + n - 32) << i;
    EXPECT_EQ(wave.v(2, i), i < 32 ? 1000 + n + 32 : 2000 + n) << i;
    EXPECT_EQ(wave.v(3, i), i % 32 < 16 ? 3000 + n : 4000 + n - 16) << i;
    EXPECT_EQ(wave.v(4, i), i % 32 < 16 ? 3000 + n + 16 : 4000 + n) << i;
    EXPECT_EQ(wave.v(5, i), i < 4 ? 6000 + n : 5000 + n) << i;
    EXPECT_EQ(wave.v(6, i), i < 4 ? 5000 + n : 6000 + n) << i;
  }
}

TEST(VectorMove, AccumulationRegisters) {
  for (const auto& p : cdna()) {
    SmallWave wave(p);
    for (int i = 0; i < 64; ++i) wave.v(1, i) = static_cast<std::uint32_t>(i), wave.v(2, i) = 7;
    wave.set_exec(0xffff0000ffff0000);
    ASSERT_EQ(wave.run("v_accvgpr_write_b32 a3, v1\nv_accvgpr_mov_b32 a5, a3\nv_accvgpr_read_b32 v2, "
                       "a5\nv_accvgpr_write_b32 a6, 1.0"),
              WaveStatus::ended)
        << p;
    for (int i = 0; i < 64; ++i) {
      const bool active = i / 16 % 2 == 1;
      EXPECT_EQ(wave.a(3, i), active ? static_cast<std::uint32_t>(i) : 0u) << p;
      EXPECT_EQ(wave.v(2, i), active ? static_cast<std::uint32_t>(i) : 7u) << p;
      EXPECT_EQ(wave.a(6, i), active ? 0x3f800000u : 0u) << p;
    }
  }
}

}  // namespace
}  // namespace kiln::emulator_test
