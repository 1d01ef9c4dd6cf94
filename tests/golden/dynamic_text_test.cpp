// One program of each family with dynamic symbols: the kernel program and the text for gfx942, and those for the host.
// KILN_UPDATE_GOLDEN=1 writes what is there now.
#include "engine/emit/emit.hpp"
#include "tests/golden/built_in_case.hpp"

namespace kiln {
namespace {

using golden_test::BuiltInCase;

constexpr std::int64_t any = bound::Symbol::symbol_max;

const std::vector<BuiltInCase>& cases() {
  static const std::vector<BuiltInCase> list = {
      // Rows that nothing bounds: 64-bit offsets, masks on the rows alone.
      {"gemm", "dynamic_m", {{"M", "4096"}, {"N", "4096"}, {"K", "4096"}}, {{"M", any}}},
      // All sizes: pitches that the kernel computes.
      {"gemm", "dynamic_mnk", {{"M", "512"}, {"N", "512"}, {"K", "512"}, {"transpose_b", "true"}},
       {{"M", 8192}, {"N", 8192}, {"K", 8192}}},
      {"flash_attention", "dynamic",
       {{"B", "2"}, {"H", "4"}, {"HKV", "2"}, {"S", "512"}, {"SK", "512"}, {"D", "64"}, {"causal", "true"}},
       {{"S", any}, {"SK", any}}},
      // Bounded: 32-bit offsets, buffers on the card.
      {"flash_attention", "dynamic_bounded",
       {{"B", "2"}, {"H", "4"}, {"HKV", "2"}, {"S", "512"}, {"SK", "512"}, {"D", "64"}},
       {{"S", 65536}, {"SK", 65536}}},
      {"softmax", "dynamic_m", {{"N", "1000"}}, {{"M", any}}},
      {"rmsnorm", "dynamic_m", {{"N", "1000"}, {"dtype", "f16"}}, {{"M", any}}},
      {"layernorm", "dynamic_m", {{"N", "1000"}, {"dtype", "f16"}}, {{"M", any}}},
      {"transpose", "dynamic_mn", {}, {{"M", 65536}, {"N", 65536}}},
      {"reduce", "dynamic_m", {{"N", "1000"}, {"axis", "first"}}, {{"M", any}}},
  };
  return list;
}

class DynamicGolden : public testing::TestWithParam<std::string> {};

TEST_P(DynamicGolden, BuiltIns) {
  const auto target = target::parse_target(GetParam());
  ASSERT_TRUE(target) << to_text(target.error());
  for (const BuiltInCase& one : cases()) {
    const auto lowered = golden_test::lowered_case(one, *target);
    ASSERT_TRUE(lowered) << one.name() << ": " << to_text(lowered.error());
    const auto emitted = target->is_host() ? emit::emit_llvm(lowered->program, *target)
                                           : emit::emit_hip(lowered->program, *target);
    ASSERT_TRUE(emitted) << one.name() << ": " << to_text(emitted.error());
    golden_test::expect_golden("dynamic_" + one.name() + "_" + target->arch + ".txt",
                               golden_test::kernel_program_text(*lowered) + "\n" + *emitted);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, DynamicGolden, testing::Values("gfx942", "host:avx2"),
                         [](const auto& info) { return info.param.substr(0, info.param.find(':')); });

}  // namespace
}  // namespace kiln
