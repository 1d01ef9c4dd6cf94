// What lowering for AMD targets does with a schedule: honours it, refuses it where it says so, or tells that a hint is
// not honoured.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "engine/lower/lower.hpp"
#include "tests/unit/lower/programs.hpp"

namespace kiln::lower {
namespace {

using lower_test::GemmCase;

Result<Lowered> lowered(const bound::Program& program, int attempt = 0) {
  const auto target = target::parse_target(program.target);
  Budget budget(1000000);
  return lower(program, *target, attempt, budget);
}

bound::For& loop_of(bound::Program& program) { return std::get<bound::For>(program.launches[0].body[1].node); }
bound::GemmSchedule& schedule_of(bound::Program& program) {
  return std::get<bound::Gemm>(loop_of(program).body[2].node).schedule;
}

template <class Node, class F> void each(const kernel::Body& body, F&& visit) {
  for (const auto& stmt : body) {
    if (const auto* node = std::get_if<Node>(&stmt.node)) visit(*node);
    if (const auto* loop = std::get_if<kernel::For>(&stmt.node)) each<Node>(loop->body, visit);
    if (const auto* branch = std::get_if<kernel::If>(&stmt.node)) {
      each<Node>(branch->then, visit);
      each<Node>(branch->otherwise, visit);
    }
  }
}

std::set<std::string> instructions_of(const Lowered& made) {
  std::set<std::string> names;
  each<kernel::Mma>(made.program.launches[0].roles[0].body,
                    [&](const kernel::Mma& mma) { names.insert(mma.instruction); });
  return names;
}

// The decisions of step `schedule`, one a line.
std::string told(const Lowered& made) {
  std::string text;
  for (const auto& one : made.decisions)
    if (one.step == "schedule") text += one.subject + ": " + one.text + "\n";
  return text;
}

std::string anchor_of(const Lowered& made) {
  const auto found = std::find_if(made.decisions.begin(), made.decisions.end(),
                                  [](const Decision& one) { return one.step == "anchor"; });
  return found == made.decisions.end() ? "" : found->text;
}

TEST(LowerSchedule, TheInstructionThatIsAskedForIsTaken) {
  const struct { const char* target; int m, n, k; const char* instruction; } cases[] = {
      {"gfx942", 32, 32, 0, "v_mfma_f32_32x32x8_f16"},   {"gfx942", 16, 16, 0, "v_mfma_f32_16x16x16_f16"},
      {"gfx90a", 16, 16, 16, "v_mfma_f32_16x16x16f16"},  {"gfx950", 16, 16, 16, "v_mfma_f32_16x16x16_f16"},
      {"gfx950", 16, 16, 32, "v_mfma_f32_16x16x32_f16"}, {"gfx1100", 16, 16, 0, "v_wmma_f32_16x16x16_f16"},
  };
  for (const auto& one : cases) {
    GemmCase wanted;
    wanted.target = one.target;
    bound::Program program = lower_test::gemm(wanted);
    schedule_of(program).m = one.m;
    schedule_of(program).n = one.n;
    schedule_of(program).k = one.k;
    for (int attempt = 0; attempt < 8; ++attempt) {  // all candidates
      const auto made = lowered(program, attempt);
      if (!made && made.error().code == ErrorCode::not_found) break;
      ASSERT_TRUE(made) << to_text(made.error());
      EXPECT_EQ(instructions_of(*made), std::set<std::string>{one.instruction});
      EXPECT_NE(told(*made).find("as asked"), std::string::npos) << told(*made);
    }
  }
}

TEST(LowerSchedule, WavesAndPackAreAsAsked) {
  const struct { int waves_m, waves_n, k_pack; const char* text; } cases[] = {
      {4, 1, 0, "waves 4x1"}, {1, 4, 0, "waves 1x4"},        {2, 2, 0, "waves 2x2"},
      {0, 1, 0, "waves 4x1"}, {1, 2, 0, "waves 1x2, k-pack"}, {0, 0, 1, "k-pack 1"},
      {0, 0, 2, "k-pack 2"},
  };
  for (const auto& one : cases) {
    bound::Program program = lower_test::gemm({});
    schedule_of(program).waves_m = one.waves_m;
    schedule_of(program).waves_n = one.waves_n;
    schedule_of(program).k_pack = one.k_pack;
    const auto made = lowered(program);
    ASSERT_TRUE(made) << to_text(made.error());
    EXPECT_NE(anchor_of(*made).find(one.text), std::string::npos) << anchor_of(*made);
  }
}

TEST(LowerSchedule, WavesOfTheLaunchAreThoseOfItsGemms) {
  bound::Program program = lower_test::gemm({});
  program.launches[0].schedule.waves_n = 4;
  const auto all = lowered(program);
  ASSERT_TRUE(all) << to_text(all.error());
  EXPECT_NE(anchor_of(*all).find("waves 1x4"), std::string::npos) << anchor_of(*all);
  schedule_of(program).waves_m = 4;
  const auto own = lowered(program);
  ASSERT_TRUE(own) << to_text(own.error());
  EXPECT_NE(anchor_of(*own).find("waves 4x1"), std::string::npos) << anchor_of(*own);
}

TEST(LowerSchedule, WhatATargetDoesNotHaveIsRefusedAndWhatItHasIsNamed) {
  const std::string gemm = "/launches/0/body/3/schedule";
  const struct {
    const char* target;
    bound::GemmSchedule asked;
    int waves_of_launch;
    std::string pointer, expected;
  } cases[] = {
      {"gfx942", {.m = 64, .n = 64}, 0, gemm + "/instruction", "one of 32x32x8, 16x16x16"},
      {"gfx942", {.m = 16, .n = 16, .k = 32}, 0, gemm + "/instruction", "one of 32x32x8, 16x16x16"},
      {"gfx1100", {.m = 32, .n = 32}, 0, gemm + "/instruction", "one of 16x16x16"},
      {"gfx942", {.k_pack = 4}, 0, gemm + "/k_pack", "1, 2"},
      {"gfx1100", {.k_pack = 2}, 0, gemm + "/k_pack", "1"},
      {"gfx942", {.waves_m = 8}, 0, gemm + "/waves", "at most 4 waves"},
      {"gfx942", {}, 16, "/launches/0/schedule/waves", "at most 4 waves"},
  };
  for (const auto& one : cases) {
    GemmCase wanted;
    wanted.target = one.target;
    bound::Program program = lower_test::gemm(wanted);
    schedule_of(program) = one.asked;
    if (one.waves_of_launch > 0) program.launches[0].schedule.waves_m = one.waves_of_launch;
    const auto made = lowered(program);
    ASSERT_FALSE(made) << anchor_of(*made);
    EXPECT_EQ(made.error().code, ErrorCode::unsupported);
    ASSERT_EQ(made.error().diagnostics.size(), 1u);
    EXPECT_EQ(made.error().diagnostics[0].pointer, one.pointer);
    EXPECT_NE(made.error().diagnostics[0].expected.find(one.expected), std::string::npos)
        << made.error().diagnostics[0].expected;
    // As a hint it is told, and everything else is as without.
    schedule_of(program).hint = program.launches[0].schedule.hint = true;
    const auto hinted = lowered(program), plain = lowered(lower_test::gemm(wanted));
    ASSERT_TRUE(hinted && plain);
    EXPECT_NE(told(*hinted).find("hint not honoured"), std::string::npos) << told(*hinted);
    EXPECT_EQ(kernel::print(hinted->program), kernel::print(plain->program));
  }
}

TEST(LowerSchedule, RowsThatSomethingReducesStayInAWave) {
  bound::Program program = lower_test::attention({});
  bool found = false;
  for (auto& stmt : program.launches[0].body) {
    auto* loop = std::get_if<bound::For>(&stmt.node);
    if (loop == nullptr) continue;
    for (auto& inner : loop->body) {
      if (auto* gemm = std::get_if<bound::Gemm>(&inner.node); gemm && !found) {
        gemm->schedule.waves_n = 2;
        found = true;
      }
    }
  }
  ASSERT_TRUE(found);
  const auto made = lowered(program);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("must lie within a wave"), std::string::npos) << made.error().message;
}

TEST(LowerSchedule, TheVectorUnitHasNoInstructionToAskFor) {
  GemmCase wanted;
  wanted.target = "gfx1100";
  wanted.in = wanted.out = DType::f32;
  bound::Program program = lower_test::gemm(wanted);
  schedule_of(program).m = schedule_of(program).n = 16;
  const auto made = lowered(program);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("gfx1100 has no matrix instruction for f32 into f32"), std::string::npos)
      << made.error().message;
  schedule_of(program).hint = true;
  const auto hinted = lowered(program);
  ASSERT_TRUE(hinted) << to_text(hinted.error());
  EXPECT_NE(told(*hinted).find("hint not honoured: instruction 16x16"), std::string::npos) << told(*hinted);
}

