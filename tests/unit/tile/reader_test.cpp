#include <random>

#include "engine/base/fd.hpp"
#include "tests/unit/tile/support.hpp"

namespace kiln::test {
namespace {

struct Mistake {
  const char* pointer;
  const char* message;  // part of it
};

void expect_mistakes(const std::string& json, const std::vector<Mistake>& mistakes) {
  const auto program = tile::read_program(json);
  ASSERT_FALSE(program) << json;
  const auto& list = program.error().diagnostics;
  for (const auto& mistake : mistakes) {
    const bool found = std::any_of(list.begin(), list.end(), [&](const Diagnostic& d) {
      return d.pointer == mistake.pointer && d.message.find(mistake.message) != std::string::npos;
    });
    EXPECT_TRUE(found) << mistake.pointer << ": " << mistake.message << "\n" << to_text(program.error());
  }
  EXPECT_EQ(list.size(), mistakes.size()) << to_text(program.error());
}

TEST(Reader, AllMistakesAtOnce) {
  const std::string json = R"json({"kiln": "tile/1", "name": "9bad", "symbls": ["M"], "symbols": ["N", "if"],
    "options": {"dtype": {"type": "dtyp", "default": "f16"}},
    "params": [{"name": "X", "dtype": "f32", "shape": ["N", "Q"], "acess": "read"}],
    "tunables": {"BN": {"default": "12 +"}},
    "launches": [{"grid": ["ceildiv(N, BN)"], "threads": 256.5.0, "body": []}]})json";
  EXPECT_EQ(tile::read_program(json).error().code, ErrorCode::parse_error);  // 256.5.0 is no JSON
  std::string mended = json;
  mended.replace(mended.find("256.5.0"), 7, "256");
  expect_mistakes(mended, {{"/name", "not a name"},
                           {"/symbols/1", "word of the expression language"},
                           {"/options/dtype/type", "unknown value of 'type'"},
                           {"/params/0", "needs the field 'access'"},
                           {"/params/0/acess", "has no field 'acess'"},
                           {"/params/0/shape/1", "nothing is called 'Q'"},
                           {"/tunables/BN/default", "an operand is missing"},
                           {"/symbls", "has no field 'symbls'"}});
  const auto program = tile::read_program(mended);
  EXPECT_EQ(find(program.error(), "no field 'symbls'")->hint, "did you mean 'symbols'?");
  EXPECT_EQ(find(program.error(), "no field 'acess'")->hint, "did you mean 'access'?");
}

TEST(Reader, WhatElementsOutsideAre) {
  const auto json = [](const std::string& outside) {
    return R"({"kiln": "tile/1", "name": "p", )" + outside +
           R"("params": [{"name": "X", "dtype": "f32", "shape": [4], "access": "write"}],
               "launches": [{"grid": [1], "threads": 64, "body": [
                 {"op": "map", "index": ["i"], "extent": [8], "body": [{"set": "X[i]", "value": "1.0"}]}]}]})";
  };
  const auto plain = tile::read_program(json("")), clips = tile::read_program(json(R"("outside": "zero", )"));
  ASSERT_TRUE(plain && clips);
  EXPECT_FALSE(plain->clips);
  EXPECT_TRUE(clips->clips);
  const auto text = tile::write_program(*clips);
  EXPECT_NE(text.find("\n  \"outside\": \"zero\",\n"), std::string::npos) << text;
  EXPECT_EQ(tile::write_program(*tile::read_program(text)), text);
  expect_mistakes(json(R"("outside": "report", )"), {{"/outside", "what elements outside of a tensor are"}});
  expect_mistakes(json(R"("outside": true, )"), {{"/outside", "what elements outside of a tensor are"}});
}

TEST(Reader, StatementsAreCheckedByNameAndShape) {
  expect_mistakes(program_with(R"json([
      {"op": "aloc", "name": "t"},
      {"op": "alloc", "name": "t", "space": "shared", "dtype": "f16", "shape": ["64", "64"]},
      {"op": "alloc", "name": "t", "space": "shared", "dtype": "f16", "shape": ["64"]},
      {"op": "alloc", "name": "w", "space": "shared", "dtype": "f16", "shape": [1, 2, 3, 4, 5]},
      {"op": "copy", "from": "A[bid.y * 64:]", "to": "t"},
      {"op": "copy", "from": "AA[0:, 0:]", "to": "t"},
      {"op": "copy", "from": "A[0:, k:]", "to": "t"},
      {"op": "fill", "tile": "A", "value": 0},
      {"op": "map", "index": ["i"], "extent": ["64"], "body": [{"set": "t[i]", "value": "t"}]},
      {"op": "map", "index": ["i"], "extent": ["64"], "body": [{"set": "t[i, i]", "value": "M[i]"}, {"sett": "x"}]},
      {"op": "for", "var": "k", "to": "K", "body": [
        {"op": "alloc", "name": "u", "space": "shared", "dtype": "f16", "shape": ["64"]}]},
      {"op": "reduce", "kind": "sum", "from": "t", "to": "t", "axis": 0, "acumulate": true},
      {"op": "gemm", "a": "t", "b": "t"}
    ])json"),
                  {{"/launches/0/body/0/op", "unknown statement"},
                   {"/launches/0/body/2/name", "declared twice"},
                   {"/launches/0/body/3/shape", "array of expressions"},
                   {"/launches/0/body/4/from", "has 2 axes"},
                   {"/launches/0/body/5/from", "nothing is called 'AA'"},
                   {"/launches/0/body/6/from", "nothing is called 'k'"},
                   {"/launches/0/body/7/tile", "is a tensor, not a tile"},
                   {"/launches/0/body/8/body/0/set", "has 2 axes"},
                   {"/launches/0/body/8/body/0/value", "is a tile, not a value"},
                   {"/launches/0/body/9/body/0/value", "has no elements"},
                   {"/launches/0/body/9/body/1", "needs the field 'value'"},
                   {"/launches/0/body/9/body/1", "has one of 'let', 'set'"},
                   {"/launches/0/body/9/body/1/sett", "no field 'sett'"},
                   {"/launches/0/body/10/body/0", "inside a loop"},
                   {"/launches/0/body/11/acumulate", "no field 'acumulate'"},
                   {"/launches/0/body/12", "needs the field 'c'"}});
}

