// Tiles that are read before they are certainly written: what starts as zeros, what is the program's mistake, and that
// nothing of it is ever called a bug of ours, on host and AMD targets.
#include "engine/lower/initial_values.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "engine/ir/tile/program.hpp"
#include "engine/specialize/specialize.hpp"

namespace kiln::lower {
namespace {

// Tile x of 64 floats in `space`, y beside it; X is read, Y written, n a scalar.
std::string text_of(const std::string& space, const std::string& body) {
  const auto tile = [&](const std::string& name) {
    return R"({"op": "alloc", "name": ")" + name + R"(", "space": ")" + space +
           R"(", "dtype": "f32", "shape": [64]})";
  };
  return R"({"kiln": "tile/1", "name": "one", "params": [{"name": "n", "scalar": true, "dtype": "i32"},
    {"name": "X", "dtype": "f32", "shape": [256], "access": "read"},
    {"name": "Y", "dtype": "f32", "shape": [256], "access": "write"}],
    "launches": [{"grid": [4], "threads": "1 if target.is_host else 64", "body": [)" +
         tile("x") + ", " + body + "]}]}";
}

bound::Program bound_for(const std::string& target, const std::string& text) {
  const auto program = tile::read_program(text);
  EXPECT_TRUE(program) << (program ? "" : to_text(program.error())) << text;
  const auto parsed = target::parse_target(target);
  Budget budget(10000000);
  auto made = specialize::specialize(*program, {}, *parsed, budget);
  EXPECT_TRUE(made) << (made ? "" : to_text(made.error())) << text;
  return made ? std::move(*made) : bound::Program{};
}

Result<Lowered> lowered(const bound::Program& program) {
  const auto target = target::parse_target(program.target);
  Budget budget(10000000);
  return lower(program, *target, 0, budget);
}

const std::string fill = R"({"op": "fill", "tile": "x", "value": 1})";
const std::string out = R"({"op": "copy", "from": "x", "to": "Y[bid.x * 64:]"})";
std::string map(const std::string& extent, const std::string& set, const std::string& value) {
  return R"({"op": "map", "index": ["i"], "extent": [)" + extent + R"(], "body": [{"set": ")" + set +
         R"(", "value": ")" + value + R"("}]})";
}
std::string loop(const std::string& to, const std::string& body) {
  return R"({"op": "for", "var": "k", "to": ")" + to + R"(", "body": [)" + body + "]}";
}
std::string branch(const std::string& condition, const std::string& then, const std::string& otherwise = "") {
  return R"({"op": "if", "condition": ")" + condition + R"(", "then": [)" + then + R"(], "else": [)" + otherwise +
         "]}";
}

std::string sets(const std::string& items) {
  return R"({"op": "map", "index": ["i"], "extent": [64], "body": [)" + items + "]}";
}

struct Case {
  const char* name;
  std::string body;
  int fills;            // statements that initialise
  const char* mistake;  // pointer of the diagnostic, "" for none
};

