// Whatever a program leaves unwritten in its tiles, it never sees what other launches computed there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/support/host_runner.hpp"

namespace kiln::test {
namespace {

constexpr std::uint32_t secret = 0x5EC4E700;
constexpr std::size_t blocks = 4, tile_words = 16384, words = blocks * tile_words;

std::string text_of(const std::string& space, const std::string& statements, const std::string& name) {
  return R"({"kiln": "tile/1", "name": ")" + name + R"(", "params": [{"name": "n", "scalar": true, "dtype": "i32"},
    {"name": "X", "dtype": "f32", "shape": [65536], "access": "read"},
    {"name": "Y", "dtype": "f32", "shape": [65536], "access": "write"}], "launches": [{"grid": [4], "threads": 1,
    "body": [{"op": "alloc", "name": "x", "space": ")" + space + R"(", "dtype": "f32", "shape": [16384]}, )" +
         statements + R"(, {"op": "copy", "from": "x", "to": "Y[bid.x * 16384:]"}]}]})";
}

std::vector<Bytes> arguments(std::uint32_t word) {
  Bytes scalar(4, 0), filled(words * 4), written(words * 4, 0xff);
  for (std::size_t i = 0; i < words; ++i) std::memcpy(filled.data() + i * 4, &word, 4);
  return {scalar, filled, written};
}
std::uint32_t word_at(const Bytes& bytes, std::size_t i) {
  std::uint32_t word;
  std::memcpy(&word, bytes.data() + i * 4, 4);
  return word;
}

TEST(InitialValues, AreNobodyElses) {
  const std::string fill = R"({"op": "fill", "tile": "x", "value": 0})";
  const std::pair<const char*, std::string> spies[] = {
      {"a loop that does not run", R"j({"op": "for", "var": "k", "to": "cast(n, index)", "body": [)j" + fill + "]}"},
      {"a condition that does not hold", R"({"op": "if", "condition": "n > 100", "then": [)" + fill + "]}"},
      {"a condition for one block", R"({"op": "if", "condition": "bid.x == 0", "then": [)" + fill + "]}"},
      {"one element",
       R"({"op": "map", "index": ["i"], "extent": [1], "body": [{"set": "x[i]", "value": "1.0"}]})"},
      {"an element known at run time",
       R"({"op": "map", "index": ["i"], "extent": [1], "body": [{"set": "x[cast(n, index)]", "value": "1.0"}]})"},
      {"a write outside of it",
       R"({"op": "map", "index": ["i"], "extent": [1], "body": [{"set": "x[cast(n, index) - 1]", "value": "1.0"}]})"},
      {"every second element",
       R"({"op": "map", "index": ["i"], "extent": [8192], "body": [{"set": "x[i * 2]", "value": "1.0"}]})"},
      {"a region", R"({"op": "copy", "from": "X[0:]", "to": "x[16000:]"})"},
      {"a part that moves",
       R"({"op": "for", "var": "k", "to": "2", "body": [{"op": "map", "index": ["i"], "extent": [100],
          "body": [{"set": "x[k * 200 + i]", "value": "1.0"}]}]})"},
  };
  HostRunner runner(1);
  for (const char* space : {"fragment", "shared", "local"}) {
    const auto victim = bind_text(
        text_of(space, R"({"op": "copy", "from": "X[bid.x * 16384:]", "to": "x"})", "victim"), {});
    ASSERT_TRUE(victim) << to_text(victim.error());
    for (const auto& [name, statements] : spies) {
      SCOPED_TRACE(std::string(name) + ", " + space);
      const auto spy = bind_text(text_of(space, statements, "spy"), {});
      ASSERT_TRUE(spy) << to_text(spy.error());
      const auto before = runner.run_once(*victim, arguments(secret));
      ASSERT_TRUE(before) << to_text(before.error());
      ASSERT_EQ(word_at((*before)[2], words - 1), secret);
      const auto seen = runner.run_once(*spy, arguments(0x40000000));  // 2.0
      ASSERT_TRUE(seen) << to_text(seen.error());
      std::size_t others = 0, zeros = 0;
      for (std::size_t i = 0; i < words; ++i) {
        const std::uint32_t word = word_at((*seen)[2], i);
        others += word != 0 && word != 0x3f800000 && word != 0x40000000 ? 1 : 0;
        zeros += word == 0 ? 1 : 0;
      }
      EXPECT_EQ(others, 0u);
      EXPECT_GE(zeros, words / 2);
    }
  }
}

}  // namespace
}  // namespace kiln::test
