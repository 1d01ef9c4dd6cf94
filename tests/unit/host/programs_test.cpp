// The built-in programs but gemm on the host against the interpreter.
#include <gtest/gtest.h>

#include "tests/support/host_runner.hpp"

namespace kiln::test {
namespace {

using Settings = std::map<std::string, std::string>;
struct Case {
  std::string program;
  Settings set;
  std::string target = "host";
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.program << " " << c.target;
  for (const auto& [name, value] : c.set) *out << " " << name << "=" << value;
}

class HostProgram : public testing::TestWithParam<Case> {};

TEST_P(HostProgram, EqualsTheInterpreter) {
  const auto program = bind_builtin(GetParam().program, GetParam().set, GetParam().target);
  ASSERT_TRUE(program) << to_text(program.error());
  HostRunner runner(2);
  EXPECT_EQ(differences(runner, *program, random_tensors(*program, 2)), "");
}

INSTANTIATE_TEST_SUITE_P(Softmax, HostProgram,
                         testing::Values(Case{"softmax", {{"M", "33"}, {"N", "1000"}}},
                                         Case{"softmax", {{"M", "5"}, {"N", "3000"}, {"dtype", "f16"}}},
                                         Case{"softmax", {{"M", "7"}, {"N", "31"}, {"dtype", "bf16"}}},
                                         Case{"softmax", {{"M", "1"}, {"N", "1"}}},
                                         Case{"softmax", {{"M", "9"}, {"N", "2000"}, {"dtype", "bf16"}}, "host:avx2"}));
INSTANTIATE_TEST_SUITE_P(RmsNorm, HostProgram,
                         testing::Values(Case{"rmsnorm", {{"M", "33"}, {"N", "1000"}}},
                                         Case{"rmsnorm", {{"M", "5"}, {"N", "4100"}, {"dtype", "f16"}}},
                                         Case{"rmsnorm", {{"M", "3"}, {"N", "77"}, {"dtype", "bf16"}}, "host:avx2"}));
INSTANTIATE_TEST_SUITE_P(
    LayerNorm, HostProgram,
    testing::Values(Case{"layernorm", {{"M", "33"}, {"N", "1000"}}},
                    Case{"layernorm", {{"M", "5"}, {"N", "9001"}, {"dtype", "f16"}, {"bias", "false"}}},
                    Case{"layernorm",
                         {{"M", "3"}, {"N", "77"}, {"dtype", "bf16"}, {"custom_eps", "true"}},
                         "host:avx2"}));
INSTANTIATE_TEST_SUITE_P(
    Elementwise, HostProgram,
    testing::Values(
        Case{"elementwise", {{"M", "33"}, {"N", "1000"}, {"activation", "gelu_tanh"}, {"scaled", "true"}}},
        Case{"elementwise",
             {{"M", "5"}, {"N", "77"}, {"dtype", "f16"}, {"activation", "silu"}, {"combine", "mul"}},
             "host:avx2"},
        Case{"elementwise", {{"M", "5"}, {"N", "77"}, {"dtype", "bf16"}, {"combine", "div"}, {"row", "true"}}}));
INSTANTIATE_TEST_SUITE_P(Transpose, HostProgram,
                         testing::Values(Case{"transpose", {{"M", "133"}, {"N", "70"}}},
                                         Case{"transpose", {{"M", "70"}, {"N", "133"}, {"dtype", "f16"}}, "host:avx2"},
                                         Case{"transpose", {{"M", "65"}, {"N", "3"}, {"dtype", "i8"}}}));
INSTANTIATE_TEST_SUITE_P(
    Reduce, HostProgram,
    testing::Values(Case{"reduce", {{"M", "33"}, {"N", "9001"}}},
                    Case{"reduce", {{"M", "77"}, {"N", "300"}, {"axis", "first"}, {"kind", "mean"}, {"dtype", "f16"}}},
                    Case{"reduce", {{"M", "5"}, {"N", "77"}, {"kind", "minimum"}, {"dtype", "bf16"}}, "host:avx2"},
                    Case{"reduce", {{"M", "9"}, {"N", "77"}, {"axis", "first"}, {"kind", "maximum"}}, "host:avx2"}));
INSTANTIATE_TEST_SUITE_P(
    Attention, HostProgram,
    testing::Values(
        Case{"flash_attention",
             {{"B", "2"}, {"H", "4"}, {"HKV", "2"}, {"S", "129"}, {"SK", "129"}, {"D", "64"}, {"dtype", "f32"}}},
        Case{"flash_attention",
             {{"B", "1"},
              {"H", "2"},
              {"HKV", "2"},
              {"S", "129"},
              {"SK", "129"},
              {"D", "64"},
              {"dtype", "f16"},
              {"causal", "true"}}},
        Case{"flash_attention",
             {{"B", "1"},
              {"H", "2"},
              {"HKV", "1"},
              {"S", "70"},
              {"SK", "200"},
              {"D", "40"},
              {"dtype", "bf16"},
              {"causal", "true"}}},
        Case{"flash_attention",
             {{"B", "1"},
              {"H", "1"},
              {"HKV", "1"},
              {"S", "5"},
              {"SK", "9"},
              {"D", "8"},
              {"dtype", "f32"},
              {"custom_scale", "true"}}},
        Case{"flash_attention",
             {{"B", "1"}, {"H", "2"}, {"HKV", "2"}, {"S", "100"}, {"SK", "300"}, {"D", "64"}, {"dtype", "f32"}},
             "host:avx2"}));
INSTANTIATE_TEST_SUITE_P(
    GemmAvx2, HostProgram,
    testing::Values(
        Case{"gemm", {{"M", "130"}, {"N", "70"}, {"K", "90"}, {"dtype", "f32"}, {"transpose_b", "true"}}, "host:avx2"},
        Case{"gemm", {{"M", "61"}, {"N", "130"}, {"K", "270"}, {"dtype", "bf16"}, {"activation", "gelu"}}, "host:avx2"},
        Case{"gemm", {{"M", "61"}, {"N", "130"}, {"K", "270"}, {"dtype", "f16"}, {"transpose_a", "true"}}, "host:avx2"},
        Case{"gemm", {{"M", "61"}, {"N", "33"}, {"K", "270"}, {"dtype", "i8"}, {"transpose_b", "true"}}, "host:avx2"}));

}  // namespace
}  // namespace kiln::test
