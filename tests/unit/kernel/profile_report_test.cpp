#include <gtest/gtest.h>

#include <random>

#include "engine/profile/report.hpp"

namespace kiln::profile {
namespace {

const char* const counted =
    R"([{"kernel":"k","target":"gfx942","blocks":[2,1,1],"threads":[256,1,1],"lds_bytes":1024,"waves":8,)"
    R"("instructions_executed":48,"duration_ms":0.5,"traffic":true,)"
    R"("counters":{"SQ_INSTS_VALU":24,"SQ_INSTS_MFMA":8,"SQ_LDS_IDX_ACTIVE":640,"KILN_GLOBAL_READ_BYTES":1000},)"
    R"("instructions":[{"offset":0,"text":"v_add_u32_e32 v0, v1, v2","executed":16,"lds_cycles":0,"lds_conflicts":0,"bytes":0,"segments":0},)"
    R"({"offset":4,"text":"ds_read_b128 v[0:3], v9","executed":8,"lds_cycles":640,"lds_conflicts":448,"bytes":0,"segments":0,"file":"kernel.hip","line":3},)"
    R"({"offset":12,"text":"v_mfma_f32_32x32x8_f16 v[0:15], v[0:1], v[2:3], 0","executed":8,"lds_cycles":0,"lds_conflicts":0,"bytes":0,"segments":0,"file":"kernel.hip","line":4},)"
    R"({"offset":20,"text":"s_endpgm","executed":8,"line":9}]}])";

ReportInput input() {
  ReportInput in;
  in.target = *target::parse_target("gfx942");
  in.counted = (*read_launch_counters(counted))[0];
  in.resources.vgprs = 130;
  in.resources.lds_bytes = 1024;
  in.resources.threads = 256;
  in.predicted = {{4, "As", 64, 8, false}};
  in.statement_of_line = {"", "", "", "/body/0", "/body/1"};
  in.statements = {{"/body/0", "copy"}, {"/body/1", "gemm"}};
  return in;
}

TEST(ProfileReport, sharesGoToStatementsByLine) {
  const auto report = make_report(input());
  ASSERT_EQ(report.statements.size(), 3u);
  EXPECT_EQ(report.statements[0].lds, 8u);
  EXPECT_EQ(report.statements[0].lds_conflicts, 448u);
  EXPECT_EQ(report.statements[1].matrix, 8u);
  EXPECT_EQ(report.statements[2].pointer, "");
  EXPECT_EQ(report.statements[2].executed, 24u);
  EXPECT_DOUBLE_EQ(report.statements[0].share, 8.0 / 40);
}

TEST(ProfileReport, predictedConflictsAreExecutionsTimesTheStaticCount) {
  const auto report = make_report(input());
  ASSERT_EQ(report.lds.size(), 1u);
  EXPECT_EQ(report.lds[0].tile, "As");
  EXPECT_EQ(report.lds[0].statement, "/body/0");
  EXPECT_EQ(report.lds[0].predicted_conflicts, 448u);
  auto unknown = input();
  unknown.predicted.clear();
  EXPECT_FALSE(make_report(unknown).lds[0].predicted_conflicts);
}

TEST(ProfileReport, rooflineByTheCardsPeaks) {
  const auto report = make_report(input());
  ASSERT_TRUE(report.roofline);
  EXPECT_EQ(report.roofline->operations, 8.0 * 2 * 32 * 32 * 8);
  // MI300X: 1307.4 TFLOPS of dense f16, 5.3 TB/s (AMD's data sheet).
  EXPECT_NEAR(report.roofline->peak_operations, 1307.4e12, 0.1e12);
  EXPECT_NEAR(report.roofline->ridge, 1307.4 / 5.3, 0.1);
  EXPECT_EQ(report.roofline->bound, "memory");
  EXPECT_EQ(report.roofline->card, "MI300X");
}

TEST(ProfileReport, peaksOfTheOtherCards) {
  const std::pair<const char*, double> peaks[] = {{"gfx90a", 191.5e12}, {"gfx950", 2516.6e12}};
  for (const auto& [name, peak] : peaks) {
    auto in = input();
    in.target = *target::parse_target(name);
    in.counted.rows = {{0, in.target.matrix_for(DType::f16, DType::f32).front()->name + " v", 8, 0, 0, 0, 0, "", 0}};
    EXPECT_NEAR(make_report(std::move(in)).roofline->peak_operations, peak, 1e12) << name;
  }
}

TEST(Occupancy, whatLimitsIt) {
  const auto cdna = *target::parse_target("gfx942");
  const auto of = [&](std::int64_t vgprs, std::int64_t lds) {
    KernelResources r;
    r.vgprs = vgprs;
    r.lds_bytes = lds;
    r.threads = 256;
    return occupancy(cdna, r);
  };
  EXPECT_EQ(of(64, 0).waves_per_simd, 8);
  EXPECT_EQ(of(64, 0).limit, "waves");
  EXPECT_EQ(of(129, 0).waves_per_simd, 3);   // 136 of 512
  EXPECT_EQ(of(129, 0).limit, "registers");
  EXPECT_EQ(of(64, 32768).waves_per_simd, 2);
  EXPECT_EQ(of(64, 32768).limit, "lds");
  EXPECT_EQ(of(512, 65536).waves_per_simd, 1);
  KernelResources wide;            // two compute units share 128 KiB: two blocks of 8 waves on 4 SIMDs
  wide.vgprs = 48;
  wide.lds_bytes = 65536;
  wide.threads = 256;
  EXPECT_EQ(occupancy(*target::parse_target("gfx1100"), wide).waves_per_simd, 4);
}

TEST(LaunchCounters, whatIsNoProfileIsAnError) {
  for (const char* text : {"", "{}", "[1]", "[{}]", "[", R"([{"kernel":1}])"}) EXPECT_FALSE(read_launch_counters(text)) << text;
  EXPECT_TRUE(read_launch_counters("[]"));
}

TEST(LaunchCounters, damagedTextNeverCrashes) {
  const unsigned seed = 20261130;
  std::mt19937 random(seed);
  for (int i = 0; i < 2000; ++i) {
    std::string text = counted;
    for (int flips = 0; flips < 3; ++flips) text[random() % text.size()] = static_cast<char>(random());
    (void)read_launch_counters(text);
  }
  SUCCEED() << "seed " << seed;
}

}  // namespace
}  // namespace kiln::profile
