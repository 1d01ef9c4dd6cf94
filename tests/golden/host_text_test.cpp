// The kernel program and the LLVM IR of every built-in for both host levels. KILN_UPDATE_GOLDEN=1 writes what is there
// now.
#include "engine/emit/emit.hpp"
#include "tests/golden/built_in_case.hpp"

namespace kiln {
namespace {

using golden_test::BuiltInCase;

const std::vector<BuiltInCase>& cases() {
  static const std::vector<BuiltInCase> list = {
      {"gemm", "nn_f32", {{"M", "300"}, {"N", "257"}, {"K", "129"}, {"dtype", "f32"}}},
      {"gemm",
       "nt_bf16_bias_gelu",
       {{"M", "64"},
        {"N", "96"},
        {"K", "80"},
        {"dtype", "bf16"},
        {"transpose_b", "true"},
        {"bias", "true"},
        {"activation", "gelu"}}},
      {"gemm", "tn_i8", {{"M", "64"}, {"N", "64"}, {"K", "64"}, {"dtype", "i8"}, {"transpose_a", "true"}}},
      {"flash_attention",
       "causal_f16",
       {{"B", "2"}, {"H", "4"}, {"HKV", "2"}, {"S", "129"}, {"SK", "129"}, {"D", "64"}, {"causal", "true"}}},
      {"softmax", "f32", {{"M", "33"}, {"N", "1000"}}},
      {"rmsnorm", "f16", {{"M", "33"}, {"N", "1000"}, {"dtype", "f16"}}},
      {"layernorm", "f32", {{"M", "33"}, {"N", "1000"}}},
      {"elementwise", "gelu_tanh", {{"M", "33"}, {"N", "1000"}, {"activation", "gelu_tanh"}, {"scaled", "true"}}},
      {"transpose", "f16", {{"M", "130"}, {"N", "99"}, {"dtype", "f16"}}},
      {"reduce", "mean", {{"M", "33"}, {"N", "1000"}, {"kind", "mean"}}},
  };
  return list;
}

Result<std::string> host_text(const BuiltInCase& one, const std::string& target_text) {
  KILN_TRY(const auto target, target::parse_target(target_text));
  KILN_TRY(const auto lowered, golden_test::lowered_case(one, target));
  KILN_TRY(const auto emitted, emit::emit_llvm(lowered.program, target));
  return golden_test::kernel_program_text(lowered) + "\n" + emitted;
}

class HostGolden : public testing::TestWithParam<std::string> {};

TEST_P(HostGolden, BuiltIns) {
  for (const BuiltInCase& one : cases()) {
    const auto now = host_text(one, "host:" + GetParam());
    ASSERT_TRUE(now) << one.name() << ": " << to_text(now.error());
    golden_test::expect_golden("host_" + one.name() + "_" + GetParam() + ".txt", *now);
  }
}

TEST_P(HostGolden, TextIsTheSameEachTime) {
  const auto first = host_text(cases()[3], "host:" + GetParam()), second = host_text(cases()[3], "host:" + GetParam());
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, *second);
}

INSTANTIATE_TEST_SUITE_P(Levels, HostGolden, testing::Values("avx2", "avx512"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace kiln