std::vector<Case> cases() {
  return {
      {"loop of unknown length", loop("cast(n, index)", fill) + "," + out, 1, ""},
      {"loop that runs", loop("3", fill) + "," + out, 0, ""},
      {"loop that never runs", loop("0", fill) + "," + out, 0, "/launches/0/body/2"},
      {"read in a loop that never runs", fill + "," + loop("0", out) + "," + out, 0, ""},
      {"read in a loop that never runs, not written there", loop("0", out) + "," + fill + "," + out, 0, ""},
      {"loop by the block", loop("bid.x", fill) + "," + out, 1, ""},
      {"one side of a condition", branch("bid.x == 0", fill) + "," + out, 1, ""},
      {"both sides", branch("n > 100", fill, fill) + "," + out, 0, ""},
      {"read and write under one condition", branch("n > 1", fill) + "," + branch("n > 1", out), 1, ""},
      {"read under a condition", branch("n > 1", out) + "," + fill + "," + out, 1, ""},
      {"half of it", map("32", "x[i]", "1.0") + "," + out, 1, ""},
      {"both halves", map("32", "x[i]", "1.0") + "," + map("32", "x[i + 32]", "2.0") + "," + out, 1, ""},
      {"one element", map("1", "x[i]", "1.0") + "," + out, 1, ""},
      {"an element that is known when it runs", map("1", "x[cast(n, index)]", "1.0") + "," + out, 1, ""},
      {"all of it", map("64", "x[i]", "1.0") + "," + out, 0, ""},
      {"backwards", map("64", "x[63 - i]", "1.0") + "," + out, 1, ""},
      {"by itself", map("64", "x[i]", "x[i] + 0.0") + "," + out, 0, "/launches/0/body/1"},
      {"by itself where a condition holds", map("64", "x[i]", "x[i] if n > 0 else 0.0") + "," + out, 1, ""},
      {"after it is read", out + "," + fill, 0, "/launches/0/body/1"},
      {"after it is read, in a loop", loop("2", out + "," + fill), 0, "/launches/0/body/1/body/0"},
      {"a part by copy", R"({"op": "copy", "from": "X[0:]", "to": "x[16:]"},)" + out, 1, ""},
      {"all by copy", R"({"op": "copy", "from": "X[250:]", "to": "x"},)" + out, 0, ""},
      {"read element by element", map("64", "Y[i]", "x[i]") + "," + fill, 0, "/launches/0/body/1"},
      {"read where indices leave it", map("64", "Y[i]", "x[cast(n, index)]") + "," + fill, 1, ""},
      {"set and read by one iteration",
       R"({"op": "map", "index": ["i"], "extent": [64], "body": [{"set": "x[i]", "value": "1.0"},
          {"set": "Y[i]", "value": "x[i]"}]})", 0, ""},
      {"set from both ends",
       R"({"op": "map", "index": ["i"], "extent": [32], "body": [{"set": "x[i]", "value": "1.0"},
          {"set": "x[63 - i]", "value": "2.0"}]},)" + out, 1, ""},
      {"on a condition", sets(R"({"set": "x[i]", "value": "1.0", "where": "i != n"})") + "," + out, 1, ""},
      {"on a condition, with what it holds",
       sets(R"({"set": "x[i]", "value": "x[i] + 1.0", "where": "i != n"})") + "," + out, 1, ""},
      {"all of it, then on a condition",
       sets(R"({"set": "x[i]", "value": "1.0"}, {"set": "x[i]", "value": "x[i] + 1.0", "where": "i != n"})") +
           "," + out, 0, ""},
      {"on a condition, then all of it",
       sets(R"({"set": "x[i]", "value": "1.0", "where": "i != n"}, {"set": "x[i]", "value": "1.0"})") + "," + out,
       1, ""},
      {"read by the condition", sets(R"({"set": "x[i]", "value": "1.0", "where": "x[i] > 0.0"})"), 0,
       "/launches/0/body/1"},
      {"a condition that always holds",
       sets(R"({"set": "x[i]", "value": "1.0", "where": "i < 64"})") + "," + out, 0, ""},
  };
}

int fills_of(const Lowered& made) {
  return static_cast<int>(std::count_if(made.decisions.begin(), made.decisions.end(),
                                        [](const Decision& one) { return one.step == "initial values"; }));
}

TEST(InitialValues, AreZeroWhereWritingIsNotProved) {
  for (const char* target : {"host", "gfx942", "gfx90a", "gfx1100"}) {
    for (const char* space : {"fragment", "shared", "local"}) {
      for (const Case& one : cases()) {
        SCOPED_TRACE(std::string(one.name) + ", " + space + ", " + target);
        const auto made = lowered(bound_for(target, text_of(space, one.body)));
        if (std::string(one.mistake).empty()) {
          ASSERT_TRUE(made) << to_text(made.error());
          EXPECT_EQ(fills_of(*made), one.fills);
          continue;
        }
        ASSERT_FALSE(made);
        EXPECT_EQ(made.error().code, ErrorCode::program_invalid) << to_text(made.error());
        ASSERT_EQ(made.error().diagnostics.size(), 1u) << to_text(made.error());
        EXPECT_EQ(made.error().diagnostics[0].pointer, one.mistake);
        EXPECT_EQ(made.error().diagnostics[0].message, "the tile 'x' is read before anything is written to it");
      }
    }
  }
}

