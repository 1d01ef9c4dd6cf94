// Dynamic symbols from the program's text to the bound program and back to known sizes.
#include <random>

#include "engine/ir/bound/symbols.hpp"
#include "tests/unit/tile/support.hpp"

namespace kiln::test {
namespace {

// Rows of X [S, 64] times 2, BM rows a block; `symbols`, `tunables`, `shape` and `statements` as given.
struct Text {
  std::string symbols = R"({"S": {"dynamic": true}})";
  std::string tunables = R"("BM": {"default": "64 if S <= 4096 else 128"})";
  std::string constraints;
  std::string shape = R"(["S", 64])", tile = R"(["BM", 64])", grid = R"json(["ceildiv(S, BM)"])json", threads = "256";
  std::string statements;
  [[nodiscard]] std::string json() const {
    return R"({"kiln": "tile/1", "name": "twice", "symbols": )" + symbols + R"(, "params": [
      {"name": "X", "dtype": "f32", "shape": )" + shape + R"(, "access": "read"},
      {"name": "Y", "dtype": "f32", "shape": )" + shape + R"(, "access": "write"}],
      "tunables": {)" + tunables + R"(}, "constraints": [)" + constraints + R"(],
      "launches": [{"grid": )" + grid + R"(, "threads": )" + threads + R"(, "body": [
        {"op": "alloc", "name": "x", "space": "fragment", "dtype": "f32", "shape": )" + tile + R"(},)" + statements + R"(
        {"op": "copy", "from": "X[bid.x * BM:, 0:]", "to": "x"},
        {"op": "map", "index": ["i", "j"], "extent": ["BM", 64], "body": [{"set": "x[i, j]", "value": "x[i, j] * 2.0"}]},
        {"op": "copy", "from": "x", "to": "Y[bid.x * BM:, 0:]"}]}]})";
  }
};

specialize::Bindings set(std::map<std::string, std::string> values) { return {std::move(values), {}, {}}; }

Result<bound::Program> bound_text(const Text& text, const std::map<std::string, std::string>& values) {
  return bind_text(text.json(), set(values));
}

void expect_mistake(const Result<bound::Program>& result, const std::string& pointer, const std::string& message,
                    const std::string& hint) {
  ASSERT_FALSE(result);
  const Diagnostic* found = find(result.error(), message);
  ASSERT_NE(found, nullptr) << to_text(result.error());
  EXPECT_EQ(found->pointer, pointer) << to_text(result.error());
  EXPECT_NE(found->hint.find(hint), std::string::npos) << found->hint;
}

TEST(DynamicSymbols, AreReadAndWritten) {
  Text text;
  text.symbols = R"({"S": {"dynamic": true, "multiple_of": 4, "max": 4096}, "T": {}})";
  const auto program = tile::read_program(text.json());
  ASSERT_TRUE(program) << to_text(program.error());
  EXPECT_TRUE(program->symbols[0].dynamic);
  EXPECT_FALSE(program->symbols[1].dynamic);
  const auto written = tile::write_program(*program);
  EXPECT_NE(written.find("\"dynamic\": true"), std::string::npos);
  const auto again = tile::read_program(written);
  ASSERT_TRUE(again) << to_text(again.error());
  EXPECT_EQ(tile::write_program(*again), written);
}

TEST(DynamicSymbols, StayInTheBoundProgram) {
  const auto program = bound_text({}, {{"S", "1000"}});
  ASSERT_TRUE(program) << to_text(program.error());
  ASSERT_EQ(program->symbols.size(), 1u);
  EXPECT_EQ(program->symbols[0].max, bound::Symbol::symbol_max);
  EXPECT_EQ(bound::print(program->tensors[0].shape[0], program->symbols), "S");
  EXPECT_EQ(bound::print(program->launches[0].grid[0], program->symbols), "ceildiv(S, 64)");
  EXPECT_TRUE(program->launches[0].grid[1].is(1));
  EXPECT_EQ(program->tensors[0].bytes(std::vector<std::int64_t>{10}), 10 * 64 * 4);
}

