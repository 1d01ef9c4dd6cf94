// Atomics, places and scans as the interpreter defines them, and what it finds.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/ir/target/target.hpp"
#include "engine/ir/tile/program.hpp"
#include "engine/reference/interpreter.hpp"
#include "engine/specialize/specialize.hpp"

namespace kiln::test {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// X is f32 [2, 4] (read), C f32 [4] and P i32 [4] (readwrite); two blocks run `body`. Gives C and P.
struct After {
  std::vector<float> c;
  std::vector<std::int32_t> p;
};
Result<After> run_body(const std::string& body, std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8}) {
  const std::string text = R"json({"kiln": "tile/1", "name": "test",
    "params": [{"name": "X", "dtype": "f32", "shape": [2, 4], "access": "read"},
               {"name": "C", "dtype": "f32", "shape": [4], "access": "readwrite"},
               {"name": "P", "dtype": "i32", "shape": [4], "access": "readwrite"}],
    "launches": [{"grid": [2], "threads": 1, "body": [
      {"op": "alloc", "name": "x", "space": "fragment", "dtype": "f32", "shape": [4]},
      {"op": "alloc", "name": "y", "space": "fragment", "dtype": "f32", "shape": [4]},
      {"op": "alloc", "name": "p", "space": "fragment", "dtype": "i32", "shape": [1]},
      {"op": "fill", "tile": "y", "value": 0}, {"op": "fill", "tile": "p", "value": 0},
      {"op": "copy", "from": "X[bid.x, 0:]", "to": "x"}, )json" +
                           body + "]}]}";
  KILN_TRY(const auto program, tile::read_program(text));
  KILN_TRY(const auto target, target::parse_target("host"));
  Budget budget(1'000'000);
  KILN_TRY(const auto bound, specialize::specialize(program, {}, target, budget));
  After after{{10, 20, 30, 40}, {0, 1, 2, 3}};
  const auto argument = [](auto& values) {
    return reference::Argument{reinterpret_cast<std::uint8_t*>(values.data()), values.size() * 4};
  };
  std::vector<reference::Argument> arguments = {argument(x), argument(after.c), argument(after.p)};
  KILN_CHECK(reference::run(bound, arguments));
  return after;
}
std::string map(const std::string& items) {
  return R"({"op": "map", "index": ["i"], "extent": [4], "body": [)" + items + "]}";
}

TEST(InterpretedAtomics, OfAllBlocksMeet) {
  const auto after = run_body(map(R"json({"atomic": "add", "to": "C[0]", "value": "x[i]"},
    {"atomic": "max", "to": "C[1]", "value": "x[i] * 4.0"}, {"atomic": "min", "to": "C[2]", "value": "x[i]"},
    {"atomic": "xor", "to": "P[i]", "value": "cast(x[i], i32)", "old": "before"})json"));
  ASSERT_TRUE(after) << to_text(after.error());
  EXPECT_EQ(after->c, (std::vector<float>{46, 32, 1, 40}));
  EXPECT_EQ(after->p, (std::vector<std::int32_t>{0 ^ 1 ^ 5, 1 ^ 2 ^ 6, 2 ^ 3 ^ 7, 3 ^ 4 ^ 8}));
}

TEST(InterpretedAtomics, GiveWhatWasThereAndCompareBits) {
  const auto after = run_body(R"json({"op": "if", "condition": "bid.x == 0", "then": [)json" +
                              map(R"json({"atomic": "exchange", "to": "C[i]", "value": "x[i]", "old": "before"},
    {"atomic": "cas", "to": "P[i]", "value": "cast(before, i32)", "compare": "cast(i % 2, i32)", "old": "place"},
    {"atomic": "add", "to": "P[i]", "value": "place * 100"})json") + "]}");
  ASSERT_TRUE(after) << to_text(after.error());
  EXPECT_EQ(after->c, (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(after->p, (std::vector<std::int32_t>{10, 120, 202, 303}));
}

TEST(InterpretedAtomics, BesidePlainAccessesAreFound) {
  const struct { std::string body, message; } cases[] = {
      {map(R"({"atomic": "add", "to": "C[0]", "value": "x[i]"})") + R"(, {"op": "copy", "from": "x", "to": "C[0:]"})",
       "race between blocks: block (1, 0, 0) writes C[0]"},
      {map(R"({"atomic": "add", "to": "C[i]", "value": "x[i]"}, {"let": "v", "value": "C[3 - i]"})"),
       "race in a map: "},
      {map(R"({"set": "C[i]", "value": "x[i]"}, {"atomic": "add", "to": "C[3 - i]", "value": "x[i]"})"),
       "race in a map: "},
      {R"({"op": "copy", "from": "C[0:]", "to": "y"}, )" + map(R"({"atomic": "add", "to": "C[i]", "value": "x[i]"})"),
       "race between blocks: block (1, 0, 0) reads C[0]"}};
  for (const auto& one : cases) {
    const auto after = run_body(one.body);
    ASSERT_FALSE(after) << one.body;
    EXPECT_TRUE(after.error().message.starts_with(one.message)) << after.error().message;
  }
  const auto alone = run_body(map(R"({"atomic": "add", "to": "C[bid.x * 2 + i % 2]", "value": "x[i]"})") +
                              R"(, {"op": "map", "index": ["i"], "extent": [2], "body": [
                                   {"set": "C[bid.x * 2 + i]", "value": "C[bid.x * 2 + i] * 2.0"}]})");
  ASSERT_TRUE(alone) << to_text(alone.error());  // one block's own elements, in one statement after the other
  EXPECT_EQ(alone->c, (std::vector<float>{28, 52, 84, 108}));
}

TEST(InterpretedAtomics, OutsideTheTensorDoNothing) {
  const auto after = run_body(map(R"json({"atomic": "add", "to": "C[i + bid.x * 2 - 1]", "value": "x[i]", "old": "before"},
    {"atomic": "add", "to": "P[i if bid.x == 0 else -1]", "value": "cast(before, i32)"})json"));
  ASSERT_TRUE(after) << to_text(after.error());
  EXPECT_EQ(after->c, (std::vector<float>{12, 28, 40, 47}));
  EXPECT_EQ(after->p, (std::vector<std::int32_t>{0, 11, 22, 33}));
}

TEST(InterpretedPlaces, FirstOfSeveralAndNanBeforeNumbers) {
  const auto place = [](const std::string& kind, const std::vector<float>& row) {
    auto x = row;
    x.insert(x.end(), row.begin(), row.end());
    const auto after = run_body(R"({"op": "reduce", "kind": ")" + kind + R"(", "from": "x", "to": "p", "axis": 0},
      {"op": "copy", "from": "p", "to": "P[bid.x:]"})", x);
    return after ? after->p[1] : -1;
  };
  EXPECT_EQ(place("argmax", {1, 3, 3, 2}), 1);
  EXPECT_EQ(place("argmin", {1, 3, 1, 2}), 0);
  EXPECT_EQ(place("argmax", {1, nan, 9, nan}), 1);
  EXPECT_EQ(place("argmin", {1, 2, nan, 0}), 2);
  EXPECT_EQ(place("argmax", {-0.0f, 0.0f, -1, 0}), 0);
  EXPECT_EQ(place("argmin", {7, 6, 5, 4}), 3);
}

TEST(InterpretedScans, InBothDirections) {
  const auto scanned = [](const std::string& more) {
    const auto after = run_body(R"({"op": "scan", "kind": )" + more + R"(, "from": "x", "to": "y", "axis": 0},
      {"op": "if", "condition": "bid.x == 1", "then": [{"op": "copy", "from": "y", "to": "C[0:]"}]})");
    return after ? after->c : std::vector<float>();
  };
  EXPECT_EQ(scanned(R"("sum")"), (std::vector<float>{5, 11, 18, 26}));
  EXPECT_EQ(scanned(R"("sum", "reverse": true)"), (std::vector<float>{26, 21, 15, 8}));
  EXPECT_EQ(scanned(R"("prod")"), (std::vector<float>{5, 30, 210, 1680}));
  EXPECT_EQ(scanned(R"("min", "reverse": true)"), (std::vector<float>{5, 6, 7, 8}));
  EXPECT_EQ(scanned(R"("max")"), (std::vector<float>{5, 6, 7, 8}));
}

}  // namespace
}  // namespace kiln::test