TEST(Reader, ExpressionMistakesHaveAPositionInTheString) {
  const auto program = tile::read_program(program_with(R"json([
      {"op": "alloc", "name": "t", "space": "fragment", "dtype": "f16", "shape": ["64", "64"]},
      {"op": "copy", "from": "A[bid.y * 64:, kk * 2:]", "to": "t"}])json"));
  ASSERT_FALSE(program);
  ASSERT_EQ(program.error().diagnostics.size(), 1u);
  const Diagnostic& d = program.error().diagnostics[0];
  EXPECT_EQ(d.pointer, "/launches/0/body/1/from");
  EXPECT_EQ(d.source, "A[bid.y * 64:, kk * 2:]");
  EXPECT_EQ(d.offset, 15u);
  EXPECT_EQ(d.length, 2u);
}

TEST(Reader, DuplicateKeysAreRefused) {
  expect_mistakes(
      R"json({"kiln": "tile/1", "name": "a", "name": "b",
                 "params": [{"name": "X", "dtype": "f32", "dtype": "f16", "shape": ["4"], "access": "read"}],
                      "launches": [{"grid": [1], "threads": 1, "body": []}]})json",
      {{"/name", "stands twice"}, {"/params/0/dtype", "stands twice"}});
}

TEST(Reader, TextThatIsNoJsonIsLocatedByLine) {
  const auto program = tile::read_program("{\n  \"kiln\": \"tile/1\",\n  \"name\" 3\n}");
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, ErrorCode::parse_error);
  const Diagnostic& d = program.error().diagnostics.at(0);
  EXPECT_NE(d.message.find("line 3"), std::string::npos) << d.message;
  EXPECT_EQ(d.source, "  \"name\" 3");
  EXPECT_EQ(d.offset, 9u);
}

TEST(Reader, MalformedBytesAreRefused) {
  EXPECT_EQ(tile::read_program("").error().code, ErrorCode::parse_error);
  EXPECT_EQ(tile::read_program("{\"kiln\": \"\xff\xfe\"}").error().code, ErrorCode::parse_error);
  EXPECT_EQ(tile::read_program("{\"\xed\xa0\x80\": 1}").error().code, ErrorCode::parse_error);
  EXPECT_EQ(tile::read_program(std::string("{\"a\": \"\0\"}", 10)).error().code, ErrorCode::parse_error);
  EXPECT_EQ(tile::read_program("{} {}").error().code, ErrorCode::parse_error);
  EXPECT_EQ(tile::read_program("[1e999]").error().code, ErrorCode::parse_error);
  EXPECT_EQ(tile::read_program(std::string(100000, '[')).error().code, ErrorCode::resource_limit);
  EXPECT_EQ(tile::read_program(std::string(2 << 20, ' ')).error().code, ErrorCode::resource_limit);
  std::string many = "[0";
  for (int i = 0; i < 300000; ++i) many += ",0";
  EXPECT_EQ(tile::read_program(many + "]").error().code, ErrorCode::resource_limit);
  for (const char* text : {"3", "null", "\"x\"", "[]", "true"})
    EXPECT_EQ(tile::read_program(text).error().code, ErrorCode::program_invalid) << text;
}

TEST(Reader, NumbersKeepTheirKind) {
  const auto overflow = tile::read_program("{\"kiln\": 1e400000}");
  EXPECT_EQ(overflow.error().code, ErrorCode::parse_error);
  EXPECT_EQ(overflow.error().message, "not valid JSON: number overflow parsing '1e400000'");
  expect_mistakes(
      R"json({"kiln": "tile/1", "name": "a", "params": [],
                 "symbols": {"M": {"multiple_of": 8.0, "max": 9223372036854775808, "min": -4}},
                      "launches": [{"grid": [123456789012345678901234567890], "threads": 1, "body": []}]})json",
      {{"/symbols/M/multiple_of", "not an integer"},
       {"/symbols/M/multiple_of", "at least 1"},
       {"/symbols/M/max", "does not fit in 64 bits"},
       {"/symbols/M/min", "sizes are from 0"},
       {"/launches/0/grid/0", "does not fit in 64 bits"}});
}

