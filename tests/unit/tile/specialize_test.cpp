#include <algorithm>

#include "tests/unit/tile/support.hpp"

namespace kiln::test {
namespace {

struct Mistake {
  const char* pointer;
  const char* message;  // part of it
};

void expect_mistakes(const Result<bound::Program>& bound, const std::vector<Mistake>& mistakes) {
  ASSERT_FALSE(bound) << bound::print(*bound);
  EXPECT_EQ(bound.error().code, ErrorCode::program_invalid);
  const auto& list = bound.error().diagnostics;
  for (const auto& mistake : mistakes) {
    const bool found = std::any_of(list.begin(), list.end(), [&](const Diagnostic& d) {
      return d.pointer == mistake.pointer && d.message.find(mistake.message) != std::string::npos;
    });
    EXPECT_TRUE(found) << mistake.pointer << ": " << mistake.message << "\n" << to_text(bound.error());
  }
  EXPECT_EQ(list.size(), mistakes.size()) << to_text(bound.error());
}

const std::string tiles = R"json(
  {"op": "alloc", "name": "a", "space": "shared", "dtype": "f16", "shape": ["64", "32"]},
  {"op": "alloc", "name": "b", "space": "shared", "dtype": "f16", "shape": ["32", "64"]},
  {"op": "alloc", "name": "c", "space": "fragment", "dtype": "f32", "shape": ["64", "64"]},
  {"op": "alloc", "name": "r", "space": "fragment", "dtype": "f32", "shape": ["64"]},
  {"op": "fill", "tile": "a", "value": 0}, {"op": "fill", "tile": "b", "value": 0},
  {"op": "fill", "tile": "c", "value": 0},
  {"op": "fill", "tile": "r", "value": 0},)json";

std::string with_tiles(const std::string& statements) { return program_with("[" + tiles + statements + "]"); }
// A map over i < 64, j < 64 with one item.
std::string map_item(const std::string& item) {
  return with_tiles("{\"op\": \"map\", \"index\": [\"i\", \"j\"], \"extent\": [64, 64], \"body\": [" + item + "]}");
}
std::string value_of(const std::string& value) { return map_item(R"({"set": "c[i, j]", "value": ")" + value + "\"}"); }

constexpr const char* first_map_value = "/launches/0/body/8/body/0/value";
constexpr const char* first_map_set = "/launches/0/body/8/body/0/set";

TEST(Specialize, SettingsAreLocated) {
  const auto gemm = tile::load_builtin(programs_folder, "gemm");
  ASSERT_TRUE(gemm);
  specialize::Bindings bindings;
  bindings.set = {{"M", "-1"},
                  {"N", "9223372036854775808"},
                  {"dtype", "f23"},
                  {"transpose_a", "maybe"},
                  {"activation", "gellu"},
                  {"BM", "12x"},
                  {"BQ", "3"}};
  expect_mistakes(bind(*gemm, bindings), {{"/bindings/symbols/M", "is a size"},
                                          {"/bindings/symbols/N", "is a size"},
                                          {"/bindings/symbols/K", "has no value"},
                                          {"/bindings/options/dtype", "cannot be 'f23'"},
                                          {"/bindings/options/transpose_a", "is a boolean"},
                                          {"/bindings/options/activation", "cannot be 'gellu'"},
                                          {"/bindings/tunables/BM", "is an integer"},
                                          {"/bindings/set/BQ", "no symbol, option or tunable 'BQ'"}});
  const auto bound = bind(*gemm, bindings);
  EXPECT_EQ(find(bound.error(), "gellu")->hint, "did you mean 'gelu'?");
  EXPECT_EQ(find(bound.error(), "'BQ'")->hint, "did you mean 'BM'?");
}

