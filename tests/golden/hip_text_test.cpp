// The HIP text of every built-in for every AMD target. KILN_UPDATE_GOLDEN=1 writes what is there now.
#include "engine/emit/emit.hpp"
#include "tests/golden/built_in_case.hpp"

namespace kiln {
namespace {

using golden_test::BuiltInCase;

const std::vector<BuiltInCase>& text_cases() {
  static const std::vector<BuiltInCase> list = {
      {"gemm", "nt", {{"M", "4096"}, {"N", "4096"}, {"K", "4096"}, {"transpose_b", "true"}}},
      {"gemm",
       "nn_bf16_odd_bias_gelu",
       {{"M", "300"}, {"N", "257"}, {"K", "129"}, {"dtype", "bf16"}, {"bias", "true"}, {"activation", "gelu"}}},
      {"flash_attention",
       "causal_512x64",
       {{"B", "2"}, {"H", "4"}, {"HKV", "2"}, {"S", "512"}, {"SK", "512"}, {"D", "64"}, {"causal", "true"}}},
      {"softmax", "33x1000", {{"M", "33"}, {"N", "1000"}}},
      {"rmsnorm", "33x1000", {{"M", "33"}, {"N", "1000"}}},
      {"layernorm", "33x1000_bf16", {{"M", "33"}, {"N", "1000"}, {"dtype", "bf16"}}},
      {"elementwise",
       "swiglu_33x1000_f16",
       {{"M", "33"}, {"N", "1000"}, {"dtype", "f16"}, {"activation", "silu"}, {"combine", "mul"}}},
      {"transpose", "130x99", {{"M", "130"}, {"N", "99"}}},
      {"reduce", "columns_130x99_f16", {{"M", "130"}, {"N", "99"}, {"dtype", "f16"}, {"axis", "first"}}},
  };
  return list;
}

Result<std::string> emitted_text(const BuiltInCase& one, const std::string& target_text) {
  KILN_TRY(const auto target, target::parse_target(target_text));
  KILN_TRY(const auto lowered, golden_test::lowered_case(one, target));
  return emit::emit_hip(lowered.program, target);
}

class HipTextGolden : public testing::TestWithParam<std::string> {};

TEST_P(HipTextGolden, BuiltIns) {
  for (const auto& one : text_cases()) {
    const auto now = emitted_text(one, GetParam());
    ASSERT_TRUE(now) << one.name() << ": " << to_text(now.error());
    golden_test::expect_golden("hip_" + one.name() + "_" + GetParam() + ".hip", *now);
  }
}

TEST(HipText, IsDeterministic) {
  const auto first = emitted_text(text_cases()[2], "gfx942"), second = emitted_text(text_cases()[2], "gfx942");
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, *second);
}

INSTANTIATE_TEST_SUITE_P(Targets, HipTextGolden, testing::Values("gfx90a", "gfx942", "gfx950", "gfx1100"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace kiln
