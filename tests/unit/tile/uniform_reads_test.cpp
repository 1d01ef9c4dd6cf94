// Elements that a statement `let` reads.
#include "tests/unit/tile/support.hpp"

namespace kiln::test {
namespace {

// With tensors I i32 [M], J i64 [N] (read), P i32 [M] (readwrite) beside A [M, K] and C [M, N].
std::string with_indices(const std::string& statements) {
  std::string text = program_with(statements);
  const std::string at = "{\"name\": \"n\", \"scalar\"";
  text.insert(text.find(at), R"json({"name": "I", "dtype": "i32", "shape": ["M"], "access": "read"},
    {"name": "J", "dtype": "i64", "shape": ["N"], "access": "read"},
    {"name": "P", "dtype": "i32", "shape": ["M"], "access": "readwrite"},)json");
  return text;
}
std::string copying(const std::string& lets, const std::string& start) {
  return with_indices(R"json([{"op": "alloc", "name": "a", "space": "shared", "dtype": "f16", "shape": [64, 64]},)json" +
                      lets + R"json({"op": "copy", "from": ")json" + start + R"json(", "to": "a"}])json");
}

TEST(UniformReads, DecideStartsBoundsAndConditions) {
  const auto bound = bind_text(with_indices(R"json([
    {"op": "alloc", "name": "a", "space": "fragment", "dtype": "f32", "shape": [64, 64]},
    {"op": "let", "name": "s", "value": "cast(I[bid.x], index)"},
    {"op": "let", "name": "e", "value": "min(s + cast(I[min(s, 3)], index), M)"},
    {"op": "fill", "tile": "a", "value": 0},
    {"op": "for", "var": "k", "from": "s", "to": "e", "body": [
      {"op": "if", "condition": "k > e // 2", "then": [{"op": "fill", "tile": "a", "value": 1}]}]},
    {"op": "copy", "from": "a", "to": "C[s:, 0:]", "limit": ["e", null]}])json"));
  ASSERT_TRUE(bound) << to_text(bound.error());
  const auto text = bound::print(*bound);
  EXPECT_NE(text.find("let s = index(I["), std::string::npos) << text;
  EXPECT_NE(text.find("copy C[s:, 0:] = a"), std::string::npos) << text;
}

TEST(UniformReads, StandInLetsOnly) {
  const auto region = bind_text(copying("", "A[cast(I[0], index):, 0:]"));
  ASSERT_FALSE(region);
  const auto* found = find(region.error(), "an element cannot be read here");
  ASSERT_NE(found, nullptr) << to_text(region.error());
  EXPECT_NE(found->hint.find("let"), std::string::npos);
  const auto tile = bind_text(copying(R"json({"op": "let", "name": "t", "value": "a[0, 0]"},)json", "A[0:, 0:]"));
  ASSERT_FALSE(tile);
  EXPECT_NE(find(tile.error(), "an element cannot be read here"), nullptr) << to_text(tile.error());
}

TEST(UniformReads, OfTensorsThatTheLaunchDoesNotWrite) {
  const std::string lets = R"json({"op": "let", "name": "p", "value": "cast(P[0], index)"},)json";
  EXPECT_TRUE(bind_text(copying(lets, "A[p:, 0:]")));
  const auto written = bind_text(
      copying(lets + R"json({"op": "map", "index": ["i"], "extent": [4], "body": [
                              {"set": "P[i]", "value": "1"}]},)json",
              "A[p:, 0:]"));
  ASSERT_FALSE(written);
  const auto* found = find(written.error(), "a let reads 'P', which this launch writes");
  ASSERT_NE(found, nullptr) << to_text(written.error());
  EXPECT_EQ(found->pointer, "/launches/0/body/1/value");
}

TEST(UniformReads, WhatMayLeave64BitsMustBeBound) {
  const std::string lets = R"json({"op": "let", "name": "j", "value": "cast(J[0], index)"},)json";
  for (const char* start : {"A[j:, 0:]", "A[j + 1:, 0:]", "A[j * 64:, 0:]"}) {
    const auto bound = bind_text(copying(lets, start));
    ASSERT_FALSE(bound) << start;
    const auto& finding = bound.error().diagnostics.front();
    EXPECT_NE(finding.message.find("64 bits"), std::string::npos) << to_text(bound.error());
    EXPECT_NE(finding.hint.find("min(max(n, 0), N)"), std::string::npos) << finding.hint;
  }
  EXPECT_TRUE(bind_text(copying(R"json({"op": "let", "name": "j", "value": "min(max(cast(J[0], index), 0), M)"},)json",
                                "A[j * 64:, 0:]")));
}

}  // namespace
}  // namespace kiln::test
