// Every form of statement that the built-ins do not use, on the host against the interpreter.
#include <gtest/gtest.h>

#include <cstring>
#include <future>
#include <thread>

#include "tests/support/host_runner.hpp"

namespace kiln::test {
namespace {

struct Case {
  const char* name;
  const char* params;
  const char* body;
  const char* grid = R"("1")";
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::string text_of(const Case& c) {
  return std::string(R"json({"kiln": "tile/1", "name": "one", "symbols": ["N"], "params": [)json") + c.params +
         R"json(], "launches": [{"grid": [)json" + c.grid + R"json(], "threads": "1", "body": [)json" + c.body + "]}]}";
}

const Case cases[] = {
    {"reduce_rank_3", R"j({"name": "X", "dtype": "f32", "shape": ["5", "7", "33"], "access": "read"},
        {"name": "A", "dtype": "f32", "shape": ["7", "33"], "access": "write"}, {"name": "B", "dtype": "f32", "shape": ["5", "33"], "access": "write"},
        {"name": "C", "dtype": "f32", "shape": ["5", "7"], "access": "write"})j",
     R"j({"op": "alloc", "name": "x", "space": "fragment", "dtype": "f32", "shape": [5, 7, 33]}, {"op": "alloc", "name": "a", "space": "fragment", "dtype": "f32", "shape": [7, 33]},
        {"op": "alloc", "name": "b", "space": "fragment", "dtype": "f32", "shape": [5, 33]}, {"op": "alloc", "name": "c", "space": "fragment", "dtype": "f32", "shape": [5, 7]},
        {"op": "copy", "from": "X[0:, 0:, 0:]", "to": "x"}, {"op": "fill", "tile": "b", "value": "2"},
        {"op": "reduce", "kind": "sum", "from": "x", "to": "a", "axis": 0}, {"op": "reduce", "kind": "max", "from": "x", "to": "b", "axis": 1, "accumulate": true},
        {"op": "reduce", "kind": "min", "from": "x", "to": "c", "axis": 2},
        {"op": "copy", "from": "a", "to": "A[0:, 0:]"}, {"op": "copy", "from": "b", "to": "B[0:, 0:]"}, {"op": "copy", "from": "c", "to": "C[0:, 0:]"})j"},
    {"reduce_to_one",
     R"j({"name": "X", "dtype": "i32", "shape": ["N"], "access": "read"}, {"name": "Y", "dtype": "i32", "shape": ["1"], "access": "write"})j",
     R"j({"op": "alloc", "name": "x", "space": "fragment", "dtype": "i32", "shape": [100]}, {"op": "alloc", "name": "y", "space": "fragment", "dtype": "i32", "shape": [1]},
        {"op": "copy", "from": "X[0:]", "to": "x", "fill": "3"}, {"op": "reduce", "kind": "sum", "from": "x", "to": "y", "axis": 0}, {"op": "copy", "from": "y", "to": "Y[0:]"})j"},
    {"any_all",
     R"j({"name": "X", "dtype": "f32", "shape": ["9", "40"], "access": "read"}, {"name": "Y", "dtype": "bool", "shape": ["9"], "access": "write"},
        {"name": "Z", "dtype": "u8", "shape": ["40"], "access": "write"})j",
     R"j({"op": "alloc", "name": "x", "space": "fragment", "dtype": "f32", "shape": [9, 40]}, {"op": "alloc", "name": "b", "space": "fragment", "dtype": "bool", "shape": [9, 40]},
        {"op": "alloc", "name": "y", "space": "fragment", "dtype": "bool", "shape": [9]}, {"op": "alloc", "name": "z", "space": "fragment", "dtype": "bool", "shape": [40]},
        {"op": "copy", "from": "X[0:, 0:]", "to": "x"}, {"op": "map", "index": ["i", "j"], "extent": [9, 40], "body": [{"set": "b[i, j]", "value": "x[i, j] > 1.9"}]},
        {"op": "reduce", "kind": "any", "from": "b", "to": "y", "axis": 1}, {"op": "copy", "from": "y", "to": "Y[0:]"},
        {"op": "map", "index": ["i", "j"], "extent": [9, 40], "body": [{"set": "b[i, j]", "value": "x[i, j] < 1.2 || i == 3"}]},
        {"op": "reduce", "kind": "all", "from": "b", "to": "z", "axis": 0}, {"op": "copy", "from": "z", "to": "Z[0:]"})j"},
    {"indexed_axes",
     R"j({"name": "X", "dtype": "f16", "shape": ["3", "4", "5", "60"], "access": "read"}, {"name": "Y", "dtype": "f32", "shape": ["3", "60", "4"], "access": "write"})j",
     R"j({"op": "alloc", "name": "x", "space": "fragment", "dtype": "f32", "shape": [4, 60]},
        {"op": "copy", "from": "X[bid.x, 0:, 2, 1:]", "to": "x", "fill": "7"},
        {"op": "map", "index": ["i", "j"], "extent": [60, 4], "body": [{"set": "Y[bid.x, i, j]", "value": "x[j, i] * 2.0"}]})j",
     R"("3")"},
    {"tile_regions",
     R"j({"name": "X", "dtype": "i16", "shape": ["20", "30"], "access": "read"}, {"name": "Y", "dtype": "i64", "shape": ["20", "30"], "access": "write"})j",
     R"j({"op": "alloc", "name": "x", "space": "shared", "dtype": "i32", "shape": [20, 30]}, {"op": "alloc", "name": "row", "space": "fragment", "dtype": "i64", "shape": [30]},
        {"op": "alloc", "name": "part", "space": "fragment", "dtype": "i8", "shape": [6, 7]},
        {"op": "copy", "from": "X[0:, 0:]", "to": "x"}, {"op": "copy", "from": "x[3, 0:]", "to": "row"}, {"op": "copy", "from": "row", "to": "Y[0, 0:]"},
        {"op": "copy", "from": "x[14:, 23:]", "to": "part"}, {"op": "copy", "from": "part", "to": "Y[4:, 5:]"},
        {"op": "for", "var": "n", "to": "3", "body": [{"op": "copy", "from": "x[n + 1, 0:]", "to": "row"}, {"op": "copy", "from": "row", "to": "x[19 - n, 0:]"}]},
        {"op": "copy", "from": "x[12:, 0:]", "to": "Y[12:, 0:]"}, {"op": "copy", "from": "X[1:, 2:]", "to": "x[18:, 25:]"},
        {"op": "copy", "from": "x[18:, 20:]", "to": "Y[10:, 1:]", "limit": ["11", "8"]})j"},
    {"strided",
     R"j({"name": "X", "dtype": "f32", "shape": ["30", "20"], "strides": ["1", "37"], "access": "read"}, {"name": "Y", "dtype": "bf16", "shape": ["30", "20"], "strides": ["47", "2"], "access": "readwrite"})j",
     R"j({"op": "alloc", "name": "x", "space": "fragment", "dtype": "f32", "shape": [32, 32]}, {"op": "copy", "from": "X[-1:, 0:]", "to": "x", "fill": "5"},
        {"op": "copy", "from": "x", "to": "Y[0:, -2:]"})j"},
    {"scatter",
     R"j({"name": "X", "dtype": "u16", "shape": ["50"], "access": "read"}, {"name": "Y", "dtype": "u16", "shape": ["101"], "access": "readwrite"})j",
     R"j({"op": "map", "index": ["i"], "extent": [50], "body": [{"set": "Y[i * 2 + 1]", "value": "X[49 - i] * X[i] + 1"}]})j"},
    {"nested_control",
     R"j({"name": "X", "dtype": "i64", "shape": ["N"], "access": "read"}, {"name": "Y", "dtype": "i64", "shape": ["N"], "access": "write"})j",
     R"j({"op": "alloc", "name": "t", "space": "local", "dtype": "i64", "shape": [16]}, {"op": "copy", "from": "X[bid.x * 16:]", "to": "t"}, {"op": "let", "name": "half", "value": "bid.x // 2"},
        {"op": "for", "var": "a", "from": "half - 1", "to": "bid.x + 2", "body": [{"op": "if", "condition": "(a + half) % 2 == 0", "then": [
          {"op": "map", "index": ["i"], "extent": [16], "body": [{"set": "t[i]", "value": "t[i] * 3 + cast(a, i64)"}]}], "else": [
          {"op": "for", "var": "b", "from": "5", "to": "a", "body": [{"op": "map", "index": ["i"], "extent": [16], "body": [{"set": "t[i]", "value": "t[i] - cast(b * i, i64)"}]}]},
          {"op": "for", "var": "c", "from": "-3", "to": "4", "step": "3", "body": [{"op": "map", "index": ["i"], "extent": [16], "body": [{"set": "t[i]", "value": "t[i] ^ cast(c, i64)"}]}]}]}]},
        {"op": "copy", "from": "t", "to": "Y[bid.x * 16:]"})j",
     R"j("ceildiv(N, 16)")j"},
    {"scalars",
     R"j({"name": "s", "scalar": true, "dtype": "bf16"}, {"name": "n", "scalar": true, "dtype": "i32"}, {"name": "Y", "dtype": "f32", "shape": ["33"], "access": "write"})j",
     R"j({"op": "let", "name": "m", "value": "min(max(n, 0), 20)"}, {"op": "map", "index": ["i"], "extent": [33], "body": [{"set": "Y[i]", "value": "cast(s, f32) * i if i < m else -1.0"}]})j"},
    {"bitcasts",
     R"j({"name": "X", "dtype": "f16", "shape": ["70"], "access": "read"}, {"name": "Y", "dtype": "u16", "shape": ["70"], "access": "write"}, {"name": "Z", "dtype": "bf16", "shape": ["70"], "access": "write"})j",
     R"j({"op": "map", "index": ["i"], "extent": [70], "body": [{"let": "b", "value": "bitcast(X[i], u16)"}, {"set": "Y[i]", "value": "b ^ 3"}, {"set": "Z[i]", "value": "bitcast(b, bf16)"}]})j"},
    {"doubles",
     R"j({"name": "X", "dtype": "f64", "shape": ["9", "21"], "access": "read"}, {"name": "Y", "dtype": "f16", "shape": ["9", "21"], "access": "write"}, {"name": "Z", "dtype": "bf16", "shape": ["21", "9"], "access": "write"})j",
     R"j({"op": "alloc", "name": "x", "space": "fragment", "dtype": "f64", "shape": [9, 21]}, {"op": "copy", "from": "X[0:, 0:]", "to": "x"}, {"op": "copy", "from": "x", "to": "Y[0:, 0:]"},
        {"op": "map", "index": ["j", "i"], "extent": [21, 9], "body": [{"set": "Z[j, i]", "value": "cast(x[i, j] / 3.0, bf16)"}]})j"},
    // Found by random programs: LLVM wrote two i16 where the mask allows one, and loaded a vector of which the mask
    // allows a part.
    {"one_narrow_lane",
     R"j({"name": "X", "dtype": "f64", "shape": ["6", "26"], "access": "read"}, {"name": "Y", "dtype": "bf16", "shape": ["6", "26"], "access": "write"})j",
     R"j({"op": "alloc", "name": "x", "space": "fragment", "dtype": "f64", "shape": [6, 47]}, {"op": "copy", "from": "X[0:, 0:]", "to": "x"},
        {"op": "copy", "from": "x", "to": "Y[0:, 0:]", "limit": [null, "25"]})j"},
    {"part_of_a_wide_vector",
     R"j({"name": "X", "dtype": "i64", "shape": ["53", "2"], "access": "read"}, {"name": "Y", "dtype": "i32", "shape": ["66", "13"], "access": "write"})j",
     R"j({"op": "map", "index": ["i", "j"], "extent": [33, 13], "body": [{"set": "Y[bid.x * 33 + i, j]",
        "value": "cast(X[bid.x * 33 + i - 1, j + 1], i32) if bid.x * 33 + i >= 1 && bid.x * 33 + i - 1 < 53 && j + 1 < 2 else 32"}]})j",
     R"("2")"},
    {"outside_reads_give_zero",
     R"j({"name": "X", "dtype": "f32", "shape": ["50"], "access": "read"}, {"name": "Y", "dtype": "f32", "shape": ["60"], "access": "write"})j",
     R"j({"op": "map", "index": ["i"], "extent": [60], "body": [{"set": "Y[i]", "value": "X[i - 5] if i >= 5 && i < 55 else 1.0"}]})j"},
};