// What the key hashes depends on the bucket that the value falls into, and on nothing else of it.
TEST(DynamicSymbols, ValuesInOneBucketAreOneObject) {
  const auto encoded = [](const std::string& s) {
    const auto program = bound_text({}, {{"S", s}});
    EXPECT_TRUE(program);
    return program ? bound::encode(*program, false) : Bytes();
  };
  EXPECT_EQ(encoded("1"), encoded("4096"));
  EXPECT_EQ(encoded("4097"), encoded("100000"));
  EXPECT_NE(encoded("4096"), encoded("4097"));
}

TEST(DynamicSymbols, NeedNoValueWhereNothingAsks) {
  const auto program = bound_text({}, {{"BM", "32"}});
  ASSERT_TRUE(program) << to_text(program.error());
  EXPECT_EQ(bound::print(program->launches[0].grid[0], program->symbols), "ceildiv(S, 32)");
}

TEST(DynamicSymbols, ADefaultThatNeedsAValueSaysSo) {
  expect_mistake(bound_text({}, {}), "/tunables/BM/default", "'S' has no value", "set S=…, or set the tunable");
  Text text;
  text.constraints = R"("S % 2 == 0")";
  expect_mistake(bound_text(text, {{"BM", "64"}}), "/constraints/0", "'S' has no value", "set S=…");
  expect_mistake(bound_text(text, {{"S", "3"}, {"BM", "64"}}), "/constraints/0", "does not hold", "");
  EXPECT_TRUE(bound_text(text, {{"S", "4"}, {"BM", "64"}}));
}

TEST(DynamicSymbols, HaveTheirPlaces) {
  const std::string hint = "'S' is dynamic: use a tunable";
  Text text;
  text.tile = R"(["S", 64])";
  expect_mistake(bound_text(text, {{"S", "64"}}), "/launches/0/body/0/shape/0", "known when the kernel is compiled", hint);
  text = {};
  text.threads = R"("S")";
  expect_mistake(bound_text(text, {{"S", "64"}}), "/launches/0/threads", "known when the kernel is compiled", hint);
  const auto with = [](const std::string& statement) {
    Text made;
    made.statements = statement + ",";
    return bound_text(made, {{"S", "64"}});
  };
  const std::string at = "/launches/0/body/1";
  expect_mistake(with(R"({"op": "fill", "tile": "x", "value": 0, "when": "S > 5"})"), at + "/when",
                 "known when the kernel is compiled", hint);
  expect_mistake(with(R"({"op": "map", "index": ["i"], "extent": ["S"], "body": [{"set": "x[i, 0]", "value": "0.0"}]})"),
                 at + "/extent/0", "known when the kernel is compiled", hint);
  expect_mistake(with(R"({"op": "for", "var": "k", "to": 64, "step": "S", "body": []})"), at + "/step",
                 "known when the kernel is compiled", hint);
  expect_mistake(with(R"({"op": "for", "var": "k", "to": "S", "kind": "unrolled", "body": []})"), at,
                 "an unrolled loop has bounds", "leave out");
  EXPECT_TRUE(with(R"json({"op": "for", "var": "k", "to": "S", "step": 2, "body": [{"op": "fill", "tile": "x", "value": "cast(S, f32)"}]})json"));
  EXPECT_TRUE(with(R"({"op": "if", "condition": "S > 5", "then": [{"op": "fill", "tile": "x", "value": 1}]})"));
}

