// print and assert as the interpreter defines them: which records there are, where a block ends, what memory holds.
#include <gtest/gtest.h>

#include "engine/ir/target/target.hpp"
#include "engine/ir/tile/program.hpp"
#include "engine/reference/interpreter.hpp"
#include "engine/specialize/specialize.hpp"

namespace kiln::test {
namespace {

// X f32 [4, 8] is 0, 1, 2 …; Y [4, 8] starts as -1. Four blocks, a row each: `body` between reading x and writing it to
// Y; then the launches in `more`.
struct After {
  Status status;
  std::vector<float> y = std::vector<float>(32, -1.0F);
  bound::Program program;
  bound::Records records;
  // "text (block x) [index] values" of all prints, or failures.
  [[nodiscard]] std::vector<std::string> lines(const std::vector<bound::Record>& list) const {
    std::vector<std::string> told;
    for (const auto& record : list) {
      const auto& site = program.sites[record.site];
      std::string line = site.text + " b" + std::to_string(record.block[0]);
      for (const auto index : record.index) line += " i" + std::to_string(index);
      for (std::size_t i = 0; i < record.values.size(); ++i)
        line += " " + bound::value_text(site.values[i], record.values[i]);
      told.push_back(line);
    }
    return told;
  }
};
After run_body(const std::string& body, const std::string& more = "") {
  const std::string text = R"json({"kiln": "tile/1", "name": "test",
    "params": [{"name": "X", "dtype": "f32", "shape": [4, 8], "access": "read"},
               {"name": "Y", "dtype": "f32", "shape": [4, 8], "access": "readwrite"}],
    "launches": [{"grid": [4], "threads": 1, "body": [
      {"op": "alloc", "name": "x", "space": "fragment", "dtype": "f32", "shape": [8]},
      {"op": "copy", "from": "X[bid.x, 0:]", "to": "x"}, )json" +
                           body + R"json(, {"op": "copy", "from": "x", "to": "Y[bid.x, 0:]"}]})json" + more + "]}";
  After after;
  const auto run = [&]() -> Status {
    KILN_TRY(const auto program, tile::read_program(text));
    KILN_TRY(const auto target, target::parse_target("host"));
    Budget budget(1'000'000);
    KILN_TRY(after.program, specialize::specialize(program, {}, target, budget));
    std::vector<float> x(32);
    for (int i = 0; i < 32; ++i) x[static_cast<std::size_t>(i)] = static_cast<float>(i);
    const auto argument = [](std::vector<float>& values) {
      return reference::Argument{reinterpret_cast<std::uint8_t*>(values.data()), values.size() * 4};
    };
    const std::vector<reference::Argument> arguments = {argument(x), argument(after.y)};
    Bytes bytes;
    auto status = reference::run(after.program, arguments, {}, nullptr, &bytes);
    if (bytes.empty()) return status;
    KILN_TRY(after.records, bound::read_records(bytes, after.program.sites));
    return status;
  };
  after.status = run();
  return after;
}
std::string map(const std::string& items) {
  return R"({"op": "map", "index": ["i"], "extent": [8], "body": [)" + items + "]}";
}
using Lines = std::vector<std::string>;

TEST(InterpretedMessages, ShowBlocksIndicesAndTypedValues) {
  const auto after = run_body(R"json({"op": "print", "text": "row", "values": ["bid.x", "x[1]", "bid.x > 2"]}, )json" +
                              map(R"json({"let": "v", "value": "x[i] * 0.5"}, {"set": "x[i]", "value": "v"},
    {"print": "half", "values": ["v", "cast(cast(i, i32) - 9, i8)", "cast(v, f16)", "cast(i, u64) * cast(0 - 1, u64)"],
     "where": "i == 7 && bid.x % 2 == 1"})json"));
  ASSERT_TRUE(after.status) << to_text(after.status.error());
  EXPECT_EQ(after.lines(after.records.prints),
            (Lines{"row b0 0 1 false", "row b1 1 9 false", "half b1 i7 7.5 -2 7.5 18446744073709551609",
                   "row b2 2 17 false", "row b3 3 25 true", "half b3 i7 15.5 -2 15.5 18446744073709551609"}));
  EXPECT_EQ(after.y[31], 15.5F);
}

TEST(InterpretedMessages, SayWhatIsNoNumber) {
  const auto after = run_body(R"json({"op": "print", "values": ["0.0 / x[0]", "1.0 / x[0]", "-1.0 / x[0]", "0.1"]})json");
  ASSERT_TRUE(after.status) << to_text(after.status.error());
  EXPECT_EQ(after.lines(after.records.prints).front(), " b0 nan inf -inf 0.1");
}

TEST(InterpretedMessages, AFailedAssertEndsItsBlockBehindTheMap) {
  const auto after = run_body(map(R"json({"assert": "x[i] < 12.0", "text": "large", "values": ["x[i]"]},
    {"set": "Y[bid.x, i]", "value": "x[i] + 100.0"})json") + R"(, {"op": "print", "text": "went on"})");
  ASSERT_FALSE(after.status);
  EXPECT_EQ(after.status.error().code, ErrorCode::assertion_failed);
  EXPECT_EQ(after.status.error().diagnostics.size(), 20u);
  EXPECT_EQ(after.status.error().diagnostics[0].pointer, "/launches/0/body/2/body/0");
  EXPECT_EQ(after.lines(after.records.failures).front(), "large b1 i4 12");
  EXPECT_EQ(after.lines(after.records.prints), Lines{"went on b0"});
  for (std::size_t i = 0; i < 32; ++i)  // the map is carried out, the copy behind it is not
    EXPECT_EQ(after.y[i], i < 8 ? static_cast<float>(i) : static_cast<float>(i) + 100.0F) << i;
}

TEST(InterpretedMessages, AFailedAssertEndsLoopsAndBranches) {
  const auto after = run_body(R"json({"op": "for", "var": "k", "to": 5, "body": [
    {"op": "if", "condition": "bid.x > 1", "then": [{"op": "assert", "condition": "k < 2 + bid.x", "text": "k", "values": ["k"]}]},
    {"op": "print", "text": "turn", "values": ["k"]}]})json");
  ASSERT_FALSE(after.status);
  EXPECT_EQ(after.lines(after.records.failures), (Lines{"k b2 4"}));
  EXPECT_EQ(after.records.prints.size(), 19u);
  EXPECT_EQ(after.y[8], 8.0F);
  EXPECT_EQ(after.y[16], -1.0F);
}

TEST(InterpretedMessages, ConditionsGuardWhatTheyRead) {
  const auto after = run_body(map(R"json({"assert": "x[i + 4] > 0.0", "where": "i < 4 && bid.x > 0"},
    {"print": "p", "values": ["x[7 - i]"], "where": "i < 1"})json"));
  ASSERT_TRUE(after.status) << to_text(after.status.error());
  const auto outside = run_body(map(R"json({"assert": "x[i + 4] > 0.0"})json"));
  EXPECT_EQ(outside.status.error().code, ErrorCode::program_invalid) << "an element outside its tile";
}

TEST(InterpretedMessages, LaterLaunchesDoNotBegin) {
  const std::string more = R"json(, {"grid": [4], "threads": 1, "body": [
    {"op": "alloc", "name": "z", "space": "fragment", "dtype": "f32", "shape": [8]},
    {"op": "fill", "tile": "z", "value": 7}, {"op": "print", "text": "second"}, {"op": "copy", "from": "z", "to": "Y[bid.x, 0:]"}]})json";
  const auto failed = run_body(R"({"op": "assert", "condition": "bid.x != 2", "text": "two"})", more);
  ASSERT_FALSE(failed.status);
  EXPECT_EQ(failed.lines(failed.records.failures), Lines{"two b2"});
  EXPECT_TRUE(failed.records.prints.empty());
  EXPECT_EQ(failed.y[0], 0.0F);
  EXPECT_EQ(failed.y[16], -1.0F);
  const auto held = run_body(R"({"op": "assert", "condition": "bid.x < 4", "text": "two"})", more);
  ASSERT_TRUE(held.status) << to_text(held.status.error());
  EXPECT_EQ(held.records.prints.size(), 4u);
  EXPECT_EQ(held.y[0], 7.0F);
}

TEST(InterpretedMessages, OverflowKeepsTheFirstAndCountsTheRest) {
  const auto after = run_body(R"json({"op": "for", "var": "k", "to": 100, "body": [)json" +
                              map(R"json({"print": "p", "values": ["k"]}, {"assert": "k < 90", "values": ["k"]})json") + "]}");
  ASSERT_FALSE(after.status);
  EXPECT_EQ(after.records.prints.size(), 1024u);
  EXPECT_EQ(after.records.prints_dropped, 4u * 8 * 91 - 1024);
  EXPECT_EQ(after.lines(after.records.prints).front(), "p b0 i0 0");
  EXPECT_EQ(after.records.failures.size(), 32u) << "prints take no slot of theirs";
}

}  // namespace
}  // namespace kiln::test
