#include "engine/tune/candidates.hpp"

#include <cmath>
#include <set>

#include "engine/base/fd.hpp"
#include "engine/tune/checking.hpp"
#include "engine/tune/pruning.hpp"
#include "engine/tune/trial.hpp"
#include "engine/tune/work.hpp"

namespace kiln::tune {
namespace {

std::shared_ptr<const tile::Program> read(const std::string& text) {
  auto program = tile::read_program(text);
  EXPECT_TRUE(program) << to_text(program.error());
  return std::make_shared<const tile::Program>(std::move(*program));
}

std::shared_ptr<const tile::Program> builtin(const std::string& name) {
  const auto bytes = read_file(std::string(KILN_SOURCE_DIR) + "/kernels/programs/" + name + ".json");
  return read(std::string(text(*bytes)));
}

// Two tunables, a default outside the candidates, and a constraint.
std::shared_ptr<const tile::Program> tunable_program() {
  return read(R"J({"kiln": "tile/1", "name": "copy_rows", "symbols": ["N"],
    "params": [{"name": "X", "dtype": "f32", "shape": ["N"], "access": "read"},
               {"name": "Y", "dtype": "f32", "shape": ["N"], "access": "write"}],
    "tunables": {"B": {"default": "48", "candidates": [32, 64, 128]}, "T": {"default": "64", "candidates": [64, 128]}},
    "constraints": ["B <= 64"],
    "launches": [{"grid": ["ceildiv(N, B)"], "threads": "T", "body": [
      {"op": "alloc", "name": "t", "space": "fragment", "dtype": "f32", "shape": ["B"]},
      {"op": "copy", "from": "X[bid.x * B:]", "to": "t"},
      {"op": "copy", "from": "t", "to": "Y[bid.x * B:]"}]}]})J");
}

target::Target target(const std::string& name) { return *target::parse_target(name); }

jit::TuneRequest request_of(std::shared_ptr<const tile::Program> program, jit::Words set, const std::string& target) {
  jit::TuneRequest request;
  request.base.program = std::move(program);
  request.base.program_digest = sha256(view(tile::write_program(*request.base.program)));
  request.base.bindings.set = std::move(set);
  request.base.target = target;
  return request;
}

TEST(Candidates, AreAllCombinationsWithTheDefaultsTheDefaultFirst) {
  const auto offered = offered_candidates(*tunable_program(), {{{"N", "100"}}, {}, {}}, target("gfx942"));
  ASSERT_TRUE(offered) << to_text(offered.error());
  ASSERT_EQ(offered->size(), 8u) << "B of 32, 48, 64, 128 times T of 64, 128";
  EXPECT_TRUE(offered->front().set.empty());
  EXPECT_EQ(offered->front().name, "default");
  std::set<std::string> names;
  double before = 0;
  for (const auto& candidate : *offered) {
    names.insert(candidate.name);
    if (candidate.set.empty()) continue;
    const double b = std::stod(candidate.set.at("B")), t = std::stod(candidate.set.at("T"));
    const double distance = std::fabs(std::log2((b + 1) / 49)) + std::fabs(std::log2((t + 1) / 65));
    EXPECT_GE(distance, before - 1e-9) << candidate.name;
    before = distance;
  }
  EXPECT_EQ(names.size(), 8u);
}

TEST(Candidates, TunablesThatAreSetStay) {
  const auto offered = offered_candidates(*tunable_program(), {{{"N", "100"}, {"T", "128"}}, {}, {}}, target("gfx942"));
  ASSERT_TRUE(offered);
  EXPECT_EQ(offered->size(), 4u);
  for (const auto& candidate : *offered) EXPECT_FALSE(candidate.set.contains("T"));
}

TEST(Candidates, TunablesWithoutCandidatesStayExpressions) {
  const jit::Words sizes{{"B", "1"}, {"H", "1"}, {"HKV", "1"}, {"S", "256"}, {"SK", "256"}, {"D", "64"}};
  const auto offered = offered_candidates(*builtin("flash_attention"), {sizes, {}, {}}, target("host:avx2"));
  ASSERT_TRUE(offered) << to_text(offered.error());
  EXPECT_GT(offered->size(), 4u);
  for (const auto& candidate : *offered) EXPECT_FALSE(candidate.set.contains("DP"));
}

TEST(Trials, ConstraintsAndTwinsEndThemBeforeTheyAreCompiled) {
  const auto trials = make_trials(request_of(tunable_program(), {{"N", "100"}}, "host:avx2"));
  ASSERT_TRUE(trials) << to_text(trials.error());
  std::map<jit::TuneVerdict, int> verdicts;
  for (const auto& trial : trials->all) ++verdicts[trial.row.verdict];
  EXPECT_EQ(verdicts[jit::TuneVerdict::invalid], 2) << "B = 128";
  EXPECT_EQ(verdicts[jit::TuneVerdict::same], 0) << "a host's block is one thread: twins are left out";
  EXPECT_EQ(verdicts[jit::TuneVerdict::open], 3);
  EXPECT_EQ(trials->baseline, 0u);
  EXPECT_TRUE(trials->defaults_in);
  EXPECT_FALSE(trials->own_programs);
  auto given = request_of(tunable_program(), {{"N", "100"}}, "host:avx2");
  given.candidates = {{"", nullptr, {}, {{"B", "32"}}, {}}, {"twin", nullptr, {}, {{"B", "32"}, {"T", "128"}}, {}}};
  EXPECT_EQ(make_trials(given)->all[1].row.reason, "the same as B=32");
  const auto on_card = make_trials(request_of(tunable_program(), {{"N", "100"}}, "gfx942"));
  EXPECT_EQ(std::count_if(on_card->all.begin(), on_card->all.end(), [](const Trial& t) { return t.open(); }), 6);
}

TEST(Trials, OnlyThoseThatMayRunCountTowardsTheMost) {
  auto request = request_of(tunable_program(), {{"N", "100"}}, "gfx942");
  request.candidates_max = 4;
  const auto trials = make_trials(request);
  ASSERT_TRUE(trials);
  EXPECT_EQ(std::count_if(trials->all.begin(), trials->all.end(), [](const Trial& t) { return t.open(); }), 4);
  EXPECT_EQ(trials->all.size() + trials->not_tried, 8u);
}

TEST(Trials, GivenCandidatesAreThoseAlone) {
  auto request = request_of(tunable_program(), {{"N", "100"}}, "gfx942");
  request.candidates = {{"", nullptr, {}, {{"B", "64"}}, {}}, {"mine", nullptr, {}, {{"B", "32"}}, {}}};
  auto trials = make_trials(request);
  ASSERT_TRUE(trials);
  ASSERT_EQ(trials->all.size(), 2u);
  EXPECT_EQ(trials->all[0].row.name, "B=64");
  EXPECT_EQ(trials->all[1].row.name, "mine");
  EXPECT_FALSE(trials->defaults_in);
  const auto asked = trials->asked;
  request.candidates->push_back({"the defaults", nullptr, {}, {}, {}});
  trials = make_trials(request);
  EXPECT_EQ(trials->baseline, 2u);
  EXPECT_TRUE(trials->defaults_in);
  EXPECT_NE(trials->asked, asked);
}

TEST(Trials, CandidatesSetTunablesAlone) {
  auto request = request_of(builtin("gemm"), {{"M", "16"}, {"N", "64"}, {"K", "64"}, {"dtype", "f32"}, {"BK", "32"}},
                            "host:avx2");
  const auto& same = request.base;
  request.candidates = {{"symbol", nullptr, {}, {{"M", "16"}}, {}},
                        {"option", nullptr, {}, {{"activation", "none"}}, {}},
                        {"given", nullptr, {}, {{"BK", "64"}}, {}},
                        {"nothing", nullptr, {}, {{"NOPE", "1"}}, {}},
                        {"no number", nullptr, {}, {{"BM", "f16"}}, {}},
                        {"right", nullptr, {}, {{"BM", "8"}}, {}},
                        {"the same program", same.program, *same.program_digest, {{"dtype", "f16"}}, {}}};
  const auto trials = make_trials(request);
  ASSERT_TRUE(trials) << to_text(trials.error());
  std::map<std::string, std::string> reasons;
  for (const auto& trial : trials->all) reasons[trial.row.name] = trial.row.reason;
  EXPECT_EQ(reasons["symbol"], "M is a symbol of gemm: candidates set tunables");
  EXPECT_EQ(reasons["option"], "activation is an option of gemm: candidates set tunables");
  EXPECT_EQ(reasons["given"], "BK is 32 by the request: candidates set tunables that it leaves open");
  EXPECT_EQ(reasons["nothing"], "NOPE is no tunable of gemm: candidates set tunables");
  EXPECT_EQ(reasons["no number"], "BM is set to f16: a tunable takes an integer: candidates set tunables");
  EXPECT_EQ(reasons["the same program"], "dtype is an option of gemm: candidates set tunables");
  EXPECT_EQ(reasons["right"], "");
}

TEST(Printable, RefusesWhatMovesTheCursorOrTurnsTheText) {
  for (const char* text : {"", "BM=8 BN=64", "größer", "\xe2\x80\x94", "\xc2\xa0", "\xe2\x82\xac"})
    EXPECT_TRUE(jit::printable(text)) << text;
  for (const char* text :
       {"a\nb", "\x1b[31mred", "\x7f", "\xc2\x9b" "31m", "\xe2\x80\xa8", "a\xe2\x80\xae", "\xe2\x81\xa6"})
    EXPECT_FALSE(jit::printable(text)) << text;
}

TEST(Trials, AProgramOfItsOwnMustTakeTheSameArguments) {
  auto request = request_of(tunable_program(), {{"N", "100"}}, "gfx942");
  const auto other = builtin("softmax");
  jit::TuneCandidate candidate{"other", other, sha256(view(tile::write_program(*other))), {{"M", "1"}}, {}};
  request.candidates = {candidate};
  const auto trials = make_trials(request);
  ASSERT_TRUE(trials);
  EXPECT_EQ(trials->all[0].row.verdict, jit::TuneVerdict::invalid);
  EXPECT_TRUE(trials->own_programs);
}

bound::Program bound_builtin(const std::string& name, jit::Words set, const std::string& on = "host:avx2") {
  Budget budget(std::int64_t(32) << 20);
  auto bound = specialize::specialize(*builtin(name), {std::move(set), {}, {}}, target(on), budget);
  EXPECT_TRUE(bound) << to_text(bound.error());
  return std::move(*bound);
}

TEST(Work, AGemmTakesItsProducts) {
  const auto steps =
      interpreter_steps(bound_builtin("gemm", {{"M", "512"}, {"N", "512"}, {"K", "512"}, {"dtype", "f32"}}));
  EXPECT_GT(steps, 512ll * 512 * 512);
  EXPECT_LT(steps, 4 * 512ll * 512 * 512);
}

TEST(Work, LoopsThatDependOnTheBlockCountAsInTheLast) {
  jit::Words sizes{{"B", "1"}, {"H", "1"}, {"HKV", "1"}, {"S", "256"}, {"SK", "256"}, {"D", "64"}};
  sizes["causal"] = "true";
  const auto causal = interpreter_steps(bound_builtin("flash_attention", sizes));
  sizes["causal"] = "false";
  const auto whole = interpreter_steps(bound_builtin("flash_attention", sizes));
  EXPECT_GT(causal, whole / 2);
  EXPECT_LT(causal, 2 * whole);
}

// "n" is a scalar: where its loop ends nobody knows.
TEST(Work, ALoopOfUnknownEndStaysAnIntegerOfJson) {
  const std::string text = R"J({"kiln": "tile/1", "name": "repeat", "symbols": ["N"],
    "params": [{"name": "n", "scalar": true, "dtype": "i32"},
               {"name": "Y", "dtype": "f32", "shape": ["N"], "access": "write"}],
    "launches": [{"grid": ["ceildiv(N, 64)"], "threads": "64", "body": [
      {"op": "alloc", "name": "t", "space": "fragment", "dtype": "f32", "shape": ["64"]},
      {"op": "fill", "tile": "t", "value": "0"},
      {"op": "for", "var": "i", "from": "0", "to": "END", "body": [
        {"op": "map", "index": ["j"], "extent": ["64"], "body": [{"set": "t[j]", "value": "t[j] + 1.0"}]}]},
      {"op": "copy", "from": "t", "to": "Y[bid.x * 64:]"}]}]})J";
  const auto steps_with = [&](const std::string& end) {
    auto whole = text;
    whole.replace(whole.find("END"), 3, end);
    Budget budget(std::int64_t(32) << 20);
    const auto bound = specialize::specialize(*read(whole), {{{"N", "4096"}}, {}, {}}, target("host:avx2"), budget);
    EXPECT_TRUE(bound) << to_text(bound.error());
    return interpreter_steps(*bound);
  };
  EXPECT_EQ(steps_with("n"), (std::int64_t(1) << 53) - 1);
  const auto bounded = steps_with("min(max(n, 0), 1000)");
  EXPECT_LT(bounded, std::int64_t(1) << 32);
  EXPECT_GT(bounded, 4096 * 1000);
}