TEST(Specialize, PromisesAndConstraintsAreChecked) {
  const auto program = tile::read_program(
      R"json({"kiln": "tile/1", "name": "p", "symbols": {"M": {"multiple_of": 8}, "N": {"min": 2, "max": 9}},
    "params": [], "tunables": {"BM": 100}, "constraints": ["BM % 16 == 0", "BM > M"],
    "launches": [{"grid": [1], "threads": 1, "body": []}]})json");
  ASSERT_TRUE(program) << to_text(program.error());
  specialize::Bindings bindings;
  bindings.set = {{"M", "12"}, {"N", "1"}};
  const auto bound = bind(*program, bindings);
  expect_mistakes(bound, {{"/bindings/symbols/M", "a multiple of 8"},
                          {"/bindings/symbols/N", "promises a range"},
                          {"/constraints/0", "does not hold"}});
  EXPECT_EQ(find(bound.error(), "does not hold")->found, "BM = 100");
}

TEST(Specialize, TypesAreChecked) {
  const std::pair<const char*, const char*> cases[] = {
      {"c[i, j] + cast(1, f16)", "operands of two types"},
      {"cast(c[i, j], f16)", "the value is f16"},
      {"c[i, j] / 2 + 3 / 4", "'/' is not defined on an integer literal"},
      {"i / j", "'/' is not defined on an index"},
      {"c[i, j] // 2", "'//' is not defined on f32"},
      {"c[i, j] & 1", "is not defined on f32"},
      {"c[i, j] && true", "'&&' takes booleans"},
      {"exp(i)", "'exp' is not defined on an index"},
      {"1.0 if c[i, j] else 2.0", "a condition is a boolean"},
      {"c[i, j] > 0", "the value is bool"},
      {"f32", "the type f32 is not a value"},
      {"c[i, j] == f32", "between f32 and the type f32"},
      {"cast(c[i, j], index)", "only integers become an index"},
      {"c[i, j] + 1e39", "does not fit in f32"},
      {"bitcast(c[i, j], f16)", "bitcast from f32 to f16"},
      {"cast(cast(i, i8) + 200, f32)", "does not fit in i8"},
      {"cast(!i, f32)", "'!' is not defined on an index"},
      {"c[i, 1.5]", "a real literal where an index is needed"},
      {"C[i, j]", "may only be written"},
      {"popcount(i)", "needs an integer of a width"},
      {"cast(c[i, j], f6e2m3)", "not yet: the type f6e2m3"},
      {"i // (M - 128)", "division by zero"},
      {"c[64, j]", "index out of range"},
      {"c[i, 0 - 1 - j]", "index out of range"},
      {"c[i, j + 1]", "index out of range"},
      {"c[2 * i - 1, j]", "index out of range"},
      {"r[i + j]", "index out of range"},
      {"i * 9223372036854775807", "may leave 64 bits"},
      {"n64 * M", "may leave 64 bits"},
  };
  for (const auto& [value, message] : cases) {
    const auto bound = bind_text(value_of(value));
    ASSERT_FALSE(bound) << value << "\n" << bound::print(*bound);
    ASSERT_EQ(bound.error().diagnostics.size(), 1u) << value << "\n" << to_text(bound.error());
    const Diagnostic& d = bound.error().diagnostics[0];
    EXPECT_NE(d.message.find(message), std::string::npos) << value << "\n" << to_text(d);
    EXPECT_EQ(d.pointer, first_map_value) << value;
    EXPECT_TRUE(d.offset) << value;
    EXPECT_EQ(d.source, value);
  }
}

