// `schedule`: read, written, bound, part of the key; and the order of blocks that it gives.
#include <random>
#include <set>

#include "tests/unit/tile/support.hpp"

namespace kiln::test {
namespace {

// A gemm in a pipelined loop, with schedules put in.
struct Wanted {
  std::string launch, gemm, copy, loop;
  std::string stages = R"("stages": "2", )";
};
std::string gemm_program(const Wanted& wanted, const std::string& program = "") {
  const auto field = [](const std::string& text) { return text.empty() ? "" : R"("schedule": )" + text + ", "; };
  return R"json({"kiln": "tile/1", "name": "scheduled", "symbols": ["M", "N", "K"], )json" + program +
         R"json("params": [
    {"name": "A", "dtype": "f16", "shape": ["M", "K"], "access": "read"},
    {"name": "B", "dtype": "f16", "shape": ["K", "N"], "access": "read"},
    {"name": "C", "dtype": "f32", "shape": ["M", "N"], "access": "write"}],
  "tunables": {"P": {"default": "4", "candidates": [0, 1, 4]}},
  "launches": [{)json" + field(wanted.launch) +
         R"json("grid": ["ceildiv(N, 64)", "ceildiv(M, 64)"], "threads": "256", "body": [
    {"op": "alloc", "name": "a", "space": "shared", "dtype": "f16", "shape": [64, 64]},
    {"op": "alloc", "name": "b", "space": "shared", "dtype": "f16", "shape": [64, 64]},
    {"op": "alloc", "name": "c", "space": "fragment", "dtype": "f32", "shape": [64, 64]},
    {"op": "fill", "tile": "c", "value": 0},
    {"op": "for", "var": "k", "to": "K", "step": 64, "kind": "pipelined", )json" + wanted.stages + field(wanted.loop) +
         R"json("body": [
      {)json" + field(wanted.copy) + R"json("op": "copy", "from": "A[bid.y * 64:, k:]", "to": "a"},
      {"op": "copy", "from": "B[k:, bid.x * 64:]", "to": "b"},
      {)json" + field(wanted.gemm) + R"json("op": "gemm", "a": "a", "b": "b", "c": "c"}]},
    {"op": "copy", "from": "c", "to": "C[bid.y * 64:, bid.x * 64:]"}]}]})json";
}

const Wanted everything{
    R"({"block_order": {"panel": "P", "along": "y"}, "waves": [2, 2]})",
    R"({"instruction": [16, "8 * 2", 16], "k_pack": 2, "waves": ["P", 1], "hint": true})",
    R"({"vector_bytes": 8})",
    R"({"stages": 2, "order": [1, 0, null], "stage": [0, 0, 1]})",
};

std::string mistakes(const Error& error) {
  std::string text;
  for (const auto& d : error.diagnostics) text += d.pointer + ": " + d.message + "\n";
  return text;
}

// The place of the first mistake of a program that is refused, read or bound.
std::string refused_at(const std::string& json) {
  const auto bound = bind_text(json);
  return bound || bound.error().diagnostics.empty() ? "not refused" : bound.error().diagnostics.front().pointer;
}

const bound::For& loop_of(const bound::Program& program) {
  return std::get<bound::For>(program.launches[0].body[1].node);
}

TEST(Schedule, IsPartOfTheCanonicalForm) {
  const auto program = tile::read_program(gemm_program(everything));
  ASSERT_TRUE(program) << mistakes(program.error());
  const std::string written = tile::write_program(*program);
  const auto again = tile::read_program(written);
  ASSERT_TRUE(again) << mistakes(again.error()) << written;
  EXPECT_EQ(tile::write_program(*again), written);
  for (const char* part : {"\"panel\": \"P\"", "\"along\": \"y\"", "\"waves\": [\"2\", \"2\"]",
                           "\"instruction\": [\"16\", \"8 * 2\", \"16\"]", "\"k_pack\": \"2\"", "\"hint\": true",
                           "\"vector_bytes\": \"8\"", "\"order\": [\"1\", \"0\", null]",
                           "\"stage\": [\"0\", \"0\", \"1\"]"})
    EXPECT_NE(written.find(part), std::string::npos) << part << written;
}

TEST(Schedule, WhatSaysNothingIsLeftOut) {
  const auto plain = tile::read_program(gemm_program({}));
  const auto empty = tile::read_program(
      gemm_program({"{}", R"({"hint": true})", "{}", R"({"order": [null, null, null], "stages": 2})", ""}));
  ASSERT_TRUE(plain && empty);
  EXPECT_EQ(tile::write_program(*plain), tile::write_program(*empty));
}