TEST(Reader, LaterPartsOfTheDesignSaySo) {
  expect_mistakes(
      R"json({"kiln": "tile/1", "name": "a", "symbols": {"M": {"dynamic": "yes"}}, "params": [],
      "schedule": {"cluster": [2, 1]},
      "launches": [{"grid": [1], "threads": 1, "resident": true, "schedule": {"wave_roles": []}, "body": [
        {"op": "while"},
        {"op": "alloc", "name": "t", "space": "fragment", "dtype": "f32", "shape": [4, 4]},
        {"op": "alloc", "name": "r", "space": "fragment", "dtype": "f32", "shape": [4]},
        {"op": "gemm", "a": "t", "b": "t", "c": "t", "precision": "tf32", "scale_a": "r"},
        {"op": "reduce", "kind": "max", "from": "t", "to": "r", "axis": 0, "nan": "ignore"}
      ]}, {"grid": [1], "threads": 1, "body": []}]})json",
      {{"/symbols/M/dynamic", "true or false"},
       {"/schedule/cluster", "not yet"},
       {"/launches/0/resident", "not yet"},
       {"/launches/0/schedule/wave_roles", "not yet"},
       {"/launches/0/body/0/op", "not yet"},
       {"/launches/0/body/3/precision", "not yet"},
       {"/launches/0/body/3/scale_a", "not yet"},
       {"/launches/0/body/4/nan", "not yet"}});
}

TEST(Reader, UnknownVersionsAreRefused) {
  expect_mistakes(
      R"json({"kiln": "tile/2", "name": "a", "params": [], "launches": [{"grid": [1], "threads": 1, "body": []}]})json",
      {{"/kiln", "unknown format version"}});
}

// ---- writing

TEST(Writer, WritingWhatWasReadIsStable) {
  for (const auto& name : tile::builtin_names(programs_folder)) {
    const auto program = tile::load_builtin(programs_folder, name);
    ASSERT_TRUE(program) << to_text(program.error());
    const std::string once = tile::write_program(*program);
    const auto again = tile::read_program(once);
    ASSERT_TRUE(again) << name << "\n" << to_text(again.error());
    EXPECT_EQ(tile::write_program(*again), once) << name;
  }
}

TEST(Writer, CanonicalFormHasNoDefaults) {
  const auto program = tile::read_program(R"json({"launches": [{"body": [
      {"layout": "auto", "op": "alloc", "name": "t", "space": "shared", "dtype": "f32", "shape": [4, "(4)"]},
      {"op": "alloc", "name": "r", "space": "shared", "dtype": "f32", "shape": [4, 4], "layout": {"pad": 8}},
      {"op": "for", "var": "k", "from": 0, "to": "(8)", "step": "1", "kind": "serial", "body": [
        {"op": "copy", "from": {"name": "X", "at": ["k", "(0)", "0 :"]}, "to": {"name": "t", "at": ["0", "0:"]},
         "limit": ["4"], "when": "true"}]}
    ], "threads": 1, "grid": [1]}], "symbols": {}, "name": "a", "kiln": "tile/1", "options": {},
    "params": [{"access": "read", "name": "X", "dtype": "f32", "shape": [8, 4, 4], "may_alias": false}]})json");
  ASSERT_TRUE(program) << to_text(program.error());
  EXPECT_EQ(tile::write_program(*program), R"json({
  "kiln": "tile/1",
  "name": "a",
  "params": [
    {
      "name": "X",
      "dtype": "f32",
      "shape": ["8", "4", "4"],
      "access": "read"
    }
  ],
  "launches": [
    {
      "grid": ["1"],
      "threads": "1",
      "body": [
        {
          "op": "alloc",
          "name": "t",
          "space": "shared",
          "dtype": "f32",
          "shape": ["4", "4"]
        },
        {
          "op": "alloc",
          "name": "r",
          "space": "shared",
          "dtype": "f32",
          "shape": ["4", "4"],
          "layout": {"pad": 8}
        },
        {
          "op": "for",
          "var": "k",
          "to": "8",
          "body": [
            {
              "op": "copy",
              "from": "X[k, 0, 0:]",
              "to": "t[0, 0:]",
              "limit": ["4"],
              "when": "true"
            }
          ]
        }
      ]
    }
  ]
}
)json");
}

TEST(Builtins, NamesAndErrors) {
  EXPECT_EQ(tile::builtin_names(programs_folder),
            (std::vector<std::string>{"elementwise", "flash_attention", "gemm", "layernorm", "reduce", "rmsnorm", "softmax",
                                      "transpose"}));
  EXPECT_TRUE(tile::builtin_names("/nowhere").empty());
  const auto missing = tile::load_builtin(programs_folder, "gem");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_EQ(missing.error().context.at(0), "did you mean 'gemm'?");
  EXPECT_EQ(tile::load_builtin(programs_folder, "../programs/gemm").error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace kiln::test