TEST(Specialize, ExpressionsAreTypedAndFolded) {
  const std::pair<const char*, const char*> cases[] = {
      {"c[i, j] * 2", "c[i, j] * 2.0:f32"},
      {"2 * c[i, j]", "2.0:f32 * c[i, j]"},
      {"c[i, j] * M", "c[i, j] * 128.0:f32"},
      {"c[i, j] + i", "c[i, j] + f32(i)"},
      {"c[i, j] * n", "c[i, j] * f32(n)"},
      {"(i + 3) - 5", "f32(i - 2)"},
      {"i % 64", "f32(i)"},
      {"i // 64", "0.0:f32"},
      {"0 if i < 64 else c[i, j]", "0.0:f32"},
      {"min(i, 100)", "f32(i)"},
      {"c[i, j] if j < n else -inf", "c[i, j] if (j < index(n)) else -inf:f32"},
      {"rsqrt(cast(64, f32))", "0.125:f32"},
      {"max(c[i, j], 0)", "max(c[i, j], 0.0:f32)"},
      {"c[i, j + 1] if j < 63 else 0", "c[i, j + 1] if (j < 63) else 0.0:f32"},
      {"c[i, i - j + j]", "c[i, (i - j) + j]"},
      {"0.5 if c[i, j] > 0 else 1", "0.5:f32 if (c[i, j] > 0.0:f32) else 1.0:f32"},
      {"cast(7 // -2, f32)", "-4.0:f32"},
      {"cast(-7 % 3, f32)", "2.0:f32"},
      {"cast(cast(300.7, u8), f32)", "255.0:f32"},
      {"cast(cast(nan, i32), f32)", "0.0:f32"},
      {"cast(cast(127, i8) + 1, f32)", "-128.0:f32"},
      {"c[i, j] if dtype == f16 && !transpose else 3", "c[i, j]"},
      {"cast(target.wave, f32) if M > 0 || M // 0 > 1 else 0", "64.0:f32"},
  };
  for (const auto& [value, want] : cases) {
    const auto bound = bind_text(value_of(value));
    ASSERT_TRUE(bound) << value << "\n" << to_text(bound.error());
    const auto& launch = bound->launches[0];
    const auto* map = std::get_if<bound::Map>(&launch.body.back().node);
    ASSERT_TRUE(map);
    EXPECT_EQ(bound::print(*bound, launch, *map->body[0].value), want) << value;
  }
}

