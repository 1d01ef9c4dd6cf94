// The kernel program of every built-in for every AMD target, as text. KILN_UPDATE_GOLDEN=1 writes what is there now.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "engine/ir/tile/program.hpp"
#include "engine/lower/lower.hpp"
#include "engine/specialize/specialize.hpp"

namespace kiln {
namespace {

struct Case {
  const char* program;
  const char* label;                        // part of the file's name
  std::map<std::string, std::string> set;
};

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

const std::vector<Case>& cases() {
  static const std::vector<Case> list = {
      {"gemm", "nn", {{"M", "4096"}, {"N", "4096"}, {"K", "4096"}}},
      {"gemm", "nt", {{"M", "4096"}, {"N", "4096"}, {"K", "4096"}, {"transpose_b", "true"}}},
      {"gemm", "tn_bf16_bias_gelu", {{"M", "2048"}, {"N", "2048"}, {"K", "512"}, {"dtype", "bf16"},
          {"transpose_a", "true"}, {"bias", "true"}, {"activation", "gelu"}}},
      {"gemm", "nn_f32_odd", {{"M", "300"}, {"N", "257"}, {"K", "129"}, {"dtype", "f32"}}},
      {"gemm", "nt_i8", {{"M", "1024"}, {"N", "1024"}, {"K", "1024"}, {"dtype", "i8"}, {"transpose_b", "true"}}},
      {"flash_attention", "causal_512x64", {{"B", "2"}, {"H", "4"}, {"HKV", "4"}, {"S", "512"}, {"SK", "512"},
          {"D", "64"}, {"causal", "true"}}},
      {"flash_attention", "grouped_4096x128", {{"B", "1"}, {"H", "8"}, {"HKV", "2"}, {"S", "4096"}, {"SK", "4096"},
          {"D", "128"}}},
      {"softmax", "33x1000", {{"M", "33"}, {"N", "1000"}, {"dtype", "f16"}}},
      {"rmsnorm", "33x1000", {{"M", "33"}, {"N", "1000"}}},
  };
  return list;
}

std::string lowered_text(const Case& one, const std::string& target_text) {
  const auto program = tile::read_program(read_file(std::string(KILN_SOURCE_DIR) + "/kernels/programs/" +
                                                    one.program + ".json"));
  if (!program) return to_text(program.error());
  const auto target = target::parse_target(target_text);
  if (!target) return to_text(target.error());
  Budget budget(10000000);
  const auto bound = specialize::specialize(*program, {one.set, {}, {}}, *target, budget);
  if (!bound) return to_text(bound.error());
  const auto made = lower::lower(*bound, *target, 0, budget);
  if (!made) return to_text(made.error());
  std::string text = kernel::print(made->program);
  for (const auto& decision : made->decisions) text += "decided " + decision.step + ", " + decision.subject + ": " +
      decision.text + "\n";
  for (const auto& line : made->bounds_left) text += "bounds left: " + line + "\n";
  return text;
}

// "line 12: '…' was '…'", empty for equal texts.
std::string first_difference(const std::string& was, const std::string& is) {
  std::stringstream old_text(was), new_text(is);
  for (int line = 1;; ++line) {
    std::string before, after;
    const bool more_before = static_cast<bool>(std::getline(old_text, before)),
        more_after = static_cast<bool>(std::getline(new_text, after));
    if (!more_before && !more_after) return "";
    if (before != after || more_before != more_after) return "line " + std::to_string(line) + ": '" + after +
        "' was '" + before + "'";
  }
}

class KernelProgramGolden : public testing::TestWithParam<std::string> {};

TEST_P(KernelProgramGolden, BuiltIns) {
  const bool update = std::getenv("KILN_UPDATE_GOLDEN") != nullptr;
  for (const Case& one : cases()) {
    const std::string name = std::string("kernel_program_") + one.program + "_" + one.label + "_" + GetParam() + ".txt";
    const std::string path = std::string(KILN_SOURCE_DIR) + "/tests/golden/data/" + name;
    const std::string now = lowered_text(one, GetParam());
    if (update) {
      std::ofstream(path) << now;
      continue;
    }
    EXPECT_EQ(first_difference(read_file(path), now), "") << name << ": KILN_UPDATE_GOLDEN=1 writes the new text";
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, KernelProgramGolden, testing::Values("gfx90a", "gfx942", "gfx950", "gfx1100"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace kiln
