// The reader of untrusted JSON: its limits, its errors, and that it reads what any JSON reader reads.
#include <gtest/gtest.h>

#include <random>

#include "api/protocol/json.hpp"

namespace kiln::protocol {
namespace {

Error refused(const std::string& text, const Limits& limits = {}) {
  auto value = parse_json(text, limits);
  EXPECT_FALSE(value) << text;
  return value ? Error(ErrorCode::internal, "accepted") : std::move(value).error();
}

TEST(Json, ReadsOrdinaryValues) {
  for (const char* text : {"null", "true", "-7", "1.5e3", R"("a\u00e9")", "[]", "{}", R"([1,[2,{"a":[]}]])",
                           R"({"b":{"a":1},"a":{"a":2}})"}) {
    const auto value = parse_json(text, Limits{});
    ASSERT_TRUE(value) << text << ": " << to_text(value.error());
    EXPECT_EQ(*value, Json::parse(text)) << text;
  }
}

TEST(Json, EachKeyOnceInEachObject) {
  for (const char* text : {R"({"a":1,"a":1})", R"({"b":{"a":1,"c":2,"a":3}})",
                           R"([{"a":1},{"a":{},"b":1,"a":2}])", R"({"a":[{"a":1}],"a":0})",
                           R"({"":1,"":2})", R"({"a":1,"\u0061":2})"}) {
    const auto error = refused(text);
    EXPECT_EQ(error.code, ErrorCode::parse_error) << text;
    EXPECT_NE(error.message.find("duplicate key"), std::string::npos) << error.message;
  }
  EXPECT_TRUE(parse_json(R"([{"a":1},{"a":2},{"a":{"a":{"a":3}}}])", Limits{}));  // equal keys of different objects
}

TEST(Json, RefusesWhatIsOverALimit) {
  Limits limits;
  limits.depth_max = 3;
  limits.nodes_max = 5;
  EXPECT_TRUE(parse_json("[[[1]]]", limits));
  EXPECT_NE(refused("[[[[1]]]]", limits).message.find("nested too deeply"), std::string::npos);
  EXPECT_TRUE(parse_json("[1,2,3,4]", limits));
  EXPECT_NE(refused("[1,2,3,4,5]", limits).message.find("too many values"), std::string::npos);
  EXPECT_NE(refused(R"({"a":1,"b":[2,3,4,5]})", limits).message.find("too many values"), std::string::npos);
}

TEST(Json, RefusesNumbersOutOfRange) {
  EXPECT_TRUE(parse_json("9007199254740991", Limits{}));
  EXPECT_TRUE(parse_json("-9007199254740991", Limits{}));
  for (const char* text : {"9007199254740992", "-9007199254740992", "18446744073709551615", "99999999999999999999",
                           "-99999999999999999999", "1e999", "-1e999"})
    EXPECT_EQ(refused(text).code, ErrorCode::parse_error) << text;
}

TEST(Json, ErrorsSayWhere) {
  for (const auto& [text, offset] : std::vector<std::pair<std::string, std::size_t>>{{"[1,]", 3}, {"{\"a\" 1}", 5}, {"[1] x", 4}}) {
    const auto error = refused(text);
    ASSERT_EQ(error.diagnostics.size(), 1u) << text;
    ASSERT_TRUE(error.diagnostics[0].offset) << text;
    EXPECT_EQ(*error.diagnostics[0].offset, offset) << text;
  }
  EXPECT_EQ(refused("\"\xff\"").code, ErrorCode::parse_error);
  EXPECT_EQ(refused("").code, ErrorCode::parse_error);
}

Json random_value(std::mt19937_64& random, int depth) {
  switch (random() % (depth > 0 ? 8 : 5)) {
    case 0: return nullptr;
    case 1: return random() % 2 == 0;
    case 2: return std::int64_t(random() % 20000) - 10000;
    case 3: return double(random() % 1000000) / 1024.0 + 0.5;
    case 4: return std::string(random() % 20, char('a' + random() % 26));
    case 5: case 6: {
      Json object = Json::object();
      for (auto n = random() % 6; n > 0; --n) object["k" + std::to_string(random() % 50)] = random_value(random, depth - 1);
      return object;
    }
    default: {
      Json array = Json::array();
      for (auto n = random() % 6; n > 0; --n) array.push_back(random_value(random, depth - 1));
      return array;
    }
  }
}

TEST(Json, ReadsWhatItWrote) {
  constexpr std::uint64_t seed = 7;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 500; ++i) {
    const auto value = random_value(random, 6);
    const auto text = dump(value);
    const auto again = parse_json(text, Limits{});
    ASSERT_TRUE(again) << text << ": " << to_text(again.error());
    ASSERT_EQ(*again, value) << text;
    for (std::size_t cut = 1; cut < text.size() && value.is_structured(); cut += 1 + text.size() / 8)
      ASSERT_FALSE(parse_json(text.substr(0, cut), Limits{})) << text.substr(0, cut);
  }
}

TEST(Json, ErrorsSurviveTheirTextForm) {
  Error error(ErrorCode::resource_limit, "too\nmuch", true);
  error.context = {"a log", "of two lines"};
  Diagnostic d;
  d.pointer = "/params/x";
  d.message = "wrong";
  d.expected = "right";
  d.offset = 3;
  d.length = 2;
  error.diagnostics.push_back(d);
  const auto back = error_from_json(error_json(error));
  EXPECT_EQ(back.code, error.code);
  EXPECT_EQ(back.message, "too\\nmuch");
  EXPECT_TRUE(back.retryable);
  EXPECT_EQ(back.context, error.context);
  ASSERT_EQ(back.diagnostics.size(), 1u);
  EXPECT_EQ(back.diagnostics[0].pointer, d.pointer);
  EXPECT_EQ(back.diagnostics[0].expected, d.expected);
  EXPECT_EQ(back.diagnostics[0].offset, d.offset);
  for (const char* text : {"null", "[]", "{}", R"({"data":7})", R"({"data":{"code":"none such","context":[1],"diagnostics":[1]}})"})
    EXPECT_EQ(error_from_json(Json::parse(text)).code, ErrorCode::protocol_error) << text;
}

TEST(Json, FieldsAreLocated) {
  const auto object = Json::parse(R"({"size":5,"name":"x","flag":true,"list":[1,2]})");
  const Fields fields(object, "/params");
  EXPECT_EQ(*fields.integer("size", 0, 5), 5);
  EXPECT_EQ(fields.integer("size", 0, 4).error().diagnostics.at(0).pointer, "/params/size");
  EXPECT_FALSE(fields.integer("name", 0, 4));
  EXPECT_EQ(*fields.text_or("missing", "fallback"), "fallback");
  EXPECT_FALSE(fields.text("missing"));
  EXPECT_FALSE(fields.array("list", 1));
  EXPECT_TRUE(fields.array("list", 2));
  EXPECT_EQ(fields.only({"sise", "name", "flag", "list"}).error().diagnostics.at(0).hint, "did you mean sise?");
  const Json number = 7;
  EXPECT_FALSE(Fields(number, "").only({"a"}));
  EXPECT_FALSE(Fields(number, "").has("a"));
}

}  // namespace
}  // namespace kiln::protocol