TEST(Specialize, StatementsAreChecked) {
  const Mistake cases[] = {
      {R"({"op": "gemm", "a": "a", "b": "b", "c": "a"})", "gemm's result is one of its operands"},
      {R"({"op": "gemm", "a": "b", "b": "a", "c": "c"})", "the tiles of gemm do not fit"},
      {R"({"op": "gemm", "a": "a", "b": "b", "c": "c", "transpose_a": "true"})", "the tiles of gemm do not fit"},
      {R"({"op": "gemm", "a": "a", "b": "b", "c": "c", "transpose_a": "M"})", "a condition is a boolean"},
      {R"({"op": "gemm", "a": "r", "b": "b", "c": "c"})", "gemm works on tiles of two axes"},
      {R"({"op": "gemm", "a": "c", "b": "b", "c": "c"})", "gemm's result is one of its operands"},
      {R"({"op": "reduce", "kind": "sum", "from": "c", "to": "r", "axis": 2})", "has no such axis"},
      {R"({"op": "reduce", "kind": "sum", "from": "a", "to": "r", "axis": 1})", "does not take these types"},
      {R"({"op": "reduce", "kind": "any", "from": "c", "to": "r", "axis": 1})", "does not take these types"},
      {R"({"op": "reduce", "kind": "sum", "from": "b", "to": "r", "axis": 1})", "does not fit"},
      {R"({"op": "copy", "from": "A[0:, 0]", "to": "a"})", "different numbers of ranged axes"},
      {R"({"op": "copy", "from": "A[0, 0]", "to": "a[0, 0]"})", "no ranged axis"},
      {R"({"op": "copy", "from": "A[0:, 0:]", "to": "D[0:, 0:]"})", "between two tensors"},
      {R"({"op": "copy", "from": "c", "to": "A[0:, 0:]"})", "may only be read"},
      {R"({"op": "copy", "from": "C[0:, 0:]", "to": "c"})", "may only be written"},
      {R"({"op": "copy", "from": "a", "to": "b"})", "the two sides of the copy differ"},
      {R"({"op": "copy", "from": "c[0:, 0]", "to": "c[0:, 1]"})", "a copy of a tile to itself"},
      {R"({"op": "copy", "from": "r", "to": "c[0:, 64]"})", "outside the tile 'c' on axis 1"},
      {R"({"op": "copy", "from": "r", "to": "c[bid.x * 64, 0:]"})", "outside the tile 'c' on axis 0"},
      {R"({"op": "copy", "from": "r", "to": "c[2:, 0]"})", "the two sides of the copy differ"},
      {R"({"op": "copy", "from": "A[0:, 0:]", "to": "a", "limit": ["3"]})", "one limit a ranged axis"},
      {R"({"op": "copy", "from": "A[0:, 0:]", "to": "a", "fill": "true"})", "the value is bool"},
      {R"({"op": "copy", "from": "c", "to": "C[0:, 0:]", "fill": "0"})", "fill is the value of reads outside a tensor"},
      {R"({"op": "copy", "from": "A[n64 + M:, 0:]", "to": "a"})", "may leave 64 bits"},
      {R"({"op": "copy", "from": "A[n64:, 0:]", "to": "a"})", "beyond 64 bits"},
      {R"({"op": "for", "var": "k", "to": "K", "step": "K - 128", "body": []})", "a loop's step is out of range"},
      {R"({"op": "for", "var": "k", "to": "n", "kind": "unrolled", "body": []})", "an unrolled loop has bounds"},
      {R"({"op": "for", "var": "k", "to": "K", "kind": "pipelined", "stages": "9", "body": []})",
       "the number of stages is out of range"},
      {R"({"op": "for", "var": "k", "to": "n64", "step": "2", "body": []})", "leaves no room for its last step"},
      {R"({"op": "if", "condition": "n", "then": []})", "a condition is a boolean"},
      {R"({"op": "fill", "tile": "a", "value": "1.5 * n"})", "a real literal where i32 is needed"},
      {R"({"op": "map", "index": ["i"], "extent": ["n"], "body": [{"set": "r[i]", "value": 0}]})", "has no value here"},
      {R"({"op": "map", "index": ["i"], "extent": ["M * M * M * M * M"], "body": [{"set": "r[i]", "value": 0}]})",
       "an extent of the map is out of range"},
      {R"({"op": "map", "index": ["i", "j"], "extent": ["M * M", "M * M * M"], "body": [{"set": "r[i]", "value": 0}]})",
       "too many iterations"},
  };
  for (const auto& [statement, message] : cases) {
    const std::string json = with_tiles(statement);
    const auto bound = bind_text(json, sizes(128, 256, 128));
    ASSERT_FALSE(bound) << statement;
    EXPECT_NE(find(bound.error(), message), nullptr) << statement << "\n" << to_text(bound.error());
    for (const auto& d : bound.error().diagnostics)
      EXPECT_TRUE(d.pointer.starts_with("/launches/0/body/8")) << to_text(d);
  }
}

TEST(Specialize, DoubleWritesAreFound) {
  const Mistake wrong[] = {
      {"r[i]", "(i = 0, j = 0) and (i = 0, j = 1)"},
      {"c[i, i]", "(i = 0, j = 0) and (i = 0, j = 1)"},
      {"c[i, j % 32]", ""},  // not affine, and j is used: left to the interpreter
      {"D[i + j, 0]", "write the same element"},
      {"D[i * 63 + j, 0]", "write the same element"},
      {"c[0, 0]", "write the same element"},
      {"D[bid.x, j]", "write the same element"},
  };
  for (const auto& [target, message] : wrong) {
    const auto bound = bind_text(map_item(std::string("{\"set\": \"") + target + "\", \"value\": 0}"));
    if (std::string(message).empty()) {
      EXPECT_TRUE(bound) << target;
      continue;
    }
    ASSERT_FALSE(bound) << target;
    ASSERT_EQ(bound.error().diagnostics.size(), 1u) << to_text(bound.error());
    EXPECT_NE(bound.error().diagnostics[0].message.find(message), std::string::npos) << to_text(bound.error());
    EXPECT_EQ(bound.error().diagnostics[0].pointer, first_map_set);
  }
  for (const char* right : {"c[i, j]", "c[j, i]", "c[i, 63 - j]", "D[bid.x * 64 + i, j]", "D[i * 64 + j, 0]",
                            "D[0, j * 64 + i]", "D[i + j, j]"})
    EXPECT_TRUE(bind_text(map_item(std::string("{\"set\": \"") + right + "\", \"value\": 0}"))) << right;
  const auto through_let =
      bind_text(map_item(R"({"let": "h", "value": "i * 2"}, {"set": "D[h - i + j, 0]", "value": 0})"));
  ASSERT_FALSE(through_let);
  EXPECT_NE(find(through_let.error(), "write the same element"), nullptr);
}