class HostStatement : public testing::TestWithParam<std::tuple<Case, std::string>> {};

TEST_P(HostStatement, EqualsTheInterpreter) {
  const auto& [c, target] = GetParam();
  const auto program = bind_text(text_of(c), {{"N", "90"}}, target);
  ASSERT_TRUE(program) << to_text(program.error());
  HostRunner runner(2);
  EXPECT_EQ(differences(runner, *program, random_tensors(*program, 5), true), "");
}
INSTANTIATE_TEST_SUITE_P(All, HostStatement,
                         testing::Combine(testing::ValuesIn(cases), testing::Values("host", "host:avx2")),
                         [](const auto& info) {
                           const std::string target = std::get<1>(info.param);
                           return std::string(std::get<0>(info.param).name) + (target == "host" ? "_widest" : "_avx2");
                         });

bound::ExprPtr node(bound::Expr::Kind kind, DType type, std::int64_t id, std::vector<bound::ExprPtr> args) {
  bound::Expr expr;
  expr.kind = kind;
  expr.type = type;
  expr.integer = id;
  expr.args = std::move(args);
  return std::make_shared<const bound::Expr>(std::move(expr));
}
// I[position] as an index: the language has no such indices yet, bound programs do.
bound::ExprPtr loaded_index(const bound::ExprPtr& position) {
  return node(bound::Expr::Kind::cast, DType::index, 0, {node(bound::Expr::Kind::tensor, DType::i32, 0, {position})});
}