TEST(DynamicSymbols, SizesAreProvedForAllTheirValues) {
  Text text;
  text.shape = R"(["S", "S"])";
  expect_mistake(bound_text(text, {{"S", "64"}}), "/params/0", "larger than 2^62 bytes", "promise a \"max\"");
  text.symbols = R"({"S": {"dynamic": true, "max": 1000000}})";
  EXPECT_TRUE(bound_text(text, {{"S", "64"}}));
  text.shape = R"(["S - 1", 64])";
  expect_mistake(bound_text(text, {{"S", "64"}}), "/params/0/shape/0", "out of range for some values", "promise");
  text.symbols = R"({"S": {"dynamic": true, "min": 1, "max": 1000000}})";
  EXPECT_TRUE(bound_text(text, {{"S", "64"}}));
  text.symbols = R"({"S": {"dynamic": true, "min": 5, "max": 7, "multiple_of": 8}})";
  expect_mistake(bound_text(text, {{"BM", "64"}}), "/symbols/S", "no value keeps the promises", "");
}

TEST(DynamicSymbols, ValuesAreCheckedAgainstTheirPromises) {
  Text text;
  text.symbols = R"({"S": {"dynamic": true, "min": 8, "max": 4096, "multiple_of": 8}})";
  const auto program = bound_text(text, {{"BM", "64"}});
  ASSERT_TRUE(program) << to_text(program.error());
  EXPECT_TRUE(bound::with_values(*program, std::vector<std::int64_t>{64}));
  for (const std::int64_t wrong : {0, 12, 4104, -8}) {
    const auto refused = bound::with_values(*program, std::vector<std::int64_t>{wrong});
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(refused.error().diagnostics.at(0).pointer, "/symbols/S");
  }
  EXPECT_FALSE(bound::with_values(*program, std::vector<std::int64_t>{}));
  EXPECT_FALSE(bound_text(text, {{"S", "12"}, {"BM", "64"}})) << "what is set must keep the promise too";
}

TEST(DynamicSymbols, AGridBeyondTheLimitsIsFoundAtTheLaunch) {
  Text text;
  text.grid = R"(["S * 8", "S"])";
  const auto program = bound_text(text, {{"BM", "64"}});
  ASSERT_TRUE(program) << to_text(program.error());
  EXPECT_TRUE(bound::with_values(*program, std::vector<std::int64_t>{1000}));
  const auto refused = bound::with_values(*program, std::vector<std::int64_t>{std::int64_t(1) << 30});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().diagnostics.at(0).pointer, "/launches/0/grid");
}

// Putting values in gives what binding a static symbol would have given.
TEST(DynamicSymbols, WithValuesIsTheStaticProgram) {
  Text text;
  text.statements = R"json({"op": "let", "name": "rest", "value": "S - bid.x * BM"},
    {"op": "if", "condition": "rest < BM && S > 3", "then": [{"op": "fill", "tile": "x", "value": "cast(S, f32)"}]},)json";
  Text known = text;
  known.symbols = R"({"S": {}})";
  const auto program = bound_text(text, {{"BM", "64"}});
  ASSERT_TRUE(program) << to_text(program.error());
  for (const std::int64_t s : {1, 63, 64, 1000}) {
    const auto made = bound::with_values(*program, std::vector<std::int64_t>{s});
    const auto wanted = bound_text(known, {{"BM", "64"}, {"S", std::to_string(s)}});
    ASSERT_TRUE(made && wanted);
    EXPECT_TRUE(bound::check(*made));
    EXPECT_EQ(bound::values(made->tensors[0].shape), bound::values(wanted->tensors[0].shape));
    EXPECT_EQ(bound::values(made->tensors[0].strides), bound::values(wanted->tensors[0].strides));
    EXPECT_EQ(bound::values(made->launches[0].grid), bound::values(wanted->launches[0].grid));
    EXPECT_EQ(bound::print(*made).find("S"), std::string::npos) << bound::print(*made);
  }
}