TEST(SmallerShape, KeepsSmallSizesDivisibilityAndTunables) {
  const jit::Words sizes{{"M", "8"}, {"N", "16384"}, {"K", "4095"}, {"dtype", "f32"}};
  const auto smaller =
      smaller_bindings(*builtin("gemm"), {sizes, {}, {}}, {{"BM", "12"}}, target("host:avx2"), 10'000'000);
  ASSERT_TRUE(smaller);
  EXPECT_EQ(smaller->set.at("M"), "8");
  EXPECT_EQ(smaller->set.at("BM"), "12");
  const auto n = std::stoll(smaller->set.at("N")), k = std::stoll(smaller->set.at("K"));
  EXPECT_EQ(n % 16, 0);
  EXPECT_NE(k % 16, 0);
  EXPECT_GT(n, 32);
  EXPECT_GT(k, 32);
  EXPECT_LE(8 * n * k, 10'000'000);
  EXPECT_FALSE(
      smaller_bindings(*builtin("gemm"), {{{"M", "8"}, {"N", "32"}, {"K", "1"}}, {}, {}}, {}, target("host:avx2"), 1));
}

// ---- pruning: metadata as a worker would give it --------------------------------------------------------------------

struct Card {
  std::int64_t threads = 256, spills = 0, waves = 4, cost = 0, rows = 64, lds = 1024;
  std::uint8_t program = 0;   // and its tunables: all but layouts
};
compile::Metadata kernel(const Card& card) {
  compile::Metadata m;
  compile::LaunchInfo launch;
  launch.grid = {4, 4, 1};
  launch.threads = card.threads;
  launch.wave = 64;
  launch.resources.vgpr_spills = card.spills;
  launch.resources.waves_per_simd = card.waves;
  launch.resources.lds_bytes = card.lds;
  m.launches.push_back(launch);
  compile::SharedTile tile;
  tile.shape = {card.rows, 32};
  tile.dtype = "f16";
  m.shared_tiles.push_back(tile);
  compile::LdsRow row;
  row.cost = 8 + card.cost;
  row.active_phases = 8;
  m.lds_rows.push_back(row);
  return m;
}