// Of several hints as many as can be are honoured.
TEST(LowerSchedule, OneHintThatCannotBeDoesNotTakeTheOthersAlong) {
  bound::Program program = lower_test::gemm({});
  schedule_of(program) = {.m = 16, .n = 16, .k_pack = 8, .waves_m = 4, .hint = true};
  const auto made = lowered(program);
  ASSERT_TRUE(made) << to_text(made.error());
  EXPECT_NE(anchor_of(*made).find("16x16x16_f16, waves 4x1, k-pack 2"), std::string::npos) << anchor_of(*made);
  EXPECT_NE(told(*made).find("hint not honoured: k-pack 8"), std::string::npos) << told(*made);
}

// ---- loops

struct Turns {
  std::vector<int> position, stage;
};
bound::Program with_turns(const Turns& turns, int stages = 0, bool hint = false) {
  bound::Program program = lower_test::gemm({});
  bound::For& loop = loop_of(program);
  loop.stages = stages;
  loop.hint = hint;
  for (std::size_t i = 0; i < loop.body.size(); ++i) {
    if (!turns.position.empty()) loop.body[i].turn.position = turns.position[i];
    if (!turns.stage.empty()) loop.body[i].turn.stage = turns.stage[i];
  }
  return program;
}

// The tensors loaded in front of the loop, in order: those of copies that run an iteration ahead.
std::vector<int> loaded_before(const Lowered& made) {
  std::vector<int> list;
  for (const auto& stmt : made.program.launches[0].roles[0].body)
    if (const auto* load = std::get_if<kernel::LoadGlobal>(&stmt.node)) list.push_back(load->from.tensor);
  return list;
}

