// Reads of registers that were never written: every register of every operand counts, not only the first.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "engine/emulator/core/checks.hpp"
#include "tests/support/emulator/small_wave.hpp"

namespace kiln::emulator_test {
namespace {

using emulator::FaultKind;
using emulator::WaveStatus;

class CheckedWave {
 public:
  explicit CheckedWave(const std::string& processor)
      : vectors_(emulator::vector_registers), scalars_(128), wave_(processor) {
    checks_.vector_written = vectors_.data();
    checks_.scalar_written = scalars_.data();
    wave_.wave().group->checks = &checks_;
    scalars_[emulator::code::exec] = scalars_[emulator::code::exec + 1] = 1;
  }
  // What `assembly` finds: "v3", "a17", "s2", or "" for nothing.
  std::string finds(const std::string& assembly) {
    std::fill(vectors_.begin(), vectors_.end(), 0);
    std::fill(scalars_.begin(), scalars_.begin() + emulator::code::exec, 0);
    wave_.set_exec(~std::uint64_t{0});
    for (int lane = 0; lane < 64; ++lane) wave_.set_v64(60, lane, wave_.address());
    vectors_[60] = vectors_[61] = ~std::uint64_t{0};   // v[60:61]: an address
    if (wave_.run(assembly) == WaveStatus::ended) return "";
    const auto& fault = wave_.wave().fault;
    EXPECT_EQ(fault.kind, FaultKind::uninitialised_register) << assembly;
    if (fault.address >= 1000) return "s" + std::to_string(fault.address - 1000);
    return (fault.address < 256 ? "v" : "a") + std::to_string(fault.address % 256);
  }