TEST(Specialize, TilesMustBeWrittenAndFit) {
  expect_mistakes(bind_text(program_with(R"json([
      {"op": "alloc", "name": "never", "space": "fragment", "dtype": "f32", "shape": [64, 64]},
      {"op": "alloc", "name": "big", "space": "shared", "dtype": "f32", "shape": [128, 129]},
      {"op": "fill", "tile": "big", "value": 0},
      {"op": "copy", "from": "never", "to": "C[0:, 0:]"}])json")),
                  {{"/launches/0/body/0", "'never' is never written"},
                   {"/launches/0", "do not fit in the local memory of gfx942"}});
  expect_mistakes(bind_text(program_with(R"json([
      {"op": "alloc", "name": "huge", "space": "fragment", "dtype": "f32", "shape": ["M * 1000000", "N * 1000000"]},
      {"op": "alloc", "name": "none", "space": "fragment", "dtype": "f32", "shape": ["M - 128"]},
      {"op": "alloc", "name": "small", "space": "fragment", "dtype": "f4e2m1", "shape": [4]}])json")),
                  {{"/launches/0/body/0/shape/0", "out of range"},
                   {"/launches/0/body/0/shape/1", "out of range"},
                   {"/launches/0/body/1/shape/0", "out of range"},
                   {"/launches/0/body/2/dtype", "not yet: the type f4e2m1"}});
}

TEST(Specialize, LayoutsMayBeReplaced) {
  const auto gemm = tile::load_builtin(programs_folder, "gemm");
  ASSERT_TRUE(gemm);
  auto bindings = sizes(256, 256, 256);
  bindings.layouts["As"].kind = LayoutSpec::Kind::row_major;
  const auto bound = bind(*gemm, bindings);
  ASSERT_TRUE(bound) << to_text(bound.error());
  for (const auto& tile : bound->launches[0].tiles)
    EXPECT_EQ(tile.layout.kind, tile.name == "As" ? LayoutSpec::Kind::row_major : LayoutSpec::Kind::automatic);
  bindings.layouts["Qs"].kind = LayoutSpec::Kind::row_major;
  bindings.layouts["sum"].kind = LayoutSpec::Kind::row_major;
  bindings.layouts["Bs"] = *layout_spec_from_text("swizzle:16,1,64");
  expect_mistakes(bind(*gemm, bindings), {{"/bindings/layouts/Qs", "no tile is called 'Qs'"},
                                          {"/bindings/layouts/sum", "only a shared tile has a layout"},
                                          {"/bindings/layouts/Bs", "the swizzle does not fit"}});
}

