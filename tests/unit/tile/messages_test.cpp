// print and assert as programs say them: what is read, what is refused, and what they are in bound programs.
#include <gtest/gtest.h>

#include <cstring>
#include <variant>

#include "engine/ir/target/target.hpp"
#include "engine/ir/tile/program.hpp"
#include "engine/specialize/specialize.hpp"

namespace kiln::test {
namespace {

// One block of a tile t f32 [4, 8] and whatever `body` says; `extra` are further launches.
std::string program_of(const std::string& body, const std::string& extra = "") {
  return R"json({"kiln": "tile/1", "name": "test", "symbols": ["K"],
    "params": [{"name": "X", "dtype": "f32", "shape": [4, 8], "access": "readwrite"}],
    "launches": [{"grid": [2], "threads": 1, "body": [
      {"op": "alloc", "name": "t", "space": "fragment", "dtype": "f32", "shape": [4, 8]},
      {"op": "copy", "from": "X[0:, 0:]", "to": "t"})json" +
         (body.empty() ? "" : ", " + body) + "]}" + extra + "]}";
}
Result<bound::Program> specialized(const std::string& text) {
  KILN_TRY(const auto program, tile::read_program(text));
  KILN_TRY(const auto target, target::parse_target("host"));
  Budget budget(1'000'000);
  specialize::Bindings bindings;
  bindings.set["K"] = "3";
  return specialize::specialize(program, bindings, target, budget);
}
std::string map(const std::string& items) {
  return R"({"op": "map", "index": ["i", "j"], "extent": [4, 8], "body": [)" + items + "]}";
}
// The first diagnostic: its pointer and message.
std::string refused(const std::string& body) {
  const auto bound = specialized(program_of(body));
  if (bound) return "";
  const auto& list = bound.error().diagnostics;
  return list.empty() ? bound.error().message : list[0].pointer + ": " + list[0].message + "; " + list[0].found;
}

TEST(Messages, HaveACanonicalForm) {
  const std::string body = R"json({"op": "print", "text": "say \"hi\" */ %n é", "values": ["bid.x+1", "t[0,1]", true, 2.5]},
    {"op": "assert", "condition": "K>2", "text": "", "values": []}, )json" +
                           map(R"json({"print": "", "where": "i<j"},
    {"assert": "t[i,j]<1.0", "text": "large", "values": ["t[i, j]"], "where": "i == j"})json");
  const auto program = tile::read_program(program_of(body));
  ASSERT_TRUE(program) << to_text(program.error());
  const std::string text = tile::write_program(*program);
  for (const char* part : {R"("text": "say \"hi\" */ %n é")", R"("values": ["bid.x + 1", "t[0, 1]", "true", "2.5"])",
                           R"("condition": "K > 2")", R"("print": "")", R"("assert": "t[i, j] < 1.0")"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  const auto again = tile::read_program(text);
  ASSERT_TRUE(again) << to_text(again.error());
  EXPECT_EQ(tile::write_program(*again), text);
}

TEST(Messages, AreOneLineOfPrintableText) {
  const std::string print = R"({"op": "print", "text": ")";
  for (const char* text : {R"(a\nb)", R"(\u0000)", R"(\u001b[31m)", R"(\u007f)", R"(\u0085)", R"(\u2028)", R"(\u202e)", R"(\u2066)"})
    EXPECT_NE(refused(print + text + "\"}").find("/launches/0/body/2/text: a message is one line"), std::string::npos)
        << text << refused(print + text + "\"}");
  EXPECT_EQ(refused(print + std::string(200, 'x') + "\"}"), "");
  EXPECT_NE(refused(print + std::string(201, 'x') + "\"}").find("201 bytes"), std::string::npos);
  const std::string large = refused(print + std::string(1000000, '\'') + "\"}");
  EXPECT_NE(large.find("1000000 bytes"), std::string::npos);
  EXPECT_LT(large.size(), 300u);
  const auto program = tile::read_program(program_of(print + std::string(10'000'000, 'x') + "\"}"));
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, ErrorCode::resource_limit);
}

TEST(Messages, ShowUpToFourNumbersAndBooleans) {
  EXPECT_NE(refused(R"({"op": "print", "values": [1, 2, 3, 4, 5]})").find("/values: "), std::string::npos);
  EXPECT_NE(refused(R"({"op": "print", "values": ["f32"]})").find("numbers and booleans"), std::string::npos);
  EXPECT_NE(refused(R"({"op": "print", "values": ["t"]})").find("'t' is a tile"), std::string::npos);
  EXPECT_NE(refused(R"({"op": "print", "values": ["t[4, 0]"]})").find("out of range"), std::string::npos);
  EXPECT_NE(refused(R"({"op": "assert", "condition": "K"})").find("a condition is a boolean"), std::string::npos);
  EXPECT_NE(refused(R"({"op": "assert"})").find("needs the field 'condition'"), std::string::npos);
  EXPECT_NE(refused(map(R"({"print": "x", "set": "t[i, j]", "value": 1})")).find("has no field"), std::string::npos);
  EXPECT_EQ(refused(map(R"json({"print": "x", "values": ["i", "t[i, j]", "i < j", "cast(j, u64)"]})json")), "");
}

TEST(Messages, BecomeSitesAndRecords) {
  const auto bound = specialized(program_of(R"({"op": "print", "text": "a", "values": ["K"]}, )" +
                                     map(R"({"let": "v", "value": "t[i, j]"}, {"assert": "v < 1.0", "text": "b"})")));
  ASSERT_TRUE(bound) << to_text(bound.error());
  ASSERT_EQ(bound->sites.size(), 2u);
  EXPECT_EQ(bound->sites[0].pointer, "/launches/0/body/2");
  EXPECT_EQ(bound->sites[1].pointer, "/launches/0/body/3/body/1");
  EXPECT_EQ(bound->sites[1].extent, (std::vector<std::int64_t>{4, 8}));
  EXPECT_EQ(bound->sites[0].values, std::vector<DType>{DType::index});
  ASSERT_GE(bound->records, 0);
  EXPECT_EQ(bound->tensors[static_cast<std::size_t>(bound->records)].bytes(), bound::records_words * 8);
  EXPECT_EQ(bound->arguments(), 1u);
  EXPECT_NE(bound::print(*bound).find("leave the block if any_failed"), std::string::npos) << bound::print(*bound);
  const auto bytes = bound::encode(*bound, true);
  const auto again = bound::decode(bytes);
  ASSERT_TRUE(again) << to_text(again.error());
  EXPECT_EQ(bound::encode(*again, true), bytes);
}

TEST(Messages, ThatCannotHappenLeaveNothing) {
  for (const std::string body : {R"({"op": "assert", "condition": "K == 3"})", R"({"op": "print", "when": "K > 3"})",
                                 R"({"op": "for", "var": "k", "to": "K - 3", "body": [{"op": "print"}]})"}) {
    const auto bound = specialized(program_of(body));
    ASSERT_TRUE(bound) << to_text(bound.error());
    EXPECT_EQ(bound::encode(*bound, false), bound::encode(*specialized(program_of("")), false)) << body;
  }
}

TEST(Messages, ArePartOfTheKeyWithTheirTexts) {
  const auto key = [](const std::string& body) { return bound::encode(*specialized(program_of(body)), false); };
  EXPECT_NE(key(R"({"op": "print", "text": "a"})"), key(R"({"op": "print", "text": "b"})"));
  EXPECT_NE(key(R"({"op": "print", "text": "a"})"), key(""));
}

TEST(Messages, OnlyLaunchesBehindAnAssertLookAtIt) {
  const std::string second = R"(, {"grid": [1], "threads": 1, "body": [
    {"op": "alloc", "name": "u", "space": "fragment", "dtype": "f32", "shape": [4, 8]},
    {"op": "fill", "tile": "u", "value": 0}, {"op": "copy", "from": "u", "to": "X[0:, 0:]"}]})";
  const auto with = specialized(program_of(R"({"op": "assert", "condition": "bid.x == 0"})", second));
  ASSERT_TRUE(with) << to_text(with.error());
  EXPECT_EQ(with->tensors.size(), 3u);
  EXPECT_TRUE(std::holds_alternative<bound::Leave>(with->launches[1].body[1].node));
  const auto without = specialized(program_of(R"({"op": "print"})", second));
  ASSERT_TRUE(without);
  EXPECT_EQ(without->tensors.size(), 2u);
  EXPECT_EQ(without->launches[1].body.size(), 2u);
}