std::vector<std::string> reasons(const std::vector<Card>& cards, const std::string& on = "gfx942") {
  std::vector<compile::Metadata> kernels;
  for (const auto& card : cards) kernels.push_back(kernel(card));
  std::vector<const compile::Metadata*> pointers;
  for (const auto& k : kernels) pointers.push_back(&k);
  std::vector<std::string> texts;
  std::vector<Digest> but_for_layouts(cards.size());
  for (std::size_t i = 0; i < cards.size(); ++i) but_for_layouts[i].fill(cards[i].program);
  for (const auto& reason : prune(pointers, but_for_layouts, 0, target(on))) texts.push_back(reason.value_or(""));
  return texts;
}

TEST(Pruning, GoesByWhatTheObjectSays) {
  const Card usual;
  auto spilling = usual, crowded = usual, wide = usual;
  spilling.spills = 3;
  crowded.threads = 1024, crowded.waves = 3;
  wide.lds = 65537;
  const auto texts = reasons({spilling, spilling, crowded, wide, usual});
  EXPECT_EQ(texts[0], "") << "the baseline stays";
  EXPECT_EQ(texts[1], "spills 3 vector and 0 scalar registers");
  EXPECT_EQ(texts[2], "occupancy: its block has 16 waves, a compute unit holds 12 of them");
  EXPECT_EQ(texts[3], "takes 65537 bytes of LDS, a block has 65536");
  EXPECT_EQ(texts[4], "");
  EXPECT_EQ(reasons({usual, spilling}, "host:avx2")[1], "") << "a host has none of these";
}

TEST(Pruning, ConflictsGoWhereOtherLayoutsHaveFewer) {
  Card clean, conflicting, unrolled, fewer_waves;
  conflicting.cost = 8;
  unrolled.cost = 32, unrolled.program = 1;
  fewer_waves.waves = 2;
  EXPECT_EQ(reasons({unrolled, clean, conflicting})[2],
            "bank conflicts: 32 cycles by the static count, with other layouts it has 0");
  EXPECT_EQ(reasons({clean, unrolled})[1], "") << "each instruction counts once, however often it runs";
  EXPECT_EQ(reasons({fewer_waves, conflicting})[1], "") << "it has more waves";
}

}  // namespace
}  // namespace kiln::tune
