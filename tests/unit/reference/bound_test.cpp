// Bound programs: folding, encoding, the validator, printing.
#include <random>

#include "engine/base/hash.hpp"
#include "tests/unit/reference/builder.hpp"
#include "tests/unit/reference/programs.hpp"

namespace kiln::test {
namespace {

TEST(Fold, ConstantsAndIdentities) {
  Builder b;
  const auto i = b.var(b.variable("i"));
  EXPECT_EQ(bound::make_binary(Op::add, integer(2), integer(3))->integer, 5);
  EXPECT_EQ(bound::make_binary(Op::ceildiv, integer(7), integer(2))->integer, 4);
  EXPECT_EQ(bound::make_binary(Op::lt, integer(2), integer(3))->type, DType::boolean);
  EXPECT_EQ(bound::make_binary(Op::add, i, integer(0)), i);
  EXPECT_EQ(bound::make_binary(Op::mul, integer(1), i), i);
  EXPECT_EQ(bound::make_binary(Op::mul, i, integer(0))->integer, 0);
  EXPECT_EQ(bound::make_binary(Op::mod, i, integer(1))->integer, 0);
  EXPECT_EQ(
      bound::make_binary(Op::logical_and, integer(1, DType::boolean), bound::make_binary(Op::lt, i, integer(3)))->op,
      Op::lt);
  EXPECT_EQ(bound::make_binary(Op::max, i, integer(3))->kind, bound::Expr::Kind::call);
}

TEST(Fold, FloatsKeepTheirZerosAndReadsStay) {
  Builder b;
  const int x = b.tile("x", DType::f32, {4});
  const int n = b.tile("n", DType::i32, {4});
  const auto element = b.at(x, {integer(0)});
  EXPECT_NE(bound::make_binary(Op::add, element, real(0)), element);
  EXPECT_EQ(bound::make_binary(Op::mul, element, real(0))->kind, bound::Expr::Kind::binary);
  EXPECT_EQ(bound::make_binary(Op::mul, b.at(n, {integer(9)}), integer(0, DType::i32))->kind,
            bound::Expr::Kind::binary);
}

TEST(Fold, CastsAndSelects) {
  const auto truncated = bound::fold(*cast(real(-1.5), DType::i8));
  EXPECT_EQ(truncated->integer, -1);
  const auto a = real(1), c = real(2);
  EXPECT_EQ(bound::fold(*select(integer(0, DType::boolean), a, c)), c);
  EXPECT_EQ(bound::fold(*cast(a, DType::f32))->real, 1);
}

TEST(Encoding, RoundTripsEveryProgram) {
  for (const auto& [name, program] : sample_programs()) {
    ASSERT_TRUE(bound::check(program)) << name << ": " << text_of(bound::check(program));
    const auto bytes = bound::encode(program, true);
    auto decoded = bound::decode(bytes);
    ASSERT_TRUE(decoded) << name << ": " << to_text(decoded.error());
    EXPECT_EQ(bound::encode(*decoded, true), bytes) << name;
    EXPECT_EQ(bound::print(*decoded), bound::print(program)) << name;
  }
}

TEST(Check, TheGridsBlocksAreLimitedTogether) {
  auto program = sample_programs().front().second;
  const auto sound = [&](std::vector<std::int64_t> grid) {
    program.launches[0].grid = bound::extents_of(grid);
    return bool(bound::check(program));
  };
  const std::int64_t most = bound::grid_extent_max;
  EXPECT_TRUE(sound({std::int64_t(1) << 20, std::int64_t(1) << 20, 1}));
  EXPECT_FALSE(sound({std::int64_t(1) << 20, std::int64_t(1) << 20, 2}));
  EXPECT_FALSE(sound({most, most, 4})) << "the product is 4 modulo 2^64";
  EXPECT_FALSE(sound({most, most, most}));
  EXPECT_TRUE(sound({most, most, 0}));
}

TEST(Encoding, WithoutNamesIgnoresThemAndIsNoInput) {
  auto a = gemm_program(40, 30, 20, 16, DType::f16, DType::f32);
  auto b = a;
  b.tensors[0].name = "other";
  b.launches[0].tiles[0].name = "tile";
  b.launches[0].body[0].pointer = "/elsewhere";
  EXPECT_EQ(bound::encode(a, false), bound::encode(b, false));
  EXPECT_NE(bound::encode(a, true), bound::encode(b, true));
  b.tensors[0].align_bytes = 8;
  EXPECT_NE(bound::encode(a, false), bound::encode(b, false));
  const auto decoded = bound::decode(bound::encode(a, false));
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, ErrorCode::corrupt);
}

TEST(Encoding, DamagedBytesAreCorruptAndNeverCrash) {
  const auto seed = 4711u;
  std::mt19937 random(seed);
  std::size_t survived = 0;
  for (const auto& [name, program] : sample_programs()) {
    const auto bytes = bound::encode(program, true);
    for (std::size_t cut = 0; cut < bytes.size(); cut += 1 + cut / 16) {
      const auto decoded = bound::decode(ByteView(bytes).first(cut));
      ASSERT_FALSE(decoded) << name << " cut at " << cut;
      EXPECT_EQ(decoded.error().code, ErrorCode::corrupt);
    }
    for (int i = 0; i < 3000; ++i) {
      auto damaged = bytes;
      const int flips = 1 + static_cast<int>(random() % 4);
      for (int f = 0; f < flips; ++f)
        damaged[random() % damaged.size()] ^= static_cast<std::uint8_t>(1u << (random() % 8));
      const auto decoded = bound::decode(damaged);
      if (!decoded) {
        EXPECT_EQ(decoded.error().code, ErrorCode::corrupt) << name << " seed " << seed;
        continue;
      }
      // Some flips change a name or a constant. What passed must be safe to print, encode and run.
      ++survived;
      EXPECT_TRUE(bound::check(*decoded)) << name << " seed " << seed << " step " << i;
      bound::print(*decoded);
      EXPECT_EQ(bound::encode(*decoded, true).size(), damaged.size());
    }
  }
  EXPECT_GT(survived, 0u);
}

// Damaged programs that decode are run with real buffers: whatever happens is an answer, never a crash.
TEST(Encoding, DamagedProgramsThatDecodeRunSafely) {
  const auto seed = 1234u;
  std::mt19937 random(seed);
  for (const auto& [name, program] : sample_programs()) {
    const auto bytes = bound::encode(program, true);
    for (int i = 0; i < 1500; ++i) {
      auto damaged = bytes;
      damaged[random() % damaged.size()] ^= static_cast<std::uint8_t>(1u << (random() % 8));
      const auto decoded = bound::decode(damaged);
      if (!decoded) continue;
      bool small = true;
      for (const auto& t : decoded->tensors) small = small && t.bytes() < (1 << 20);
      for (const auto& l : decoded->launches) {
        std::int64_t elements = 0;
        for (const auto& t : l.tiles) elements += t.elements();
        small = small && elements < (1 << 18);
      }
      if (!small) continue;
      Buffers buffers(*decoded);
      reference::RunOptions options;
      options.steps_max = 20000;
      (void)reference::run(*decoded, buffers.arguments(), options);
    }
  }
}

TEST(Encoding, RandomBytes) {
  const auto seed = 99u;
  std::mt19937 random(seed);
  for (int i = 0; i < 2000; ++i) {
    Bytes bytes(random() % 300);
    for (auto& b : bytes) b = static_cast<std::uint8_t>(random());
    EXPECT_FALSE(bound::decode(bytes)) << "seed " << seed;
  }
}

TEST(Check, DepthIsLimited) {
  Builder b;
  const int t = b.tile("t", DType::f32, {4});
  const int i = b.variable("i");
  auto deep = b.var(i);
  for (int d = 0; d < 600; ++d) deep = operation(Op::bit_not, {deep});
  b.add(bound::Map{{i}, {4}, {Builder::set(t, {deep}, real(0))}});
  EXPECT_FALSE(bound::check(b.program));
  EXPECT_FALSE(bound::decode(bound::encode(b.program, true)));
}

// Each change makes a sound program unsound in one way.
TEST(Check, RefusesWhatLaterStepsRelyOn) {
  using Change = void (*)(bound::Program&);
  const std::pair<const char*, Change> changes[] = {
      {"name", [](bound::Program& p) { p.name = "1 bad"; }},
      {"grid", [](bound::Program& p) { p.launches[0].grid = {1, 1}; }},
      {"grid extent", [](bound::Program& p) { p.launches[0].grid[1] = -1; }},
      {"threads", [](bound::Program& p) { p.launches[0].threads = 0; }},
      {"tensor type", [](bound::Program& p) { p.tensors[0].dtype = DType::index; }},
      {"tensor too large", [](bound::Program& p) { p.tensors[0].strides[0] = std::int64_t(1) << 61; }},
      {"negative stride", [](bound::Program& p) { p.tensors[0].strides[0] = -1; }},
      {"alignment", [](bound::Program& p) { p.tensors[0].align_bytes = 3; }},
      {"strides", [](bound::Program& p) { p.tensors[0].strides.pop_back(); }},
      {"tile rank", [](bound::Program& p) { p.launches[0].tiles[0].shape = {1, 1, 1, 1, 1}; }},
      {"tile size", [](bound::Program& p) { p.launches[0].tiles[0].shape[0] = std::int64_t(1) << 40; }},
      {"tile gone", [](bound::Program& p) { p.launches[0].tiles.pop_back(); }},
      {"gemm shapes", [](bound::Program& p) { p.launches[0].tiles[0].shape[1] += 1; }},
      {"written tensor is read-only", [](bound::Program& p) { p.tensors[2].access = Access::read; }},
      {"read tensor is write-only", [](bound::Program& p) { p.tensors[0].access = Access::write; }},
      {"variable type", [](bound::Program& p) { p.launches[0].variables[0].type = DType::i32; }},
      {"loop step", [](bound::Program& p) {
         for (auto& s : p.launches[0].body)
           if (auto* loop = std::get_if<bound::For>(&s.node)) loop->step = integer(0);
       }},
      {"loop without a bound", [](bound::Program& p) {
         for (auto& s : p.launches[0].body)
           if (auto* loop = std::get_if<bound::For>(&s.node)) loop->to = nullptr;
       }},
  };
  const auto sound = gemm_program(40, 30, 20, 16, DType::f16, DType::f32);
  ASSERT_TRUE(bound::check(sound)) << text_of(bound::check(sound));
  for (const auto& [what, change] : changes) {
    auto program = sound;
    change(program);
    const auto status = bound::check(program);
    ASSERT_FALSE(status) << what;
    EXPECT_EQ(status.error().code, ErrorCode::corrupt) << what;
    EXPECT_FALSE(bound::decode(bound::encode(program, true))) << what;
  }
}

TEST(Check, VariablesMustBeSet) {
  Builder b;
  const int t = b.tile("t", DType::f32, {4});
  const int i = b.variable("i"), v = b.variable("v", DType::f32);
  b.add(bound::Map{{i}, {4}, {Builder::set(t, {b.var(i)}, b.var(v))}});
  EXPECT_FALSE(bound::check(b.program));
  b.launch().body.insert(b.launch().body.begin(), Builder::stmt(bound::Let{v, real(1)}));
  EXPECT_TRUE(bound::check(b.program));
  b.add(bound::Let{v, cast(b.var(i), DType::f32)});  // the map's index is gone after the map
  EXPECT_FALSE(bound::check(b.program));
}

TEST(Print, OneStatementALine) {
  Builder b({2, 1, 1});
  const int x = b.tensor("X", DType::f16, {10, 8});
  const int y = b.tensor("Y", DType::f32, {10}, Access::write);
  const int xs = b.tile("Xs", DType::f16, {4, 8}, Space::shared);
  const int f = b.tile("F", DType::f32, {4, 8});
  const int s = b.tile("S", DType::f32, {4});
  const int i = b.variable("i"), j = b.variable("j");
  b.launch().tiles[0].layout.kind = LayoutSpec::Kind::row_major;
  b.add(b.load(x, {block(0) * integer(4), integer(0)}, xs));
  b.add(bound::Map{
      {i, j},
      {4, 8},
      {Builder::set(f, {b.var(i), b.var(j)}, cast(b.at(xs, {b.var(i), b.var(j)}), DType::f32) * real(0.5))}});
  b.add(bound::Reduce{tile::ReduceOp::sum, f, s, 1, false});
  b.add(b.store(s, y, {block(0) * integer(4)}));
  EXPECT_EQ(bound::print(b.program),
            "program test for host\n"
            "tensor X: f16[10, 8] strides [8, 1] read align 16\n"
            "tensor Y: f32[10] strides [1] write align 16\n"
            "launch 0 grid [2, 1, 1] threads 64\n"
            "  shared Xs: f16[4, 8] layout row_major\n"
            "  fragment F: f32[4, 8]\n"
            "  fragment S: f32[4]\n"
            "  copy Xs = X[(bid.x * 4):, 0:] [4, 8]\n"
            "  map i < 4, j < 8\n"
            "    F[i, j] = f32(Xs[i, j]) * 0.5:f32\n"
            "  reduce S = sum of F over axis 1\n"
            "  copy Y[(bid.x * 4):] = S [4]\n");
}

}  // namespace
}  // namespace kiln::test