TEST(InitialValues, AProductNeedsWhatItAddsTo) {
  const std::string text = R"({"kiln": "tile/1", "name": "product", "params": [
    {"name": "Y", "dtype": "f32", "shape": [64, 64], "access": "write"}], "launches": [{"grid": [1],
    "threads": "1 if target.is_host else 64", "body": [
      {"op": "alloc", "name": "a", "space": "fragment", "dtype": "f32", "shape": [64, 64]},
      {"op": "alloc", "name": "c", "space": "fragment", "dtype": "f32", "shape": [64, 64]},
      {"op": "fill", "tile": "a", "value": 0}, {"op": "for", "var": "k", "to": "4", "body": [
        {"op": "gemm", "a": "a", "b": "a", "c": "c"}]},
      {"op": "copy", "from": "c", "to": "Y[0:, 0:]"}]}]})";
  for (const char* target : {"host", "gfx942"}) {
    const auto made = lowered(bound_for(target, text));
    ASSERT_FALSE(made);
    ASSERT_EQ(made.error().diagnostics.size(), 1u) << to_text(made.error());
    EXPECT_EQ(made.error().code, ErrorCode::program_invalid);
    EXPECT_EQ(made.error().diagnostics[0].pointer, "/launches/0/body/3/body/0");
    EXPECT_NE(made.error().diagnostics[0].hint.find("clear"), std::string::npos);
  }
}

TEST(InitialValues, AFragmentThatNoRegistersHoldIsTold) {
  std::string text = text_of("fragment", R"({"op": "copy", "from": "X[0:]", "to": "x"},)" + out);
  text.replace(text.find("[64]"), 4, "[67108864]");
  for (const char* target : {"gfx942", "gfx1100", "host"}) {
    const auto made = lowered(bound_for(target, text));
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, ErrorCode::program_invalid) << to_text(made.error());
    ASSERT_FALSE(made.error().diagnostics.empty());
    EXPECT_EQ(made.error().diagnostics[0].pointer.substr(0, 11), "/launches/0") << to_text(made.error());
  }
}

// Two waves on gfx1100: no barrier can stand inside of a map.
TEST(InitialValues, IterationsThatMeetAreToldAtTheirMap) {
  const std::pair<const char*, ErrorCode> cases[] = {{"x[63 - i]", ErrorCode::program_invalid},
                                                     {"x[min(max(i + cast(n, index), 0), 63)]", ErrorCode::unsupported}};
  for (const auto& [value, code] : cases) {
    for (const char* space : {"fragment", "shared"}) {
      const std::string body = fill + R"(, {"op": "map", "index": ["i"], "extent": [64], "body": [
        {"set": "x[i]", "value": "1.0"}, {"set": "Y[i]", "value": ")" + value + R"("}]})";
      const auto made = lowered(bound_for("gfx1100", text_of(space, body)));
      ASSERT_FALSE(made) << value;
      EXPECT_EQ(made.error().code, code) << to_text(made.error());
      ASSERT_EQ(made.error().diagnostics.size(), 1u);
      EXPECT_EQ(made.error().diagnostics[0].pointer, "/launches/0/body/2");
      EXPECT_TRUE(lowered(bound_for("host", text_of(space, body))));
    }
  }
}

// Loops whose combinations of first and last iterations are more than are run through.
TEST(InitialValues, DeepLoopsAreNotCalledABug) {
  for (const int loops : {9, 20}) {
    std::string body = map("64", "x[i]", "x[i] + 1.0");
    for (int depth = 0; depth < loops; ++depth) {
      body = R"({"op": "for", "var": "k)" + std::to_string(depth) + R"(", "to": "9", "body": [)" + body + "]}";
    }
    const auto registers = lowered(bound_for("gfx942", text_of("fragment", fill + "," + body + "," + out)));
    EXPECT_TRUE(registers) << to_text(registers.error());
    const auto made = lowered(bound_for("gfx942", text_of("shared", fill + "," + body + "," + out)));
    ASSERT_FALSE(made) << loops;
    EXPECT_EQ(made.error().code, ErrorCode::unsupported) << to_text(made.error());
    ASSERT_FALSE(made.error().diagnostics.empty());
    EXPECT_EQ(made.error().diagnostics[0].pointer.substr(0, 18), "/launches/0/body/2");
  }
}