TEST(DynamicSymbols, EncodeAndDecode) {
  Text text;
  text.symbols = R"({"S": {"dynamic": true, "max": 1000000}})";
  text.shape = R"(["S if S < 100 else S + 1", 64])";
  const auto program = bound_text(text, {{"S", "5"}});
  ASSERT_TRUE(program) << to_text(program.error());
  const auto bytes = bound::encode(*program, true);
  const auto decoded = bound::decode(bytes);
  ASSERT_TRUE(decoded) << to_text(decoded.error());
  EXPECT_EQ(bound::encode(*decoded, true), bytes);
  EXPECT_EQ(bound::print(*decoded), bound::print(*program));
  EXPECT_EQ(program->tensors[0].shape[0].at(std::vector<std::int64_t>{99}), 99);
  EXPECT_EQ(program->tensors[0].shape[0].at(std::vector<std::int64_t>{100}), 101);
}

// Damaged programs that decode are sound: they take values, and become programs without symbols.
TEST(DynamicSymbols, DamagedBytesAreRefusedOrSound) {
  const auto seed = 4711u;
  std::mt19937 random(seed);
  const auto program = bound_text({}, {{"S", "5"}});
  ASSERT_TRUE(program) << to_text(program.error());
  const auto bytes = bound::encode(*program, true);
  int survived = 0;
  for (int i = 0; i < 6000; ++i) {
    auto damaged = bytes;
    damaged[random() % damaged.size()] ^= static_cast<std::uint8_t>(1u << (random() % 8));
    const auto decoded = bound::decode(damaged);
    if (!decoded) {
      EXPECT_EQ(decoded.error().code, ErrorCode::corrupt) << "seed " << seed << " step " << i;
      continue;
    }
    ++survived;
    for (const std::int64_t s : {0, 1, 100}) {
      const auto made = bound::with_values(*decoded, bound::SymbolValues(decoded->symbols.size(), s));
      if (made) {
        EXPECT_TRUE(bound::check(*made)) << "seed " << seed << " step " << i;
      }
    }
  }
  EXPECT_GT(survived, 0);
}

bound::Program broken(const std::function<void(bound::Program&)>& change) {
  auto program = *bound_text({}, {{"S", "5"}});
  change(program);
  return program;
}
bound::ExprPtr symbol(std::int64_t number) {
  bound::Expr node;
  node.kind = bound::Expr::Kind::symbol;
  node.integer = number;
  return std::make_shared<const bound::Expr>(node);
}

TEST(DynamicSymbols, UnsoundProgramsAreRefused) {
  using bound::Program;
  EXPECT_TRUE(bound::check(broken([](Program&) {})));
  EXPECT_FALSE(bound::check(broken([](Program& p) { p.symbols.clear(); }))) << "a symbol that there is not";
  EXPECT_FALSE(bound::check(broken([](Program& p) { p.tensors[0].shape[0] = symbol(1); })));
  EXPECT_FALSE(bound::check(broken([](Program& p) { p.symbols[0].min = 10, p.symbols[0].max = 5; })));
  EXPECT_FALSE(bound::check(broken([](Program& p) { p.symbols[0].max = std::int64_t(1) << 40; })));
  EXPECT_FALSE(bound::check(broken([](Program& p) { p.symbols[0].multiple_of = 0; })));
  EXPECT_FALSE(bound::check(broken([](Program& p) {
    p.tensors[0].shape[0] = bound::make_binary(Op::sub, symbol(0), bound::make_integer(1));
  }))) << "an extent that may be negative";
  EXPECT_FALSE(bound::check(broken([](Program& p) {
    p.tensors[0].strides[0] = bound::make_binary(Op::mul, symbol(0), bound::make_integer(std::int64_t(1) << 40));
  }))) << "a tensor that 64 bits do not address";
  EXPECT_FALSE(bound::check(broken([](Program& p) {
    bound::Expr block;
    block.kind = bound::Expr::Kind::block;
    p.launches[0].grid[0] = std::make_shared<const bound::Expr>(block);
  }))) << "a grid that depends on a block";
}

}  // namespace
}  // namespace kiln::test