 private:
  std::vector<std::uint64_t> vectors_;
  std::vector<std::uint8_t> scalars_;
  emulator::CheckState checks_;
  SmallWave wave_;
};

// v_mov of 0 into [first, last].
std::string zeros(char kind, int first, int last) {
  std::string text;
  for (int i = first; i <= last; ++i)
    text += kind == 'v' ? "v_mov_b32 v" + std::to_string(i) + ", 0\n"
                        : "v_accvgpr_write_b32 a" + std::to_string(i) + ", 0\n";
  return text;
}

TEST(RegisterChecks, MatrixOperands) {
  CheckedWave wave("gfx942");
  const std::string product = "v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]\n";
  EXPECT_EQ(wave.finds(zeros('v', 0, 3) + zeros('a', 0, 15) + product + product), "");
  EXPECT_EQ(wave.finds(zeros('v', 0, 0) + zeros('v', 2, 3) + zeros('a', 0, 15) + product), "v1");
  EXPECT_EQ(wave.finds(zeros('v', 0, 2) + zeros('a', 0, 15) + product), "v3");
  EXPECT_EQ(wave.finds(zeros('v', 0, 3) + zeros('a', 0, 14) + product), "a15");
  EXPECT_EQ(wave.finds(zeros('v', 0, 3) + zeros('a', 0, 6) + zeros('a', 8, 15) + product), "a7");
  // They read and write all lanes, whatever EXEC says.
  EXPECT_EQ(wave.finds("s_mov_b64 exec, 0xff\n" + zeros('v', 0, 3) + "s_mov_b64 exec, -1\n" + zeros('a', 0, 15) +
                       "s_mov_b64 exec, 0xff\n" + product),
            "v0");
  EXPECT_EQ(wave.finds(zeros('v', 0, 3) + "s_mov_b64 exec, 0\n v_mfma_f32_32x32x8_f16 v[4:19], v[0:1], v[2:3], 0\n"
                       "s_mov_b64 exec, -1\n v_add_f32 v20, v19, v4"),
            "");
}

TEST(RegisterChecks, SparseAndScaledMatrixOperands) {
  CheckedWave newest("gfx950");
  const std::string sparse = "v_smfmac_f32_16x16x32_f16 a[0:3], v[0:1], v[2:5], v6\n";
  EXPECT_EQ(newest.finds(zeros('v', 0, 6) + zeros('a', 0, 3) + sparse), "");
  EXPECT_EQ(newest.finds(zeros('v', 0, 5) + zeros('a', 0, 3) + sparse), "v6");
  EXPECT_EQ(newest.finds(zeros('v', 0, 6) + zeros('a', 0, 2) + sparse), "a3");   // the result is added to
  const std::string scaled = "v_mfma_scale_f32_16x16x128_f8f6f4 a[0:3], v[0:7], v[8:15], a[0:3], v16, v17\n";
  EXPECT_EQ(newest.finds(zeros('v', 0, 17) + zeros('a', 0, 3) + scaled), "");
  EXPECT_EQ(newest.finds(zeros('v', 0, 14) + zeros('v', 16, 17) + zeros('a', 0, 3) + scaled), "v15");
  EXPECT_EQ(newest.finds(zeros('v', 0, 16) + zeros('a', 0, 3) + scaled), "v17");
}

TEST(RegisterChecks, WideOperands) {
  CheckedWave wave("gfx942");
  EXPECT_EQ(wave.finds(zeros('v', 0, 2) + "v_add_f64 v[4:5], v[0:1], v[2:3]"), "v3");
  EXPECT_EQ(wave.finds(zeros('v', 0, 2) + "v_pk_add_f32 v[4:5], v[0:1], v[2:3]"), "v3");
  EXPECT_EQ(wave.finds(zeros('v', 0, 0) + "v_lshlrev_b64 v[4:5], v0, v[0:1]"), "v1");
  EXPECT_EQ(wave.finds(zeros('v', 0, 2) + "global_store_dwordx4 v[60:61], v[0:3], off"), "v3");
  EXPECT_EQ(wave.finds(zeros('v', 0, 2) + "ds_write_b128 v0, v[0:3]"), "v3");
  EXPECT_EQ(wave.finds(zeros('v', 0, 4) + "ds_write2_b64 v0, v[0:1], v[4:5]"), "v5");
  EXPECT_EQ(wave.finds("global_load_dwordx4 v[0:3], v[60:61], off\n v_add_u32 v4, v3, v2"), "");
  EXPECT_EQ(wave.finds("global_load_dwordx3 v[0:2], v[60:61], off\n v_add_u32 v4, v3, v2"), "v3");
  EXPECT_EQ(wave.finds("s_mov_b32 s0, 0\n s_lshl_b64 s[2:3], s[0:1], 1"), "s1");
  EXPECT_EQ(wave.finds("v_readfirstlane_b32 s0, v60\n v_readfirstlane_b32 s1, v61\n s_load_dwordx4 s[4:7], s[0:1], 0\n"
                       "s_add_u32 s8, s7, s6"),
            "");
  EXPECT_EQ(wave.finds("v_readfirstlane_b32 s0, v60\n v_readfirstlane_b32 s1, v61\n s_load_dwordx2 s[4:5], s[0:1], 0\n"
                       "s_add_u32 s8, s5, s6"),
            "s6");
}

// A buffer's data stands before its address in the text; private memory is the exception, for spills.
TEST(RegisterChecks, Buffers) {
  CheckedWave wave("gfx90a");
  const std::string descriptor =
      "v_readfirstlane_b32 s0, v60\n v_readfirstlane_b32 s1, v61\n s_movk_i32 s2, 0x1000\n s_mov_b32 s3, 0x20000\n";
  EXPECT_EQ(wave.finds(descriptor + zeros('v', 0, 4) + "buffer_store_dwordx4 v[0:3], v4, s[0:3], 0 offen"), "");
  EXPECT_EQ(wave.finds(descriptor + zeros('v', 0, 2) + zeros('v', 4, 4) +
                       "buffer_store_dwordx4 v[0:3], v4, s[0:3], 0 offen"),
            "v3");
  EXPECT_EQ(wave.finds(descriptor + zeros('v', 0, 3) + "buffer_store_dwordx4 v[0:3], v4, s[0:3], 0 offen"), "v4");
  // What is out of bounds is not stored: one lane of two here, the last two dwords of the other.
  const std::string two = "s_mov_b64 exec, 1\n v_mov_b32 v4, 0xff8\n s_mov_b64 exec, 2\n v_mov_b32 v4, -1\n"
                          "s_mov_b64 exec, 1\n v_mov_b32 v0, 0\n v_mov_b32 v1, 0\n s_mov_b64 exec, 3\n";
  EXPECT_EQ(wave.finds(descriptor + two + "buffer_store_dwordx4 v[0:3], v4, s[0:3], 0 offen"), "");
  EXPECT_EQ(wave.finds(descriptor + two + "buffer_store_dwordx2 v[2:3], v4, s[0:3], 0 offen"), "v2");
  EXPECT_EQ(wave.finds(descriptor + two + "buffer_atomic_add v1, v4, s[0:3], 0 offen"), "");
  EXPECT_EQ(wave.finds(descriptor + two + "buffer_atomic_add v2, v4, s[0:3], 0 offen"), "v2");
  const std::string swizzled = "s_mov_b64 s[0:1], 0\n s_bitset1_b32 s1, 31\n s_mov_b64 s[2:3], 0\n";
  EXPECT_EQ(wave.finds(swizzled + "buffer_store_dword v0, off, s[0:3], 0"), "");
}

TEST(RegisterChecks, SumsInPlace) {
  CheckedWave wave("gfx942");
  EXPECT_EQ(wave.finds(zeros('v', 0, 1) + "v_fmac_f32 v2, v0, v1"), "v2");
  EXPECT_EQ(wave.finds(zeros('v', 0, 2) + "v_fmac_f64 v[2:3], v[0:1], v[0:1]"), "v3");
  EXPECT_EQ(wave.finds(zeros('v', 0, 1) + "v_dot2c_f32_f16 v2, v0, v1"), "v2");
  EXPECT_EQ(wave.finds(zeros('v', 0, 2) + "v_fmac_f32 v2, v0, v1"), "");
}

// Compilers copy what is undefined; the use of the copy counts.
TEST(RegisterChecks, CopiesAreNoUses) {
  CheckedWave wave("gfx942");
  EXPECT_EQ(wave.finds("v_mov_b32 v1, v0\n v_mov_b64 v[2:3], v[0:1]\n v_accvgpr_write_b32 a0, v2\n"
                       "v_accvgpr_read_b32 v4, a0\n s_mov_b32 s1, s0\n s_mov_b64 s[2:3], s[0:1]"),
            "");
  EXPECT_EQ(wave.finds("v_mov_b32 v1, v0\n v_add_u32 v2, v1, v1"), "v1");
  EXPECT_EQ(wave.finds("v_mov_b32 v1, 0\n v_mov_b32 v1, v0\n v_add_u32 v2, v1, v1"), "v1");
  EXPECT_EQ(wave.finds(zeros('v', 0, 0) + "v_pk_mov_b32 v[2:3], v[0:1], v[0:1] op_sel:[0,1]\n v_add_u32 v4, v2, v2\n"
                       "v_add_u32 v4, v3, v3"),
            "v3");
  EXPECT_EQ(wave.finds("v_accvgpr_write_b32 a0, v0\n v_accvgpr_read_b32 v1, a0\n v_add_u32 v2, v1, v1"), "v1");
  EXPECT_EQ(wave.finds("s_mov_b32 s1, s0\n s_add_u32 s2, s1, s1"), "s1");
}

// Compilers add 32 bits with these and leave the upper half of the addend undefined; so is the result's then.
TEST(RegisterChecks, LowHalfOfWideSums) {
  CheckedWave wave("gfx942");
  const std::string sum = "v_mad_u64_u32 v[4:5], s[0:1], v0, v1, v[2:3]\n";
  EXPECT_EQ(wave.finds(zeros('v', 0, 2) + sum + "v_add_u32 v6, v4, v4"), "");
  EXPECT_EQ(wave.finds(zeros('v', 0, 2) + sum + "v_add_u32 v6, v5, v5"), "v5");
  EXPECT_EQ(wave.finds(zeros('v', 0, 2) + sum + "s_mov_b64 exec, s[0:1]\n s_add_u32 s2, s0, s0"), "s0");
  EXPECT_EQ(wave.finds(zeros('v', 0, 3) + sum + "v_add_u32 v6, v5, v5\n s_add_u32 s2, s0, s1"), "");
  EXPECT_EQ(wave.finds(zeros('v', 0, 1) + zeros('v', 3, 3) + sum), "v2");
  EXPECT_EQ(wave.finds(zeros('v', 1, 2) + "v_mad_i64_i32 v[4:5], s[0:1], v0, v1, v[2:3]"), "v0");
}

TEST(RegisterChecks, RegistersOfPairsThatAreChosen) {
  CheckedWave wave("gfx942");
  const std::string both = "v_pk_mul_f32 v[4:5], v[0:1], v[2:3]\n";
  EXPECT_EQ(wave.finds(zeros('v', 0, 3) + both), "");
  EXPECT_EQ(wave.finds(zeros('v', 0, 2) + both), "v3");
  EXPECT_EQ(wave.finds(zeros('v', 0, 2) + "v_pk_mul_f32 v[4:5], v[0:1], v[2:3] op_sel_hi:[1,0]\n"), "");
  EXPECT_EQ(wave.finds(zeros('v', 0, 1) + zeros('v', 3, 3) + "v_pk_add_f32 v[4:5], v[0:1], v[2:3] op_sel:[0,1]\n"), "");
  const std::string low = "s_mov_b32 s2, 0\n" + zeros('v', 0, 1), sum = "v_pk_fma_f32 v[4:5], v[0:1], s[2:3], v[0:1]";
  EXPECT_EQ(wave.finds(low + sum + " op_sel_hi:[1,0,1]\n"), "");
  EXPECT_EQ(wave.finds(low + sum + "\n"), "s3");
}

TEST(RegisterChecks, ReadsOfOneLane) {
  CheckedWave wave("gfx942");
  const std::string third = "s_mov_b64 exec, 8\n v_mov_b32 v0, 0\n s_mov_b64 exec, -1\n";   // lane 3 alone is written
  EXPECT_EQ(wave.finds(third + "v_readlane_b32 s0, v0, 3"), "");
  EXPECT_EQ(wave.finds(third + "s_mov_b64 exec, 1\n v_readlane_b32 s0, v0, 3"), "");
  EXPECT_EQ(wave.finds(third + "s_mov_b32 s1, 2\n v_readlane_b32 s0, v0, s1"), "v0");
  EXPECT_EQ(wave.finds(third + "s_mov_b64 exec, 0xf8\n v_readfirstlane_b32 s0, v0"), "");
  EXPECT_EQ(wave.finds(third + "v_readfirstlane_b32 s0, v0"), "v0");
  EXPECT_EQ(wave.finds(third + "s_mov_b64 exec, 0\n v_readfirstlane_b32 s0, v0"), "v0");
}

}  // namespace
}  // namespace kiln::emulator_test