// Random bodies of the statements above: compiled, refused with a pointer or not built yet; never a bug of ours.
class Bodies {
 public:
  explicit Bodies(std::uint64_t seed) : random_(seed) {}
  std::string body(int depth) {
    std::string text = statement(depth);
    for (std::uint64_t i = random_() % 3; i > 0; --i) text += "," + statement(depth);
    return text;
  }
  std::string statement(int depth) {
    const std::string tile = pick({"x", "y"}), other = tile == "x" ? "y" : "x";
    switch (random_() % (depth > 0 ? 13 : 9)) {
      case 0: return R"({"op": "fill", "tile": ")" + tile + R"(", "value": 2})";
      case 1: return R"({"op": "copy", "from": "X[bid.x * 64:]", "to": ")" + tile + R"("})";
      case 2: return R"({"op": "copy", "from": "X[7:]", "to": ")" + tile + pick({"[16:]", "[63:]", "[0:]"}) + R"("})";
      case 3: return R"({"op": "copy", "from": ")" + tile + R"(", "to": "Y[bid.x * 64:]"})";
      case 4: return R"({"op": "copy", "from": ")" + tile + R"(", "to": ")" + other + R"("})";
      case 5: return map(pick({"64", "32", "1", "63"}), tile + "[i]", pick({"1.0", other + "[i]", tile + "[i] * 2.0"}));
      case 6: return map("16", tile + pick({"[i * 4]", "[63 - i]", "[i + 8]"}), pick({"3.0", other + "[63 - i]"}));
      case 7: return map("64", "Y[bid.x * 64 + i]", tile + pick({"[i]", "[63 - i]"}));
      case 8:
        return R"({"op": "map", "index": ["i"], "extent": [64], "body": [{"set": ")" + tile + pick({"[i]", "[63 - i]"}) +
               R"(", "value": "1.0"}, {"set": "Y[i]", "value": ")" + tile +
               pick({"[i]", "[63 - i]", "[cast(n, index)]"}) + R"("}]})";
      case 9: case 10:
        return loop(pick({"0", "1", "2", "cast(n, index)", "bid.x", "bid.x + 1"}), renamed(body(depth - 1)));
      case 11: return branch(pick({"n > 1", "bid.x == 0"}), body(depth - 1));
      default: return branch("n > 3", body(depth - 1), body(depth - 1));
    }
  }

 private:
  std::string pick(std::vector<std::string> of) { return of[random_() % of.size()]; }
  // Loops inside of a loop need another variable.
  static std::string renamed(std::string text) {
    const std::string name = R"("var": "k)";
    for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at + name.size() + 1)) {
      text.insert(at + name.size(), "k");
    }
    return text;
  }
  std::mt19937_64 random_;
};

TEST(InitialValues, RandomBodiesAreNeverABugOfOurs) {
  int compiled = 0, refused = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Bodies bodies(seed);
    const char* const spaces[] = {"fragment", "shared", "local"};
    const std::string space = spaces[seed % 3];
    const std::string y = R"({"op": "alloc", "name": "y", "space": "shared", "dtype": "f32", "shape": [64]},)";
    // Both tiles are written somewhere, which binding asks for.
    const std::string last = R"({"op": "fill", "tile": "y", "value": 0})";
    const std::string text = text_of(space, y + bodies.body(3) + "," + out + "," + fill + "," + last + "," + out);
    for (const char* target : {"host", "gfx942", "gfx1100"}) {
      const auto program = bound_for(target, text);
      if (program.launches.empty()) continue;
      const auto made = lowered(program);
      if (made) { ++compiled; continue; }
      ++refused;
      EXPECT_TRUE(made.error().code == ErrorCode::program_invalid || made.error().code == ErrorCode::unsupported)
          << "seed " << seed << ", " << target << ": " << to_text(made.error()) << "\n" << text;
      if (made.error().code != ErrorCode::program_invalid) continue;
      EXPECT_FALSE(made.error().diagnostics.empty() || made.error().diagnostics[0].pointer.empty()) << text;
    }
  }
  EXPECT_GT(compiled, 100);
  EXPECT_GT(refused, 20);
}

}  // namespace
}  // namespace kiln::lower