TEST(Schedule, OfTheProgramIsOfEveryLaunchThatSaysNothingElse) {
  const std::string all = R"("schedule": {"block_order": {"panel": 3}, "waves": [4, 1]}, )";
  const auto bound = bind_text(gemm_program({R"({"block_order": {"panel": 2, "along": "y"}})", "", "", ""}, all));
  ASSERT_TRUE(bound) << mistakes(bound.error());
  const auto& schedule = bound->launches[0].schedule;
  EXPECT_EQ(schedule.order.panel, 2);
  EXPECT_TRUE(schedule.order.along_y);
  EXPECT_EQ(schedule.waves_m, 4);
  EXPECT_EQ(schedule.waves_n, 1);
}

TEST(Schedule, BindsNumbersAndTurns) {
  const auto bound = bind_text(gemm_program(everything));
  ASSERT_TRUE(bound) << mistakes(bound.error());
  EXPECT_EQ(bound->launches[0].schedule.order.panel, 4);
  const bound::For& loop = loop_of(*bound);
  EXPECT_EQ(loop.stages, 2);
  ASSERT_EQ(loop.body.size(), 3u);
  EXPECT_EQ(loop.body[0].turn.position, 1);
  EXPECT_EQ(loop.body[1].turn.position, 0);
  EXPECT_EQ(loop.body[2].turn.position, -1);
  EXPECT_EQ(loop.body[2].turn.stage, 1);
  EXPECT_EQ(std::get<bound::Copy>(loop.body[0].node).schedule.vector_bytes, 8);
  const auto& gemm = std::get<bound::Gemm>(loop.body[2].node).schedule;
  EXPECT_EQ((std::vector{gemm.m, gemm.n, gemm.k, gemm.k_pack, gemm.waves_m, gemm.waves_n}),
            (std::vector{16, 16, 16, 2, 4, 1}));
  EXPECT_TRUE(gemm.hint);
  const std::string text = bound::print(*bound);
  EXPECT_NE(text.find(" by instruction 16x16x16 k-pack 2 waves 4x1 (a hint) stage 1"), std::string::npos) << text;
}

// Each part by itself makes another program; the encoding gives all of it back.
TEST(Schedule, IsPartOfTheKey) {
  std::vector<Wanted> list = {
      {},
      {R"({"block_order": {"panel": 2}})", "", "", ""},
      {R"({"block_order": {"panel": 2, "along": "y"}})", "", "", ""},
      {R"({"waves": [2, 0]})", "", "", ""},
      {"", R"({"instruction": [16, 16]})", "", ""},
      {"", R"({"instruction": [16, 16], "hint": true})", "", ""},
      {"", R"({"k_pack": 1})", "", ""},
      {"", "", R"({"vector_bytes": 4})", ""},
      {"", "", "", R"({"order": [1, 0, 2]})"},
      {"", "", "", R"({"stage": [0, 1, 1]})"},
  };
  std::set<Bytes> keys;
  for (const Wanted& wanted : list) {
    const auto bound = bind_text(gemm_program(wanted));
    ASSERT_TRUE(bound) << mistakes(bound.error());
    EXPECT_TRUE(keys.insert(bound::encode(*bound, false)).second) << bound::print(*bound);
    const Bytes all = bound::encode(*bound, true);
    const auto decoded = bound::decode(all);
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(bound::encode(*decoded, true), all);
  }
}

TEST(Schedule, StagesMayBeGivenEitherWay) {
  const auto field = bind_text(gemm_program({}));
  const auto schedule = bind_text(gemm_program({"", "", "", R"({"stages": "2"})", ""}));
  ASSERT_TRUE(field && schedule);
  EXPECT_EQ(bound::encode(*field, false), bound::encode(*schedule, false));
  EXPECT_EQ(refused_at(gemm_program({"", "", "", R"({"stages": 3})"})), "/launches/0/body/4/schedule/stages");
  EXPECT_EQ(refused_at(gemm_program({"", "", "", R"({"stage": [0, 0, 1]})", R"("stages": 1, )"})),
            "/launches/0/body/4/schedule/stage");
}