TEST(Messages, DamagedRecordsAreFound) {
  const std::vector<bound::RecordSite> sites{{"/p", "text", false, {4}, {DType::f32}}, {"/a", "", true, {}, {}}};
  Bytes bytes(static_cast<std::size_t>(bound::records_words) * 8);
  const auto word = [&](std::int64_t at, std::int64_t value) {
    std::memcpy(bytes.data() + at * 8, &value, sizeof value);
  };
  ASSERT_TRUE(bound::read_records(bytes, sites));
  word(0, 2000);
  word(8 + 2, 3);
  const auto records = bound::read_records(bytes, sites);
  ASSERT_TRUE(records) << to_text(records.error());
  EXPECT_EQ(records->prints.size(), 1024u);
  EXPECT_EQ(records->prints_dropped, 976u);
  EXPECT_EQ(records->prints.back().index, std::vector<std::int64_t>{3});
  for (const auto& [at, value] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {0, -1}, {8 + 1, std::int64_t(1) << 32}, {8 + 1, std::int64_t(7) << 32}, {8 + 2, 4}, {8 + 2, -1}}) {
    const Bytes good = bytes;
    word(at, value);
    EXPECT_FALSE(bound::read_records(bytes, sites)) << at << " " << value;
    bytes = good;
  }
  bytes.pop_back();
  EXPECT_FALSE(bound::read_records(bytes, sites));
}

}  // namespace
}  // namespace kiln::test
