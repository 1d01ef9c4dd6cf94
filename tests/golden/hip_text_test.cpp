// The HIP text of every built-in for every AMD target. KILN_UPDATE_GOLDEN=1 writes what is there now.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "engine/emit/emit.hpp"
#include "engine/ir/tile/program.hpp"
#include "engine/lower/lower.hpp"
#include "engine/specialize/specialize.hpp"

namespace kiln {
namespace {

struct TextCase {
  const char* program;
  const char* label;
  std::map<std::string, std::string> set;
};

const std::vector<TextCase>& text_cases() {
  static const std::vector<TextCase> list = {
      {"gemm", "nt", {{"M", "4096"}, {"N", "4096"}, {"K", "4096"}, {"transpose_b", "true"}}},
      {"gemm",
       "nn_bf16_odd_bias_gelu",
       {{"M", "300"}, {"N", "257"}, {"K", "129"}, {"dtype", "bf16"}, {"bias", "true"}, {"activation", "gelu"}}},
      {"flash_attention",
       "causal_512x64",
       {{"B", "2"}, {"H", "4"}, {"HKV", "2"}, {"S", "512"}, {"SK", "512"}, {"D", "64"}, {"causal", "true"}}},
      {"softmax", "33x1000", {{"M", "33"}, {"N", "1000"}}},
      {"rmsnorm", "33x1000", {{"M", "33"}, {"N", "1000"}}},
  };
  return list;
}

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Result<std::string> emitted_text(const TextCase& one, const std::string& target_text) {
  KILN_TRY(const auto program,
           tile::read_program(file_text(std::string(KILN_SOURCE_DIR) + "/kernels/programs/" + one.program + ".json")));
  KILN_TRY(const auto target, target::parse_target(target_text));
  Budget budget(10000000);
  KILN_TRY(const auto bound, specialize::specialize(program, {one.set, {}, {}}, target, budget));
  KILN_TRY(const auto lowered, lower::lower(bound, target, 0, budget));
  return emit::emit_hip(lowered.program, target);
}

class HipTextGolden : public testing::TestWithParam<std::string> {};

TEST_P(HipTextGolden, BuiltIns) {
  const bool update = std::getenv("KILN_UPDATE_GOLDEN") != nullptr;
  for (const auto& one : text_cases()) {
    const std::string name = std::string("hip_") + one.program + "_" + one.label + "_" + GetParam() + ".hip";
    const std::string path = std::string(KILN_SOURCE_DIR) + "/tests/golden/data/" + name;
    const auto now = emitted_text(one, GetParam());
    ASSERT_TRUE(now) << name << ": " << to_text(now.error());
    if (update) {
      std::ofstream(path) << *now;
      continue;
    }
    EXPECT_EQ(file_text(path), *now) << name << ": KILN_UPDATE_GOLDEN=1 writes the new text";
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
