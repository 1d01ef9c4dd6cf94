// What a program leaves unwritten in registers and LDS is zero in AMD targets' text. The fibers also find reads of LDS
// that nobody wrote.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "engine/emit/emit.hpp"
#include "engine/lower/lower.hpp"
#include "tests/differential/hip/hip_differences.hpp"
#include "tests/support/hip_fibers/hip_fibers.hpp"

namespace kiln::test {
namespace {

std::string text_of(const std::string& space, const std::string& statements) {
  return R"({"kiln": "tile/1", "name": "spy", "params": [{"name": "n", "scalar": true, "dtype": "i32"},
    {"name": "Y", "dtype": "f32", "shape": [2048], "access": "write"}], "launches": [{"grid": [2], "threads": 128,
    "body": [{"op": "alloc", "name": "x", "space": ")" + space + R"(", "dtype": "f32", "shape": [1024]}, )" +
         statements + R"(, {"op": "copy", "from": "x", "to": "Y[bid.x * 1024:]"}]}]})";
}

TEST(HipInitialValues, AreZero) {
  const struct { const char* name; std::string body; std::size_t ones; } cases[] = {
      {"a loop that does not run",
       R"j({"op": "for", "var": "k", "to": "cast(n, index)", "body": [{"op": "fill", "tile": "x", "value": 1}]})j", 0},
      {"a condition for one block",
       R"({"op": "if", "condition": "bid.x == 1", "then": [{"op": "fill", "tile": "x", "value": 1}]})", 1024},
      {"half of it",
       R"({"op": "map", "index": ["i"], "extent": [512], "body": [{"set": "x[i]", "value": "1.0"}]})", 1024},
      {"two halves", R"({"op": "map", "index": ["i"], "extent": [512], "body": [{"set": "x[i]", "value": "1.0"}]},
          {"op": "map", "index": ["i"], "extent": [512], "body": [{"set": "x[1023 - i]", "value": "1.0"}]})", 2048},
      {"an element known at run time",
       R"({"op": "map", "index": ["i"], "extent": [1], "body": [{"set": "x[cast(n, index)]", "value": "1.0"}]})", 2},
  };
  const auto target = target::parse_target("gfx942");
  ASSERT_TRUE(target);
  for (const char* space : {"fragment", "shared"}) {
    for (const auto& one : cases) {
      SCOPED_TRACE(std::string(one.name) + ", " + space);
      const auto program = bind_text(text_of(space, one.body), {}, *target);
      ASSERT_TRUE(program) << to_text(program.error());
      Budget budget(10000000);
      const auto lowered = lower::lower(*program, *target, 0, budget);
      ASSERT_TRUE(lowered) << to_text(lowered.error());
      const auto text = emit::emit_hip(lowered->program, *target);
      ASSERT_TRUE(text) << to_text(text.error());
      auto module = HipModule::compile(*text, lowered->program, *target, KILN_SOURCE_DIR);
      ASSERT_TRUE(module) << to_text(module.error());
      Bytes n(4, 0), y(2048 * 4, 0xff);
      const auto status = module->run({n, y}, 1);
      ASSERT_TRUE(status) << to_text(status.error()) << *text;
      std::vector<float> got(2048);
      std::memcpy(got.data(), y.data(), y.size());
      EXPECT_EQ(static_cast<std::size_t>(std::count(got.begin(), got.end(), 1.0f)), one.ones);
      EXPECT_EQ(static_cast<std::size_t>(std::count(got.begin(), got.end(), 0.0f)), 2048 - one.ones);
    }
  }
}

}  // namespace
}  // namespace kiln::test