TEST(Specialize, ConditionsKnownAtCompileTimeLeaveNoTrace) {
  const auto gemm = tile::load_builtin(programs_folder, "gemm");
  ASSERT_TRUE(gemm);
  const auto plain = bind(*gemm, sizes(256, 256, 256));
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->tensors.size(), 3u);
  EXPECT_EQ(plain->launches[0].tiles.size(), 3u);
  auto bindings = sizes(256, 256, 256);
  bindings.set["bias"] = "true";
  bindings.set["activation"] = "gelu";
  const auto rich = bind(*gemm, bindings);
  ASSERT_TRUE(rich);
  EXPECT_EQ(rich->tensors.size(), 4u);
  EXPECT_EQ(rich->launches[0].tiles.size(), 4u);
  bindings.set["dtype"] = "i8";
  expect_mistakes(bind(*gemm, bindings), {{"/constraints/0", "does not hold"}});
  const auto unused = bind_text(program_with(R"json([
      {"op": "alloc", "name": "t", "space": "fragment", "dtype": "f32", "shape": [64, 64], "when": "transpose"},
      {"op": "copy", "from": "t", "to": "C[0:, 0:]"}])json"));
  expect_mistakes(unused, {{"/launches/0/body/1/from", "does not exist with these options"}});
}

TEST(Specialize, EmptyWorkIsNoMistake) {
  for (const auto& name : tile::builtin_names(programs_folder)) {
    const auto program = tile::load_builtin(programs_folder, name);
    ASSERT_TRUE(program);
    for (const auto& empty : program->symbols) {
      specialize::Bindings bindings;
      for (const auto& symbol : program->symbols)
        bindings.set[symbol.name] = symbol.name == empty.name && !symbol.min ? "0" : "64";
      const auto bound = bind(*program, bindings);
      EXPECT_TRUE(bound) << name << " with " << empty.name << " = 0\n" << to_text(bound.error());
    }
  }
  const auto gemm = tile::load_builtin(programs_folder, "gemm");
  const auto no_k = bind(*gemm, sizes(64, 64, 0));
  ASSERT_TRUE(no_k);
  EXPECT_EQ(no_k->launches[0].tiles.size(), 1u);  // the shared tiles are gone with the loop
  const auto no_m = bind(*gemm, sizes(0, 64, 64));
  ASSERT_TRUE(no_m);
  EXPECT_TRUE(no_m->launches[0].body.empty());
}

TEST(Specialize, LargeSizesAreProvedOrRefused) {
  const auto gemm = tile::load_builtin(programs_folder, "gemm");
  ASSERT_TRUE(gemm);
  const std::int64_t most = 2147483647;
  auto bound = bind(*gemm, sizes(most, most, most));
  ASSERT_FALSE(bound);
  EXPECT_NE(find(bound.error(), "larger than 2^62 bytes"), nullptr) << to_text(bound.error());
  bound = bind(*gemm, sizes(most, 64, 64));
  EXPECT_TRUE(bound) << to_text(bound.error());
  expect_mistakes(bind(*gemm, sizes(2147483648, 64, 64)), {{"/bindings/symbols/M", "is a size"}});
}

TEST(Specialize, GridsOfMoreBlocksThanAnyDeviceCountsAreRefused) {
  const auto bound = [](const std::string& grid) {
    return bind_text(R"json({"kiln": "tile/1", "name": "wide",
      "params": [{"name": "Y", "dtype": "f32", "shape": ["4"], "access": "write"}],
      "launches": [{"grid": [)json" + grid + R"json(], "threads": "256", "body": [
        {"op": "map", "index": ["i"], "extent": ["4"], "body": [{"set": "Y[i]", "value": "1.0"}]}]}]})json", {});
  };
  expect_mistakes(bound(R"("2147483647", "2147483647", "4")"), {{"/launches/0/grid", "too many blocks"}});
  expect_mistakes(bound(R"("1048576", "1048576", "2")"), {{"/launches/0/grid", "too many blocks"}});
  EXPECT_TRUE(bound(R"("1048576", "1048576")"));
  EXPECT_TRUE(bound(R"("2147483647", "2147483647", "0")"));
}

