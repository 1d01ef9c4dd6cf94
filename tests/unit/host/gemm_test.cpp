// gemm on the host against the interpreter.
#include <gtest/gtest.h>

#include "tests/support/host_runner.hpp"

namespace kiln::test {
namespace {

struct Case {
  std::string m, n, k, dtype;
  bool transpose_a = false, transpose_b = false, bias = false, gelu = false;
};

class HostGemm : public testing::TestWithParam<Case> {};

TEST_P(HostGemm, EqualsTheInterpreter) {
  const Case& c = GetParam();
  const auto flag = [](bool v) { return std::string(v ? "true" : "false"); };
  const auto program = bind_builtin("gemm", {{"M", c.m},
                                             {"N", c.n},
                                             {"K", c.k},
                                             {"dtype", c.dtype},
                                             {"transpose_a", flag(c.transpose_a)},
                                             {"transpose_b", flag(c.transpose_b)},
                                             {"bias", flag(c.bias)},
                                             {"activation", c.gelu ? "gelu" : "none"}});
  ASSERT_TRUE(program) << to_text(program.error());
  HostRunner runner(2);
  EXPECT_EQ(differences(runner, *program, random_tensors(*program, 1)), "");
}

INSTANTIATE_TEST_SUITE_P(Sizes, HostGemm,
                         testing::Values(Case{"64", "64", "64", "f32"}, Case{"300", "257", "129", "f32"},
                                         Case{"1", "1", "1", "f32"}, Case{"33", "100", "7", "f32", true, false},
                                         Case{"100", "77", "65", "f32", false, true},
                                         Case{"97", "77", "65", "f32", true, true}, Case{"130", "70", "90", "f16"},
                                         Case{"130", "70", "90", "bf16", false, true},
                                         Case{"130", "70", "90", "f16", true, true, true, true},
                                         Case{"61", "130", "270", "i8"}, Case{"61", "130", "270", "i8", true, true},
                                         Case{"17", "300", "40", "f32", false, false, true, true}));

}  // namespace
}  // namespace kiln::test
