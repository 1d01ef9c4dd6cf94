// Workspace and elements that lets read, as the interpreter finds mistakes in them.
#include <gtest/gtest.h>

#include "engine/ir/target/target.hpp"
#include "engine/ir/tile/program.hpp"
#include "engine/reference/interpreter.hpp"
#include "engine/specialize/specialize.hpp"

namespace kiln::test {
namespace {

// X and Y are f32 [8], I is i32 [2]; W a workspace [8]. The first launch runs `first`, the second copies W to Y.
Result<std::vector<float>> run_two(const std::string& first, bool zeroed, std::vector<std::int32_t> indices = {0, 4}) {
  const std::string text = R"json({"kiln": "tile/1", "name": "two",
    "params": [{"name": "X", "dtype": "f32", "shape": [8], "access": "read"},
               {"name": "I", "dtype": "i32", "shape": [2], "access": "read"},
               {"name": "Y", "dtype": "f32", "shape": [8], "access": "write"}],
    "workspace": [{"name": "W", "dtype": "f32", "shape": [8], "zeroed": )json" +
                           std::string(zeroed ? "true" : "false") + R"json(}],
    "launches": [
      {"grid": [2], "threads": 1, "body": [
        {"op": "alloc", "name": "t", "space": "fragment", "dtype": "f32", "shape": [4]}, )json" +
                           first + R"json(]},
      {"grid": [1], "threads": 1, "body": [
        {"op": "alloc", "name": "t", "space": "fragment", "dtype": "f32", "shape": [8]},
        {"op": "copy", "from": "W[0:]", "to": "t"},
        {"op": "copy", "from": "t", "to": "Y[0:]"}]}]})json";
  KILN_TRY(const auto program, tile::read_program(text));
  KILN_TRY(const auto target, target::parse_target("host"));
  Budget budget(1'000'000);
  KILN_TRY(const auto bound, specialize::specialize(program, {}, target, budget));
  std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8}, y(8, -1);
  const auto argument = [](auto& values) {
    return reference::Argument{reinterpret_cast<std::uint8_t*>(values.data()), values.size() * 4};
  };
  std::vector<reference::Argument> arguments = {argument(x), argument(indices), argument(y)};
  KILN_CHECK(reference::run(bound, arguments));
  return y;
}

const std::string copied = R"json({"op": "let", "name": "start", "value": "cast(I[bid.x], index)"},
  {"op": "copy", "from": "X[start:]", "to": "t"}, {"op": "copy", "from": "t", "to": "W[start:]"})json";

TEST(InterpretedWorkspace, CarriesValuesFromLaunchToLaunch) {
  const auto y = run_two(copied, false);
  ASSERT_TRUE(y) << to_text(y.error());
  EXPECT_EQ(*y, (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(InterpretedWorkspace, ElementsThatNobodyWroteAreFoundUnlessZeroed) {
  const auto holes = run_two(copied, false, {4, 8});
  ASSERT_FALSE(holes);
  EXPECT_EQ(holes.error().message, "workspace W[0] is read before any block wrote it in block (0, 0, 0)");
  EXPECT_EQ(holes.error().diagnostics.front().pointer, "/launches/1/body/1");
  const auto zeros = run_two(copied, true, {4, 8});
  ASSERT_TRUE(zeros) << to_text(zeros.error());
  EXPECT_EQ(*zeros, (std::vector<float>{0, 0, 0, 0, 5, 6, 7, 8}));
}

TEST(InterpretedWorkspace, BlocksStillRace) {
  const auto race = run_two(copied, false, {0, 2});
  ASSERT_FALSE(race);
  EXPECT_NE(race.error().message.find("race between blocks: block (1, 0, 0) writes W[2]"), std::string::npos)
      << race.error().message;
}

TEST(InterpretedLet, OfAnElementOutsideIsFound) {
  const auto outside = run_two(R"json({"op": "let", "name": "start", "value": "cast(I[bid.x + 1], index)"},)json" +
                                   copied.substr(copied.find('\n')),
                               true);
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().message, "I[2] is out of range in block (1, 0, 0)");
  EXPECT_EQ(outside.error().diagnostics.front().pointer, "/launches/0/body/1");
}

}  // namespace
}  // namespace kiln::test
