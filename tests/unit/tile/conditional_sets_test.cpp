// Items of a map that set under a condition: form, binding, what the condition may be.
#include "tests/unit/tile/support.hpp"

namespace kiln::test {
namespace {

std::string with_items(const std::string& items) {
  return program_with(R"json([
    {"op": "alloc", "name": "t", "space": "shared", "dtype": "f32", "shape": [8, 8]},
    {"op": "fill", "tile": "t", "value": 0},
    {"op": "map", "index": ["i", "j"], "extent": [8, 8], "body": [)json" + items + R"json(]},
    {"op": "copy", "from": "t", "to": "C[0:, 0:]"}])json");
}
std::string printed(const std::string& items) {
  const auto bound = bind_text(with_items(items));
  return bound ? bound::print(*bound) : to_text(bound.error());
}
std::string refused(const std::string& items) {
  const auto bound = bind_text(with_items(items));
  return bound ? "nothing was found" : to_text(bound.error());
}

TEST(ConditionalSets, CanonicalFormKeepsThem) {
  const auto program = tile::read_program(
      with_items(R"json({"where": "(i<j) && !(t[i,j]>0)", "set": "t[i,j]", "value": 1})json"));
  ASSERT_TRUE(program) << to_text(program.error());
  const auto text = tile::write_program(*program);
  const auto set = text.find("\"set\": \"t[i, j]\""), value = text.find("\"value\": \"1\""),
             where = text.find("\"where\": \"i < j && !t[i, j] > 0\"");
  EXPECT_TRUE(set < value && value < where && where != std::string::npos) << text;
  const auto again = tile::read_program(text);
  ASSERT_TRUE(again) << to_text(again.error());
  EXPECT_EQ(tile::write_program(*again), text);
}

TEST(ConditionalSets, BindEncodeAndPrint) {
  const std::string item = R"json({"set": "t[i, j]", "value": "1.0", "where": "i < j"})json";
  EXPECT_NE(printed(item).find("t[i, j] = 1.0:f32 where i < j"), std::string::npos) << printed(item);
  const auto with = bind_text(with_items(item));
  const auto without = bind_text(with_items(R"json({"set": "t[i, j]", "value": "1.0"})json"));
  ASSERT_TRUE(with && without);
  EXPECT_NE(bound::encode(*with, false), bound::encode(*without, false));
  const auto decoded = bound::decode(bound::encode(*with, true));
  ASSERT_TRUE(decoded) << to_text(decoded.error());
  EXPECT_EQ(bound::encode(*decoded, true), bound::encode(*with, true));
}

TEST(ConditionalSets, WhatIsKnownIsDecided) {
  const std::string always = printed(R"json({"set": "t[i, j]", "value": "1.0", "where": "i < 8 && K > 0"})json");
  EXPECT_NE(always.find("t[i, j] = 1.0:f32\n"), std::string::npos) << always;
  const std::string never = printed(R"json({"set": "t[i + 100, j]", "value": "no_such", "where": "i > 8"})json");
  EXPECT_NE(never.find("nothing is called 'no_such'"), std::string::npos) << never;  // names are always looked at
  const std::string dropped = printed(R"json({"set": "t[i + 100, j]", "value": "t[i, 9]", "where": "i > 8"})json");
  EXPECT_EQ(dropped.find("map"), std::string::npos) << dropped;
  EXPECT_NE(dropped.find("fill t = 0.0"), std::string::npos) << dropped;
}

TEST(ConditionalSets, IndicesMayLeaveAndIterationsMayMeet) {
  for (const char* item : {R"json({"set": "t[i + 4, j]", "value": "t[i + 4, j]", "where": "i + 4 < 8"})json",
                           R"json({"set": "t[i + 100, j]", "value": "1.0", "where": "n > i"})json",
                           R"json({"set": "t[0, 0]", "value": "1.0", "where": "i == 3 && j == n"})json"}) {
    const auto bound = bind_text(with_items(item));
    EXPECT_TRUE(bound) << item << "\n" << to_text(bound.error());
  }
  // Without the condition each is a mistake.
  EXPECT_NE(refused(R"json({"set": "t[i + 4, j]", "value": "1.0"})json").find("index out of range"), std::string::npos);
  EXPECT_NE(refused(R"json({"set": "t[0, 0]", "value": "1.0"})json").find("write the same element"), std::string::npos);
}

TEST(ConditionalSets, AtomicsMayHaveOne) {
  const std::string some = printed(R"json(
    {"atomic": "add", "to": "D[0, 0]", "value": "1.0", "old": "o", "where": "i < j"},
    {"set": "t[i, j]", "value": "o"})json");
  EXPECT_NE(some.find("let o = atomic add D[0, 0], 1.0:f32 where i < j"), std::string::npos) << some;
  // One that never happens leaves the old value, 0.
  const std::string never = printed(R"json(
    {"atomic": "add", "to": "D[0, 0]", "value": "1.0", "old": "o", "where": "i > 8"},
    {"set": "t[i, j]", "value": "o"})json");
  EXPECT_EQ(never.find("atomic"), std::string::npos) << never;
  EXPECT_NE(never.find("t[i, j] = 0.0:f32"), std::string::npos) << never;
}

TEST(ConditionalSets, Mistakes) {
  EXPECT_NE(refused(R"json({"set": "t[i, j]", "value": "1.0", "where": "i"})json").find("a condition is a boolean"),
            std::string::npos);
  EXPECT_NE(refused(R"json({"let": "x", "value": "i", "where": "i < j"}, {"set": "t[i, j]", "value": "1.0"})json")
                .find("a let has no 'where'"), std::string::npos);
  const auto unknown = bind_text(with_items(R"json({"set": "t[i, j]", "value": "1.0", "where": "mask"})json"));
  const auto program = tile::read_program(with_items(R"json({"set": "t[i, j]", "value": "1.0", "where": "mask"})json"));
  const bool read = bool(program);
  EXPECT_FALSE(unknown);
  EXPECT_FALSE(read && bind(*program, sizes(128, 128, 128)));
  EXPECT_NE(refused(R"json({"set": "t[i, j]", "value": "i < j", "where": "i < j"})json").find("/value"),
            std::string::npos);
}

}  // namespace
}  // namespace kiln::test