TEST(Specialize, StridesAndAlignment) {
  const auto program = tile::read_program(R"json({"kiln": "tile/1", "name": "p", "symbols": ["N", "P"],
    "params": [{"name": "X", "dtype": "f16", "shape": ["N", "N"], "strides": ["P", "1"], "access": "read"},
               {"name": "R", "dtype": "f16", "shape": ["N", "N"], "strides": ["0", "1"], "access": "read"},
               {"name": "Y", "dtype": "f16", "shape": ["N", "N"], "strides": ["P - P", "1"], "access": "write"}],
    "launches": [{"grid": [1], "threads": 1, "body": []}]})json");
  ASSERT_TRUE(program) << to_text(program.error());
  specialize::Bindings bindings;
  bindings.set = {{"N", "4"}, {"P", "12"}};
  bindings.align_bytes = {{"X", 16}, {"R", 4}, {"Y", 3}, {"Z", 8}};
  expect_mistakes(bind(*program, bindings), {{"/params/2", "a stride of 0"},
                                             {"/bindings/align_bytes/Y", "not an alignment class"},
                                             {"/bindings/align_bytes/Z", "no tensor parameter"}});
  bindings.set["N"] = "1";
  bindings.align_bytes = {{"R", 4}};
  const auto bound = bind(*program, bindings);
  ASSERT_TRUE(bound) << to_text(bound.error());
  EXPECT_EQ(bound->tensors[1].align_bytes, 4);
  EXPECT_EQ(bound->tensors[0].align_bytes, 16);  // one row: the pitch does not matter
}

TEST(Specialize, UnrollingHasALimit) {
  const auto nest = [](const std::string& count, int depth) {
    std::string body = R"({"op": "fill", "tile": "c", "value": 0})";
    for (int i = 0; i < depth; ++i)
      body = R"({"op": "for", "var": "k)" + std::to_string(i) + R"(", "to": ")" + count +
             R"(", "kind": "unrolled", "body": [)" + body + "]}";
    return with_tiles(body);
  };
  EXPECT_TRUE(bind_text(nest("8", 3)));
  for (const auto& [count, depth] : {std::pair{"9223372036854775806", 1}, {"1000000", 2}, {"100000", 12}}) {
    const auto bound = bind_text(nest(count, depth));
    ASSERT_FALSE(bound) << count;
    EXPECT_NE(find(bound.error(), "nodes after unrolling"), nullptr) << to_text(bound.error());
  }
}

TEST(Specialize, TheBudgetEndsIt) {
  const auto program = tile::load_builtin(programs_folder, "flash_attention");
  ASSERT_TRUE(program);
  specialize::Bindings bindings;
  for (const auto& symbol : program->symbols) bindings.set[symbol.name] = "64";
  Budget budget(50);
  const auto target = target::parse_target("gfx942");
  const auto bound = specialize::specialize(*program, bindings, *target, budget);
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().code, ErrorCode::resource_limit);
}

TEST(Specialize, IsDeterministic) {
  const auto program = tile::load_builtin(programs_folder, "flash_attention");
  ASSERT_TRUE(program);
  specialize::Bindings bindings;
  for (const auto& symbol : program->symbols) bindings.set[symbol.name] = "64";
  const auto once = bind(*program, bindings), twice = bind(*program, bindings);
  ASSERT_TRUE(once && twice);
  EXPECT_EQ(bound::encode(*once, false), bound::encode(*twice, false));
}

TEST(Specialize, DescribesWhatIsSet) {
  const auto gemm = tile::load_builtin(programs_folder, "gemm");
  const auto target = target::parse_target("gfx942");
  ASSERT_TRUE(gemm && target);
  auto bindings = sizes(4096, 4096, 4096);
  bindings.set["dtype"] = "i8";
  const auto resolved = specialize::describe_bindings(*gemm, bindings, *target);
  ASSERT_TRUE(resolved) << to_text(resolved.error());
  std::map<std::string, std::string> values;
  for (const auto& item : *resolved) values[item.kind + " " + item.name] = item.value + (item.given ? " given" : "");
  EXPECT_EQ(values["symbol M"], "4096 given");
  EXPECT_EQ(values["option dtype"], "i8 given");
  EXPECT_EQ(values["option acc"], "i32");
  EXPECT_EQ(values["option activation"], "none");
  EXPECT_EQ(values["tunable BM"], "128");
  EXPECT_FALSE(specialize::describe_bindings(*gemm, {}, *target));
}

