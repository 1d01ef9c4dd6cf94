// The kernel program and the LLVM IR of every built-in for both host levels. KILN_UPDATE_GOLDEN=1 writes what is there
// now.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "engine/emit/emit.hpp"
#include "engine/ir/tile/program.hpp"
#include "engine/lower/lower.hpp"
#include "engine/specialize/specialize.hpp"

namespace kiln {
namespace {

struct Case {
  const char* program;
  const char* label;  // part of the file's name
  std::map<std::string, std::string> set;
};

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

const std::vector<Case>& cases() {
  static const std::vector<Case> list = {
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
  };
  return list;
}

std::string host_text(const Case& one, const std::string& target_text) {
  const auto program =
      tile::read_program(read_text(std::string(KILN_SOURCE_DIR) + "/kernels/programs/" + one.program + ".json"));
  if (!program) return to_text(program.error());
  const auto target = target::parse_target(target_text);
  if (!target) return to_text(target.error());
  Budget budget(10000000);
  const auto bound = specialize::specialize(*program, {one.set, {}, {}}, *target, budget);
  if (!bound) return to_text(bound.error());
  const auto lowered = lower::lower(*bound, *target, 0, budget);
  if (!lowered) return to_text(lowered.error());
  const auto emitted = emit::emit_llvm(lowered->program, *target);
  if (!emitted) return to_text(emitted.error());
  std::string text = kernel::print(lowered->program);
  for (const auto& decision : lowered->decisions)
    text += "decided " + decision.step + ", " + decision.subject + ": " + decision.text + "\n";
  for (const auto& line : lowered->bounds_left) text += "bounds left: " + line + "\n";
  return text + "\n" + *emitted;
}

class HostGolden : public testing::TestWithParam<std::string> {};

TEST_P(HostGolden, BuiltIns) {
  const bool update = std::getenv("KILN_UPDATE_GOLDEN") != nullptr;
  for (const Case& one : cases()) {
    const std::string name = std::string("host_") + one.program + "_" + one.label + "_" + GetParam() + ".txt";
    const std::string path = std::string(KILN_SOURCE_DIR) + "/tests/golden/data/" + name;
    const std::string now = host_text(one, "host:" + GetParam());
    if (update) {
      std::ofstream(path) << now;
      continue;
    }
    EXPECT_TRUE(read_text(path) == now) << name
                                        << " differs: KILN_UPDATE_GOLDEN=1 writes the new text, git diff shows it";
  }
}

TEST_P(HostGolden, TextIsTheSameEachTime) {
  EXPECT_EQ(host_text(cases()[3], "host:" + GetParam()), host_text(cases()[3], "host:" + GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Levels, HostGolden, testing::Values("avx2", "avx512"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace kiln