TEST(LowerSchedule, CopiesRunAheadInTheOrderThatIsAskedFor) {
  const struct { Turns turns; std::vector<int> ahead; } cases[] = {
      {{{}, {}}, {0, 1}},
      {{{0, 1, 2}, {0, 0, 1}}, {0, 1}},
      {{{1, 0, 2}, {0, 0, 1}}, {1, 0}},
      {{{}, {3, 3, 4}}, {0, 1}},
      {{{}, {0, 1, 1}}, {0}},
      {{{}, {1, 0, 1}}, {1}},
      {{{}, {0, 0, 0}}, {}},
      {{{}, {-1, 0, 1}}, {0, 1}},
      {{{0, 1, 2}, {}}, {0, 1}},
  };
  for (const auto& one : cases) {
    const auto made = lowered(with_turns(one.turns));
    ASSERT_TRUE(made) << to_text(made.error());
    EXPECT_EQ(loaded_before(*made), one.ahead) << told(*made);
    EXPECT_EQ(told(*made).empty(), one.turns.position.empty() && one.turns.stage.empty()) << told(*made);
  }
}

TEST(LowerSchedule, TurnsThatLoweringCannotGiveAreRefusedAtTheirStatement) {
  const std::string body = "/launches/0/body/";
  const struct { Turns turns; std::string pointer, message; } cases[] = {
      {{{}, {0, 1, 2}}, body + "3", "more than one iteration apart"},
      {{{}, {0, 3, 0}}, body + "2", "more than one iteration apart"},
      {{{}, {1, 1, 0}}, body + "3", "cannot run an iteration ahead"},
      {{{1, 2, 0}, {0, 0, 1}}, body + "3", "before copies of the next iteration"},
      {{{2, 0, 1}, {0, 0, 0}}, body + "2", "in another order than they are written"},
  };
  for (const auto& one : cases) {
    const auto made = lowered(with_turns(one.turns));
    ASSERT_FALSE(made) << told(*made);
    EXPECT_EQ(made.error().code, ErrorCode::unsupported);
    EXPECT_EQ(made.error().diagnostics.at(0).pointer, one.pointer) << made.error().message;
    EXPECT_NE(made.error().message.find(one.message), std::string::npos) << made.error().message;
    const auto hinted = lowered(with_turns(one.turns, 0, true)), plain = lowered(with_turns({}));
    ASSERT_TRUE(hinted && plain) << to_text(hinted.error());
    EXPECT_NE(told(*hinted).find(one.message), std::string::npos) << told(*hinted);
    EXPECT_EQ(kernel::print(hinted->program), kernel::print(plain->program));
  }
}

