// The kernel program of every built-in for every AMD target, as text. KILN_UPDATE_GOLDEN=1 writes what is there now.
#include "tests/golden/built_in_case.hpp"

namespace kiln {
namespace {

using golden_test::BuiltInCase;

const std::vector<BuiltInCase>& cases() {
  static const std::vector<BuiltInCase> list = {
      {"gemm", "nn", {{"M", "4096"}, {"N", "4096"}, {"K", "4096"}}},
      {"gemm", "nt", {{"M", "4096"}, {"N", "4096"}, {"K", "4096"}, {"transpose_b", "true"}}},
      {"gemm", "tn_bf16_bias_gelu", {{"M", "2048"}, {"N", "2048"}, {"K", "512"}, {"dtype", "bf16"},
          {"transpose_a", "true"}, {"bias", "true"}, {"activation", "gelu"}}},
      {"gemm", "nn_f32_odd", {{"M", "300"}, {"N", "257"}, {"K", "129"}, {"dtype", "f32"}}},
      {"gemm", "nt_i8", {{"M", "1024"}, {"N", "1024"}, {"K", "1024"}, {"dtype", "i8"}, {"transpose_b", "true"}}},
      {"gemm", "nt_f8e4m3fnuz", {{"M", "1024"}, {"N", "1024"}, {"K", "1024"}, {"dtype", "f8e4m3fnuz"},
          {"transpose_b", "true"}}},
      {"flash_attention", "causal_512x64", {{"B", "2"}, {"H", "4"}, {"HKV", "4"}, {"S", "512"}, {"SK", "512"},
          {"D", "64"}, {"causal", "true"}}},
      {"flash_attention", "grouped_4096x128", {{"B", "1"}, {"H", "8"}, {"HKV", "2"}, {"S", "4096"}, {"SK", "4096"},
          {"D", "128"}}},
      {"softmax", "33x1000", {{"M", "33"}, {"N", "1000"}, {"dtype", "f16"}}},
      {"rmsnorm", "33x1000", {{"M", "33"}, {"N", "1000"}}},
      {"layernorm", "33x1000", {{"M", "33"}, {"N", "1000"}}},
      {"elementwise", "relu_add_row", {{"M", "33"}, {"N", "1000"}, {"activation", "relu"}, {"combine", "add"},
          {"combine_first", "true"}, {"row", "true"}}},
      {"transpose", "256x192_f16", {{"M", "256"}, {"N", "192"}, {"dtype", "f16"}}},
      {"transpose", "130x99_i8", {{"M", "130"}, {"N", "99"}, {"dtype", "i8"}}},
      {"reduce", "rows_33x1000", {{"M", "33"}, {"N", "1000"}}},
      {"reduce", "columns_130x99", {{"M", "130"}, {"N", "99"}, {"axis", "first"}, {"kind", "mean"}}},
  };
  return list;
}

class KernelProgramGolden : public testing::TestWithParam<std::string> {};

TEST_P(KernelProgramGolden, BuiltIns) {
  const auto target = target::parse_target(GetParam());
  ASSERT_TRUE(target) << to_text(target.error());
  for (const BuiltInCase& one : cases()) {
    const auto lowered = golden_test::lowered_case(one, *target);
    ASSERT_TRUE(lowered) << one.name() << ": " << to_text(lowered.error());
    golden_test::expect_golden("kernel_program_" + one.name() + "_" + GetParam() + ".txt",
                               golden_test::kernel_program_text(*lowered));
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, KernelProgramGolden, testing::Values("gfx90a", "gfx942", "gfx950", "gfx1100"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace kiln
