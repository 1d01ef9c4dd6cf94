// One bound and lowered built-in of a golden test, and the comparison with the text that is checked in.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "engine/ir/tile/program.hpp"
#include "engine/lower/lower.hpp"
#include "engine/specialize/specialize.hpp"

namespace kiln::golden_test {

struct BuiltInCase {
  const char* program;
  const char* label;  // part of the file's name
  std::map<std::string, std::string> set;
  // Symbols of the built-in that are made dynamic for the test, with what they promise to be at most.
  std::map<std::string, std::int64_t> dynamic = {};
  [[nodiscard]] std::string name() const { return std::string(program) + "_" + label; }
};

inline std::string file_text(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// `folder`: where the program's file is, from the source's root.
inline Result<lower::Lowered> lowered_case(const BuiltInCase& one, const target::Target& target,
                                           const std::string& folder = "kernels/programs") {
  const auto path = std::string(KILN_SOURCE_DIR) + "/" + folder + "/" + one.program + ".json";
  KILN_TRY(auto program, tile::read_program(file_text(path)));
  for (auto& symbol : program.symbols) {
    const auto found = one.dynamic.find(symbol.name);
    if (found == one.dynamic.end()) continue;
    symbol.dynamic = true;
    symbol.max = found->second;
  }
  Budget budget(10000000);
  KILN_TRY(const auto bound, specialize::specialize(program, {one.set, {}, {}}, target, budget));
  return lower::lower(bound, target, 0, budget);
}

// The kernel program with what lowering decided and left.
inline std::string kernel_program_text(const lower::Lowered& lowered) {
  std::string text = kernel::print(lowered.program);
  for (const auto& decision : lowered.decisions)
    text += "decided " + decision.step + ", " + decision.subject + ": " + decision.text + "\n";
  for (const auto& line : lowered.bounds_left) text += "bounds left: " + line + "\n";
  return text;
}

// "line 12: '…' was '…'", empty when every line is equal.
inline std::string first_difference(const std::string& was, const std::string& is) {
  std::stringstream old_text(was), new_text(is);
  for (int line = 1;; ++line) {
    std::string before, after;
    const bool more_before = static_cast<bool>(std::getline(old_text, before)),
               more_after = static_cast<bool>(std::getline(new_text, after));
    if (!more_before && !more_after) return "";
    if (before != after || more_before != more_after)
      return "line " + std::to_string(line) + ": '" + after + "' was '" + before + "'";
  }
}

// KILN_UPDATE_GOLDEN=1 writes what is there now instead; git diff shows it.
inline void expect_golden(const std::string& name, const std::string& now) {
  const std::string path = std::string(KILN_SOURCE_DIR) + "/tests/golden/data/" + name;
  if (std::getenv("KILN_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << now;
    return;
  }
  const auto was = file_text(path);
  EXPECT_TRUE(was == now) << name << ": " << first_difference(was, now) << "; KILN_UPDATE_GOLDEN=1 writes the new text";
}

}  // namespace kiln::golden_test