// gather: Y[bid.x * 512 + i] = X[I[i * 16]]; then scatter: Y[I[bid.x * 256 + i]] = 1.
Result<bound::Program> gather_and_scatter() {
  KILN_TRY(auto program, bind_text(R"json({"kiln": "tile/1", "name": "one", "params": [
      {"name": "I", "dtype": "i32", "shape": ["4096"], "access": "read"}, {"name": "X", "dtype": "f32", "shape": ["1024"], "access": "read"},
      {"name": "Y", "dtype": "f32", "shape": ["4096"], "access": "readwrite"}],
    "launches": [{"grid": ["8"], "threads": "1", "body": [
      {"op": "for", "var": "n", "to": "200", "body": [
        {"op": "map", "index": ["i"], "extent": ["256"], "body": [{"set": "Y[bid.x * 512 + i]", "value": "X[i]"}]}]},
      {"op": "map", "index": ["i"], "extent": ["256"], "body": [{"set": "Y[bid.x * 256 + i]", "value": "1.0"}]}]}]})json",
                                   {}));
  auto& gather = std::get<bound::Map>(std::get<bound::For>(program.launches[0].body[0].node).body[0].node);
  auto& scatter = std::get<bound::Map>(program.launches[0].body[1].node);
  const auto variable = [](int id) { return node(bound::Expr::Kind::variable, DType::index, id, {}); };
  const auto position = bound::make_binary(Op::mul, variable(gather.index[0]), bound::make_integer(16));
  gather.body[0].value = node(bound::Expr::Kind::tensor, DType::f32, 1, {loaded_index(position)});
  scatter.body[0].indices[0] = loaded_index(scatter.body[0].indices[0]);
  return program;
}

