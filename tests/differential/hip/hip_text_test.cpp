// Emitted HIP text, executed on the CPU (tests/support/hip_fibers), against the interpreter: every built-in, every AMD
// target, sizes that are no multiple of anything.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "engine/base/fd.hpp"
#include "tests/differential/hip/hip_differences.hpp"

namespace kiln::test {
namespace {

using Settings = std::map<std::string, std::string>;

std::string differences(const std::string& name, const Settings& set, const std::string& target_name,
                        std::uint64_t seed, int attempts) {
  const auto target = target::parse_target(target_name);
  if (!target) return to_text(target.error());
  const auto bytes = read_file(std::string(KILN_SOURCE_DIR) + "/kernels/programs/" + name + ".json");
  if (!bytes) return to_text(bytes.error());
  const auto program = bind_text(std::string(text(*bytes)), set, *target);
  if (!program) return to_text(program.error());
  return hip_differences(*program, *target, random_arguments(*program, seed), seed, attempts);
}

class HipText : public testing::TestWithParam<std::string> {
 protected:
  void agree(const std::string& name, const Settings& set, int attempts = 1) {
    const std::uint64_t seed = std::random_device()();
    std::string settings;
    for (const auto& [key, value] : set) settings += " " + key + "=" + value;
    EXPECT_EQ(differences(name, set, GetParam(), seed, attempts), "")
        << name << settings << " target " << GetParam() << " seed " << seed;
  }
};

TEST_P(HipText, GemmF16) { agree("gemm", {{"M", "100"}, {"N", "57"}, {"K", "129"}}); }
TEST_P(HipText, GemmF16Aligned) {
  agree("gemm", {{"M", "128"}, {"N", "128"}, {"K", "192"}, {"transpose_b", "true"}, {"BM", "64"}, {"BN", "64"}}, 4);
}
TEST_P(HipText, GemmBf16Transposed) {
  agree("gemm",
        {{"M", "65"}, {"N", "80"}, {"K", "72"}, {"dtype", "bf16"}, {"transpose_a", "true"}, {"transpose_b", "true"}});
}
TEST_P(HipText, GemmF32) {
  agree("gemm", {{"M", "70"}, {"N", "50"}, {"K", "33"}, {"dtype", "f32"}, {"transpose_a", "true"}});
}
TEST_P(HipText, GemmI8) { agree("gemm", {{"M", "70"}, {"N", "48"}, {"K", "80"}, {"dtype", "i8"}}); }
TEST_P(HipText, GemmBiasGelu) {
  agree("gemm", {{"M", "40"}, {"N", "90"}, {"K", "64"}, {"bias", "true"}, {"activation", "gelu"}});
}
TEST_P(HipText, GemmOfOneElement) { agree("gemm", {{"M", "1"}, {"N", "1"}, {"K", "1"}}); }
TEST_P(HipText, SoftmaxF32) { agree("softmax", {{"M", "5"}, {"N", "1000"}}); }
TEST_P(HipText, SoftmaxBf16) { agree("softmax", {{"M", "3"}, {"N", "77"}, {"dtype", "bf16"}}); }
TEST_P(HipText, RmsnormF32) { agree("rmsnorm", {{"M", "7"}, {"N", "1000"}}); }
TEST_P(HipText, RmsnormF16) { agree("rmsnorm", {{"M", "3"}, {"N", "256"}, {"dtype", "f16"}}); }
TEST_P(HipText, LayernormF32) { agree("layernorm", {{"M", "3"}, {"N", "1100"}}); }
TEST_P(HipText, ElementwiseBf16) {
  agree("elementwise", {{"M", "3"}, {"N", "77"}, {"dtype", "bf16"}, {"activation", "gelu_tanh"}, {"combine", "mul"}});
}
TEST_P(HipText, TransposeI8) { agree("transpose", {{"M", "70"}, {"N", "130"}, {"dtype", "i8"}}); }
TEST_P(HipText, ReduceF16) { agree("reduce", {{"M", "70"}, {"N", "50"}, {"dtype", "f16"}, {"axis", "first"}}); }
TEST_P(HipText, AttentionF16) {
  agree("flash_attention", {{"B", "1"}, {"H", "2"}, {"HKV", "1"}, {"S", "129"}, {"SK", "129"}, {"D", "64"}});
}
TEST_P(HipText, AttentionCausalBf16) {
  agree("flash_attention",
        {{"B", "1"},
         {"H", "2"},
         {"HKV", "2"},
         {"S", "100"},
         {"SK", "100"},
         {"D", "64"},
         {"dtype", "bf16"},
         {"causal", "true"}},
        4);
}
TEST_P(HipText, AttentionF32) {
  agree("flash_attention",
        {{"B", "1"}, {"H", "1"}, {"HKV", "1"}, {"S", "40"}, {"SK", "70"}, {"D", "32"}, {"dtype", "f32"}});
}

INSTANTIATE_TEST_SUITE_P(Targets, HipText, testing::Values("gfx90a", "gfx942", "gfx950", "gfx1100"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace kiln::test
