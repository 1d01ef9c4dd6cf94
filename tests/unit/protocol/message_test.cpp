// Lines to requests, replies to lines.
#include <gtest/gtest.h>

#include "api/protocol/message.hpp"

namespace kiln::protocol {
namespace {

Request good(const std::string& text) {
  auto line = parse_line(text, Limits{});
  EXPECT_EQ(line.items.size(), 1u) << text;
  if (auto* bad = std::get_if<BadRequest>(&line.items.at(0))) ADD_FAILURE() << text << ": " << to_text(bad->error);
  return std::get<Request>(std::move(line.items.at(0)));
}

BadRequest bad(const std::string& text) {
  auto line = parse_line(text, Limits{});
  EXPECT_EQ(line.items.size(), 1u) << text;
  EXPECT_TRUE(std::holds_alternative<BadRequest>(line.items.at(0))) << text;
  return std::get<BadRequest>(std::move(line.items.at(0)));
}

TEST(Message, ARequestHasItsParts) {
  const auto request = good(R"({"jsonrpc":"2.0","id":"a","method":"m","params":{"deadline_ms":5,"x":[1]},"fds":2})");
  EXPECT_EQ(request.id, "a");
  EXPECT_FALSE(request.notification);
  EXPECT_EQ(request.method, "m");
  EXPECT_EQ(request.fds, 2);
  EXPECT_EQ(request.deadline_ms, 5);
  EXPECT_EQ(request.params.at("x"), Json::array({1}));
  const auto notification = good(R"({"jsonrpc":"2.0","method":"m"})");
  EXPECT_TRUE(notification.notification);
  EXPECT_TRUE(notification.params.is_object());
  EXPECT_EQ(notification.deadline_ms, -1);
}

TEST(Message, AWrongRequestKeepsItsIdAndItsDescriptors) {
  const auto request = bad(R"({"jsonrpc":"2.0","id":7,"method":"m","params":[],"fds":3})");
  EXPECT_EQ(request.id, 7);
  EXPECT_EQ(request.fds, 3);
  EXPECT_EQ(request.error.code, ErrorCode::protocol_error);
  for (const char* text : {R"({"jsonrpc":"2.0","id":null,"method":"m"})", R"({"jsonrpc":"1.0","id":1,"method":"m"})",
                           R"({"jsonrpc":"2.0","id":1})",
                           R"({"jsonrpc":"2.0","id":1.5,"method":"m"})", R"({"jsonrpc":"2.0","id":1,"method":"m","more":1})",
                           R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"deadline_ms":-1}})",
                           R"({"jsonrpc":"2.0","id":1,"method":"m","fds":17})", "7", "[]"})
    EXPECT_EQ(bad(text).error.code, ErrorCode::protocol_error) << text;
  EXPECT_EQ(bad(R"({"jsonrpc":"2.0","id":")" + std::string(129, 'x') + R"(","method":"m"})").error.code, ErrorCode::protocol_error);
  EXPECT_EQ(bad("{").error.code, ErrorCode::parse_error);
}

TEST(Message, ABatchIsAsLongAsItsArray) {
  const auto line = parse_line(R"([{"jsonrpc":"2.0","id":1,"method":"m"},7,{"jsonrpc":"2.0","method":"m"}])", Limits{});
  EXPECT_TRUE(line.batch);
  ASSERT_EQ(line.items.size(), 3u);
  EXPECT_TRUE(std::holds_alternative<Request>(line.items[0]));
  EXPECT_TRUE(std::holds_alternative<BadRequest>(line.items[1]));
  EXPECT_TRUE(std::get<Request>(line.items[2]).notification);
  Limits limits;
  limits.batch_max = 1;
  EXPECT_FALSE(parse_line("[7,8]", limits).batch);
}

TEST(Message, RepliesAreLines) {
  EXPECT_EQ(Json::parse(result_line(3, Json{{"a", 1}})), Json::parse(R"({"jsonrpc":"2.0","id":3,"result":{"a":1}})"));
  const auto error = error_line("x", Error(ErrorCode::busy, "wait", true));
  EXPECT_EQ(error.find('\n'), error.size() - 1);
  EXPECT_EQ(Json::parse(error)["error"]["data"]["code"], "busy");
  EXPECT_EQ(Json::parse(notification_line("$/progress", Json{{"id", 1}}))["method"], "$/progress");
}

TEST(LineSplitter, CutsAStreamWhereverItIsCut) {
  const std::string stream = "one\r\n\n  \ntwo\nthree is longer\nrest";
  for (std::size_t step = 1; step <= stream.size(); ++step) {
    LineSplitter splitter(20);
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < stream.size(); at += step) ASSERT_TRUE(splitter.feed(std::string_view(stream).substr(at, step), lines));
    EXPECT_EQ(lines, (std::vector<std::string>{"one", "two", "three is longer"})) << step;
    EXPECT_EQ(splitter.rest(), "rest");
  }
}

TEST(LineSplitter, RefusesALineOverItsLimit) {
  LineSplitter splitter(4);
  std::vector<std::string> lines;
  EXPECT_TRUE(splitter.feed("1234\n", lines));
  EXPECT_TRUE(splitter.feed("123", lines));
  EXPECT_FALSE(splitter.feed("45", lines));
  EXPECT_EQ(lines, std::vector<std::string>{"1234"});
}

}  // namespace
}  // namespace kiln::protocol