TEST(HostSafety, IndicesFromTensorsAreUsed) {
  auto program = gather_and_scatter();
  ASSERT_TRUE(program) << to_text(program.error());
  program->launches[0].body.pop_back();
  std::vector<Bytes> tensors = random_tensors(*program, 9);
  auto* index = reinterpret_cast<std::int32_t*>(tensors[0].data());
  for (int i = 0; i < 4096; ++i)
    index[i] = i % 64 == 0 ? -5 + i : (i * 37) % 1024;  // some are outside: 0 is read there
  HostRunner runner(2);
  const auto out = runner.run_once(*program, tensors);
  ASSERT_TRUE(out) << to_text(out.error());
  const auto* x = reinterpret_cast<const float*>(tensors[1].data());
  const auto* y = reinterpret_cast<const float*>((*out)[2].data());
  for (int i = 0; i < 256; ++i) {
    const std::int32_t at = index[i * 16];
    EXPECT_EQ(y[512 + i], at >= 0 && at < 1024 ? x[at] : 0.0f) << i;
  }
}

// Another process writes the index tensor while the kernel runs: whatever it reads, it must not leave the tensors (the
// pages behind them are not there).
TEST(HostSafety, IndicesThatChangeMeanwhileStayInside) {
  const auto program = gather_and_scatter();
  ASSERT_TRUE(program) << to_text(program.error());
  const auto compiled = compile_for_host(*program);
  ASSERT_TRUE(compiled) << to_text(compiled.error());
  HostRunner runner(2);
  const auto kernel = runner.load(*compiled);
  ASSERT_TRUE(kernel);
  const auto guarded = [&](std::size_t bytes, SharedBuffer& buffer) {
    auto fd = create_memfd("guarded", bytes);
    ASSERT_TRUE(fd);
    auto mapping = Mapping::map(fd->get(), bytes, true);
    ASSERT_TRUE(mapping);
    const auto id = runner.device().map(fd->get(), 0, bytes + 4096, true);
    ASSERT_TRUE(id);
    buffer = {std::move(*fd), std::move(*mapping), *id};
  };
  SharedBuffer index, x, y;
  guarded(16384, index);
  guarded(4096, x);
  guarded(16384, y);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    auto* values = reinterpret_cast<volatile std::int32_t*>(index.mapping.data());
    for (std::uint32_t round = 1; !stop.load(); ++round) {
      for (int i = 0; i < 4096; i += 16)
        values[i] = round % 2 == 0 ? i % 1024 : static_cast<std::int32_t>(round * 2654435761u);
    }
  });
  for (int i = 0; i < 30; ++i) {
    std::promise<Status> promise;
    runner.device().launch(*kernel, {{index.id, 0, 16384, {}}, {x.id, 0, 4096, {}}, {y.id, 0, 16384, {}}}, 0,
                           [&](auto report) { promise.set_value(report ? Status() : Status(report.error())); });
    EXPECT_TRUE(promise.get_future().get());
  }
  stop = true;
  writer.join();
}

}  // namespace
}  // namespace kiln::test