TEST(Specialize, CheckFindsWhatNoSizeCanMend) {
  const auto program = tile::read_program(value_of("c[i, j] + cast(1, f16) + c[i, 64]"));
  ASSERT_TRUE(program);
  auto findings = specialize::check_program(*program);
  ASSERT_EQ(findings.list().size(), 1u);  // the index depends on sizes in general; the types do not
  EXPECT_NE(findings.list()[0].message.find("operands of two types"), std::string::npos);
  for (const auto& name : tile::builtin_names(programs_folder)) {
    auto clean = specialize::check_program(*tile::load_builtin(programs_folder, name));
    EXPECT_FALSE(clean.has_errors()) << name << to_text(program_error("", clean.take()));
  }
}

// ---- built-ins: every option on every target, sizes that are no multiple of anything

TEST(Builtins, EveryVariantBindsForEveryTarget) {
  const char* targets[] = {"gfx90a", "gfx942", "gfx950", "gfx1100", "host:avx2", "host:avx512"};
  int count = 0;
  for (const auto& name : tile::builtin_names(programs_folder)) {
    const auto program = tile::load_builtin(programs_folder, name);
    ASSERT_TRUE(program);
    const auto types = std::find_if(program->options.begin(), program->options.end(),
                                    [](const auto& option) { return option.name == "dtype"; });
    ASSERT_NE(types, program->options.end());
    for (const char* target : targets) {
      for (const std::string& dtype : types->choices) {
        for (const char* size : {"1", "33", "129", "1000", "2048"}) {
          for (int flags = 0; flags < 4; ++flags) {
            specialize::Bindings bindings;
            for (const auto& symbol : program->symbols) bindings.set[symbol.name] = size;
            bindings.set["dtype"] = dtype;
            if (name == "flash_attention") {
              bindings.set["D"] = flags < 2 ? "64" : "128";
              bindings.set["causal"] = flags % 2 ? "true" : "false";
              bindings.set["custom_scale"] = flags % 2 ? "true" : "false";
            }
            if (name == "gemm") {
              bindings.set["transpose_a"] = flags & 1 ? "true" : "false";
              bindings.set["transpose_b"] = flags & 2 ? "true" : "false";
              bindings.set["bias"] = flags & 1 ? "true" : "false";
              if (dtype != "i8") bindings.set["activation"] = flags & 2 ? "gelu" : "none";
            }
            if (name == "rmsnorm" || name == "layernorm") bindings.set["custom_eps"] = flags & 1 ? "true" : "false";
            if (name == "layernorm") bindings.set["bias"] = flags & 2 ? "true" : "false";
            if (name == "reduce") {
              bindings.set["axis"] = flags & 1 ? "first" : "last";
              bindings.set["kind"] = flags & 2 ? "mean" : "maximum";
            }
            if (name == "elementwise") {
              bindings.set["activation"] = flags & 1 ? "silu" : "gelu_tanh";
              bindings.set["combine"] = flags & 2 ? "mul" : "none";
              bindings.set["scaled"] = bindings.set["row"] = flags & 1 ? "true" : "false";
            }
            const auto bound = bind(*program, bindings, target);
            ASSERT_TRUE(bound) << name << " " << target << " " << dtype << " " << size << "\n"
                               << to_text(bound.error());
            const auto again = bound::decode(bound::encode(*bound, true));
            ASSERT_TRUE(again) << to_text(again.error());
            ++count;
          }
        }
      }
    }
  }
  EXPECT_EQ(count, 6 * 5 * 4 * (8 + 3 + 3 + 3 + 3 + 3 + 3 + 4));
}

}  // namespace
}  // namespace kiln::test
