// Atomics, scans and places: read, written, bound, and their mistakes.
#include "tests/unit/tile/support.hpp"

namespace kiln::test {
namespace {

// One map over 8 x 8 with these items, in program_with.
std::string map_of(const std::string& items) {
  return R"json([{"op": "alloc", "name": "t", "space": "fragment", "dtype": "f32", "shape": [8, 8]},
    {"op": "fill", "tile": "t", "value": 1},
    {"op": "map", "index": ["i", "j"], "extent": [8, 8], "body": [)json" +
         items + "]}]";
}

TEST(Atomics, AreBoundAndPrinted) {
  const auto bound = bind_text(program_with(map_of(R"json(
    {"atomic": "add", "to": "D[0, j]", "value": "t[i, j]", "old": "before"},
    {"atomic": "cas", "to": "D[1, cast(cast(before, i32), index)]", "value": "2.0", "compare": "before"})json")));
  ASSERT_TRUE(bound) << to_text(bound.error());
  const auto text = bound::print(*bound);
  EXPECT_NE(text.find("let before = atomic add D[0, j], t[i, j]"), std::string::npos) << text;
  EXPECT_NE(text.find("atomic cas D[1, index(i32(before))], 2.0:f32 if before"), std::string::npos) << text;
  const auto again = bound::decode(bound::encode(*bound, true));
  ASSERT_TRUE(again) << to_text(again.error());
  EXPECT_EQ(bound::print(*again), text);
}

TEST(Atomics, AreWrittenCanonically) {
  const auto program = tile::read_program(program_with(map_of(
      R"json({"old": "o", "value": "t[i,j]", "atomic": "max", "to": "D[i,j]"})json")));
  ASSERT_TRUE(program) << to_text(program.error());
  const auto text = tile::write_program(*program);
  const std::string line = "\n              ";
  const std::string item = "\"atomic\": \"max\"," + line + "\"to\": \"D[i, j]\"," + line + "\"value\": \"t[i, j]\"," +
                           line + "\"old\": \"o\"";
  EXPECT_NE(text.find(item), std::string::npos) << text;
  const auto again = tile::read_program(text);
  ASSERT_TRUE(again) << to_text(again.error());
  EXPECT_EQ(tile::write_program(*again), text);
}

TEST(Atomics, MistakesAreLocated) {
  const struct { const char *item, *pointer, *message; } cases[] = {
      {R"({"atomic": "add", "to": "t[i, j]", "value": "1.0"})", "/to", "'t' is a tile"},
      {R"({"atomic": "add", "to": "C[i, j]", "value": "1.0"})", "/to", "'C' is updated by an atomic"},
      {R"({"atomic": "or", "to": "D[i, j]", "value": "1.0"})", "/atomic", "atomic or on f32"},
      {R"json({"atomic": "add", "to": "D[i, j]", "value": "cast(1, f16)"})json", "/value", "the value is f16"},
      {R"({"atomic": "cas", "to": "D[i, j]", "value": "1.0"})", "", "compare"},
      {R"({"atomic": "add", "to": "D[i, j]", "value": "1.0", "compare": "1.0"})", "/compare", "compare"},
      {R"({"atomic": "sub", "to": "D[i, j]", "value": "1.0"})", "/atomic", ""},
      {R"({"atomic": "add", "set": "D[i, j]", "value": "1.0"})", "", ""},
      {R"({"atomic": "add", "to": "D[i]", "value": "1.0"})", "/to", "2 axes"}};
  for (const auto& one : cases) {
    const auto bound = bind_text(program_with(map_of(one.item)));
    ASSERT_FALSE(bound) << one.item;
    const auto& finding = bound.error().diagnostics.front();
    EXPECT_EQ(finding.pointer, std::string("/launches/0/body/2/body/0") + one.pointer) << to_text(bound.error());
    EXPECT_NE(to_text(bound.error()).find(one.message), std::string::npos) << to_text(bound.error());
  }
}

TEST(Atomics, MayMeetWhereSetsMayNot) {
  EXPECT_TRUE(bind_text(program_with(map_of(R"({"atomic": "add", "to": "D[0, 0]", "value": "t[i, j]"})"))));
  EXPECT_FALSE(bind_text(program_with(map_of(R"({"set": "D[0, 0]", "value": "t[i, j]"})"))));
}

std::string tiles_and(const std::string& statement) {
  return R"json([{"op": "alloc", "name": "x", "space": "fragment", "dtype": "f16", "shape": [8, 4]},
    {"op": "alloc", "name": "y", "space": "fragment", "dtype": "f16", "shape": [8, 4]},
    {"op": "alloc", "name": "z", "space": "fragment", "dtype": "f32", "shape": [8, 4]},
    {"op": "alloc", "name": "p", "space": "fragment", "dtype": "i32", "shape": [8]},
    {"op": "fill", "tile": "x", "value": 1}, {"op": "fill", "tile": "y", "value": 1},
    {"op": "fill", "tile": "z", "value": 1}, {"op": "fill", "tile": "p", "value": 1}, )json" +
         statement + "]";
}

TEST(Scans, AreBound) {
  const auto bound = bind_text(program_with(
      tiles_and(R"json({"op": "scan", "kind": "prod", "from": "x", "to": "y", "axis": 1, "reverse": true},
                       {"op": "reduce", "kind": "argmin", "from": "x", "to": "p", "axis": 1})json")));
  ASSERT_TRUE(bound) << to_text(bound.error());
  const auto text = bound::print(*bound);
  EXPECT_NE(text.find("scan y = prod of x along axis 1 reverse"), std::string::npos) << text;
  EXPECT_NE(text.find("reduce p = argmin of x over axis 1"), std::string::npos) << text;
  const auto again = bound::decode(bound::encode(*bound, true));
  ASSERT_TRUE(again) << to_text(again.error());
  EXPECT_EQ(bound::print(*again), text);
}

TEST(Scans, MistakesAreLocated) {
  const struct { const char *statement, *pointer, *message; } cases[] = {
      {R"({"op": "scan", "kind": "sum", "from": "x", "to": "x", "axis": 0})", "/to", "into its own operand"},
      {R"({"op": "scan", "kind": "sum", "from": "x", "to": "z", "axis": 0})", "", "does not take these types"},
      {R"({"op": "scan", "kind": "sum", "from": "p", "to": "z", "axis": 0})", "", "differ in shape"},
      {R"({"op": "scan", "kind": "sum", "from": "x", "to": "y", "axis": 2})", "/axis", "no such axis"},
      {R"({"op": "scan", "kind": "any", "from": "x", "to": "y", "axis": 1})", "/kind", ""},
      {R"({"op": "reduce", "kind": "argmax", "from": "x", "to": "p", "axis": 1, "accumulate": true})", "/accumulate",
       "a place cannot be accumulated"},
      {R"({"op": "reduce", "kind": "argmax", "from": "p", "to": "x", "axis": 0})", "", ""}};
  for (const auto& one : cases) {
    const auto bound = bind_text(program_with(tiles_and(one.statement)));
    ASSERT_FALSE(bound) << one.statement;
    EXPECT_EQ(bound.error().diagnostics.front().pointer, std::string("/launches/0/body/8") + one.pointer)
        << to_text(bound.error());
    EXPECT_NE(to_text(bound.error()).find(one.message), std::string::npos) << to_text(bound.error());
  }
}

}  // namespace
}  // namespace kiln::test