// ---- copies

TEST(LowerSchedule, NoAccessOfACopyIsWiderThanAsked) {
  for (const int bytes : {2, 4, 8, 16}) {
    bound::Program program = lower_test::gemm({});
    for (auto& stmt : loop_of(program).body)
      if (auto* copy = std::get_if<bound::Copy>(&stmt.node)) copy->schedule.vector_bytes = bytes;
    const auto made = lowered(program);
    ASSERT_TRUE(made) << to_text(made.error());
    int widest = 0;
    each<kernel::LoadGlobal>(made->program.launches[0].roles[0].body,
                             [&](const kernel::LoadGlobal& load) { widest = std::max(widest, load.vector_bytes); });
    EXPECT_EQ(widest, bytes);
  }
}

// ---- blocks

TEST(LowerSchedule, TheOrderOfBlocksIsTheProgramsOwn) {
  bound::Program program = lower_test::gemm({});
  const auto own = lowered(program);
  program.launches[0].schedule.order = {3, true};
  const auto asked = lowered(program);
  ASSERT_TRUE(own && asked);
  EXPECT_EQ(own->program.launches[0].order.group, 8);
  EXPECT_FALSE(own->program.launches[0].order.columns);
  EXPECT_EQ(asked->program.launches[0].order.group, 3);
  EXPECT_TRUE(asked->program.launches[0].order.columns);
  EXPECT_EQ(asked->program.launches[0].order.xcds, own->program.launches[0].order.xcds);
  EXPECT_EQ(told(*asked),
            "block order: panels of 3 columns, walked along y; each of the 8 dies takes a contiguous share\n");
}

TEST(LowerSchedule, AnOrderOfMoreBlocksThanFit32BitsIsRefused) {
  bound::Program program = lower_test::gemm({});
  program.launches[0].grid = {std::int64_t(1) << 16, std::int64_t(1) << 16, 1};
  program.launches[0].schedule.order = {3, true};
  const auto made = lowered(program);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().diagnostics.at(0).pointer, "/launches/0/schedule/block_order");
  program.launches[0].schedule.hint = true;
  const auto hinted = lowered(program);
  ASSERT_TRUE(hinted);
  EXPECT_NE(told(*hinted).find("hint not honoured"), std::string::npos) << told(*hinted);
}

// ---- the host

TEST(LowerSchedule, TheHostWalksTheOrderAndTellsWhatMeansNothingThere) {
  GemmCase wanted;
  wanted.target = "host:avx2+f16c+fma";
  const auto plain = lowered(lower_test::gemm(wanted));
  bound::Program program = lower_test::gemm(wanted);
  schedule_of(program) = {.m = 16, .n = 16, .k_pack = 64, .waves_m = 64};
  program.launches[0].schedule.order = {3, false};
  loop_of(program).body[0].turn = {2, 5};
  std::get<bound::Copy>(loop_of(program).body[0].node).schedule.vector_bytes = 4;
  const auto made = lowered(program);
  ASSERT_TRUE(made && plain) << to_text(made.error());
  EXPECT_EQ(made->program.launches[0].order.group, 3);
  const std::string text = told(*made);
  EXPECT_NE(text.find("panels of 3 rows, walked along x"), std::string::npos) << text;
  for (const char* part : {"matrix instructions", "iterations do not overlap", "as wide as its vectors"})
    EXPECT_NE(text.find(part), std::string::npos) << part << text;
  EXPECT_EQ(kernel::print(plain->program).find("order"), std::string::npos);
}

}  // namespace
}  // namespace kiln::lower