TEST(Schedule, MistakesAreLocated) {
  const std::string launch = "/launches/0/schedule", loop = "/launches/0/body/4", gemm = loop + "/body/2/schedule";
  const struct {
    Wanted wanted;
    std::string pointer;
  } cases[] = {
      {{R"({"block_order": {"panel": -1}})", "", "", ""}, launch + "/block_order/panel"},
      {{R"({"block_order": {"along": "x"}})", "", "", ""}, launch + "/block_order"},
      {{R"({"block_order": {"panel": 2, "along": "z"}})", "", "", ""}, launch + "/block_order/along"},
      {{R"({"block_order": {"panel": "bid.x"}})", "", "", ""}, launch + "/block_order/panel"},
      {{R"({"waves": [2]})", "", "", ""}, launch + "/waves"},
      {{R"({"waves": [3, 1]})", "", "", ""}, launch + "/waves/0"},
      {{R"({"blok_order": {"panel": 2}})", "", "", ""}, launch + "/blok_order"},
      {{R"({"cluster": [2, 1]})", "", "", ""}, launch + "/cluster"},
      {{R"({"wave_roles": []})", "", "", ""}, launch + "/wave_roles"},
      {{R"({"register_split": 2})", "", "", ""}, launch + "/register_split"},
      {{R"([])", "", "", ""}, launch},
      {{"", R"({"instruction": [16]})", "", ""}, gemm + "/instruction"},
      {{"", R"({"instruction": [16, "nothing"]})", "", ""}, gemm + "/instruction/1"},
      {{"", R"({"k_pack": 3})", "", ""}, gemm + "/k_pack"},
      {{"", "", R"({"vector_bytes": 12})", ""}, loop + "/body/0/schedule/vector_bytes"},
      {{"", "", R"({"vector_bytes": 1})", ""}, loop + "/body/0/schedule/vector_bytes"},
      {{"", "", "", R"({"order": [0, 1]})"}, loop + "/schedule/order"},
      {{"", "", "", R"({"order": [0, 1, 1]})"}, loop + "/schedule/order/2"},
      {{"", "", "", R"({"order": [0, 1, 3]})"}, loop + "/schedule/order/2"},
      {{"", "", "", R"({"stage": ["k", 0, 1]})"}, loop + "/schedule/stage/0"},
  };
  for (const auto& one : cases) EXPECT_EQ(refused_at(gemm_program(one.wanted)), one.pointer);
}

TEST(Schedule, ALoopThatIsNotPipelinedHasNone) {
  std::string text = gemm_program({"", "", "", R"({"order": [0, 1, 2]})", ""});
  const std::string kind = R"("kind": "pipelined", )";
  text.erase(text.find(kind), kind.size());
  EXPECT_EQ(refused_at(text), "/launches/0/body/4/schedule");
}

// Statements that do not exist take no one's turn.
TEST(Schedule, TurnsStayWithTheirStatements) {
  std::string text = gemm_program({"", "", "", R"({"order": [0, 1, 2], "stage": [0, 0, 1]})"});
  const std::string first = R"("op": "copy", "from": "A[bid.y * 64:, k:]")";
  text.replace(text.find(first), first.size(), R"("when": "K > 1000", )" + first);
  text.replace(text.find("{\"op\": \"fill\""), 1, R"({"op": "copy", "from": "A[0:, 0:]", "to": "a"}, {)");
  const auto bound = bind_text(text);
  ASSERT_TRUE(bound) << mistakes(bound.error());
  const auto& loop = std::get<bound::For>(bound->launches[0].body[2].node);
  ASSERT_EQ(loop.body.size(), 2u);
  EXPECT_EQ(loop.body[0].turn.position, 1);
  EXPECT_EQ(loop.body[1].turn.position, 2);
}

// The order by its definition: panel after panel, within one along, within that across.
std::vector<std::pair<std::int64_t, std::int64_t>> by_definition(const bound::BlockOrder& order, std::int64_t nx,
                                                                 std::int64_t ny) {
  const std::int64_t along = order.along_y ? ny : nx, across = order.along_y ? nx : ny;
  const std::int64_t panel = std::max<std::int64_t>(order.panel, 1);
  std::vector<std::pair<std::int64_t, std::int64_t>> list;
  for (std::int64_t first = 0; first < across; first += panel)
    for (std::int64_t a = 0; a < along; ++a)
      for (std::int64_t b = first; b < std::min(first + panel, across); ++b)
        list.push_back(order.along_y ? std::pair(b, a) : std::pair(a, b));
  return list;
}

TEST(BlockOrder, IsWhatItsDefinitionSaysForEveryGrid) {
  std::mt19937 random(20261130);
  for (int round = 0; round < 2000; ++round) {
    const std::int64_t nx = 1 + random() % 40, ny = 1 + random() % 40;
    bound::BlockOrder order;
    order.panel = random() % 8 == 0 ? INT32_MAX : random() % 45;
    order.along_y = random() % 2 == 0;
    const auto wanted = by_definition(order, nx, ny);
    for (std::int64_t place = 0; place < nx * ny; ++place) {
      const auto block = bound::block_at(order, nx, ny, place);
      ASSERT_EQ(std::pair(block.x, block.y), wanted[static_cast<std::size_t>(place)])
          << nx << "x" << ny << " panel " << order.panel << (order.along_y ? " along y at " : " along x at ") << place;
    }
  }
}

}  // namespace
}  // namespace kiln::test
