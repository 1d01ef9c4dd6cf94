// GEMMs: what the kernel program must look like, whatever the program is called.
#include <gtest/gtest.h>

#include "engine/lower/lower.hpp"
#include "engine/profile/bank_conflicts.hpp"
#include "tests/unit/lower/programs.hpp"

namespace kiln::lower {
namespace {

using lower_test::GemmCase;

Lowered lowered(const bound::Program& program, int attempt = 0) {
  const auto target = target::parse_target(program.target);
  EXPECT_TRUE(target.has_value());
  Budget budget(1000000);
  auto made = lower(program, *target, attempt, budget);
  EXPECT_TRUE(made.has_value()) << (made ? "" : to_text(made.error()));
  return made ? std::move(*made) : Lowered{};
}

// Visits every statement, bodies of loops and branches included.
template <class F> void each(const kernel::Body& body, F&& visit, bool in_loop = false) {
  for (const auto& stmt : body) {
    visit(stmt, in_loop);
    if (const auto* loop = std::get_if<kernel::For>(&stmt.node)) each(loop->body, visit, true);
    if (const auto* branch = std::get_if<kernel::If>(&stmt.node)) {
      each(branch->then, visit, in_loop);
      each(branch->otherwise, visit, in_loop);
    }
  }
}

template <class Node> int count(const kernel::Launch& launch, bool only_in_loop = false) {
  int number = 0;
  each(launch.roles.front().body, [&](const kernel::Stmt& stmt, bool in_loop) {
    number += std::holds_alternative<Node>(stmt.node) && (in_loop || !only_in_loop) ? 1 : 0;
  });
  return number;
}

int matrix_instructions(const kernel::Launch& launch, const std::string& target) {
  const auto traits = target::parse_target(target);
  int number = 0;
  each(launch.roles.front().body, [&](const kernel::Stmt& stmt, bool) {
    if (const auto* mma = std::get_if<kernel::Mma>(&stmt.node)) {
      const auto steps = kernel::mma_steps(launch, *mma, *traits->matrix_named(mma->instruction));
      EXPECT_TRUE(steps.has_value());
      number += steps ? static_cast<int>(steps->size()) : 0;
    }
  });
  return number;
}

int conflicts(const Lowered& made) {
  const auto target = target::parse_target(made.program.target);
  const auto list = profile::lds_instructions(made.program.launches[0], *target);
  EXPECT_TRUE(list.has_value());
  int number = 0;
  for (const auto& one : *list) number += one.cost.conflicts();
  return number;
}

TEST(LowerGemm, EveryOrderTypeAndCdnaTargetUsesTheMatrixUnitWithoutConflicts) {
  for (const char* target : {"gfx90a", "gfx942", "gfx950"}) {
    for (const DType type : {DType::f16, DType::bf16, DType::f32, DType::i8}) {
      for (const int order : {0, 1, 2, 3}) {
        GemmCase wanted;
        wanted.target = target;
        wanted.in = type;
        wanted.acc = type == DType::i8 ? DType::i32 : DType::f32;
        wanted.out = type == DType::i8 ? DType::i32 : type;
        wanted.block_k = type == DType::f32 ? 32 : 64;
        wanted.transpose_a = (order & 1) != 0;
        wanted.transpose_b = (order & 2) != 0;
        SCOPED_TRACE(std::string(target) + " " + dtype_name(type) + " order " + std::to_string(order));
        const Lowered made = lowered(lower_test::gemm(wanted));
        ASSERT_EQ(made.program.launches.size(), 1u);
        const auto& launch = made.program.launches[0];
        EXPECT_GT(matrix_instructions(launch, target), 0);
        EXPECT_EQ(count<kernel::Mma>(launch), count<kernel::Mma>(launch, true));
        EXPECT_EQ(conflicts(made), 0);
        EXPECT_TRUE(made.bounds_left.empty());
        EXPECT_EQ(count<kernel::Barrier>(launch), 2);
      }
    }
  }
}

TEST(LowerGemm, LoadsOfTheNextTilePrecedeTheFirstProduct) {
  const Lowered made = lowered(lower_test::gemm({}));
  const kernel::For* loop = nullptr;
  for (const auto& stmt : made.program.launches[0].roles.front().body) {
    if (const auto* found = std::get_if<kernel::For>(&stmt.node)) loop = found;
  }
  ASSERT_NE(loop, nullptr);
  int loads = 0, fence_at = -1, first_product = -1, last_load = -1;
  for (int i = 0; i < static_cast<int>(loop->body.size()); ++i) {
    const auto& node = loop->body[i].node;
    if (std::holds_alternative<kernel::LoadGlobal>(node)) { ++loads; last_load = i; }
    if (std::holds_alternative<kernel::Sched>(node) && fence_at < 0) fence_at = i;
    if (std::holds_alternative<kernel::Mma>(node) && first_product < 0) first_product = i;
  }
  EXPECT_EQ(loads, 2);
  EXPECT_LT(last_load, fence_at);
  EXPECT_LT(fence_at, first_product);
}

TEST(LowerGemm, AnotherEpilogueChangesNothingBeforeIt) {
  GemmCase plain, more;
  more.extra_maps = 1;
  bound::Program renamed = lower_test::gemm(more);
  renamed.name = "something_else";
  const Lowered a = lowered(lower_test::gemm(plain)), b = lowered(renamed);
  EXPECT_EQ(matrix_instructions(a.program.launches[0], "gfx942"), matrix_instructions(b.program.launches[0], "gfx942"));
  EXPECT_EQ(conflicts(b), 0);
  EXPECT_EQ(count<kernel::Map>(b.program.launches[0]), count<kernel::Map>(a.program.launches[0]) + 1);
}

TEST(LowerGemm, ARequestedLayoutIsHonouredAndCounted) {
  // The design's check values: 128-byte rows, 16 bytes a lane, no padding: 64 cycles where 8 would do.
  GemmCase wanted;
  wanted.a_layout.kind = LayoutSpec::Kind::row_major;
  const Lowered made = lowered(lower_test::gemm(wanted));
  const auto target = target::parse_target("gfx942");
  const auto list = profile::lds_instructions(made.program.launches[0], *target);
  ASSERT_TRUE(list.has_value());
  int reads = 0;
  for (const auto& one : *list) {
    if (one.tile != 0 || one.operation != target::LdsOperation::read) continue;
    ++reads;
    EXPECT_EQ(one.bytes, 16);
    EXPECT_EQ(one.cost.cost, 64);
    EXPECT_EQ(one.cost.ideal, 8);
  }
  EXPECT_GT(reads, 0);
}

TEST(LowerGemm, OddSizesKeepVectorsInside) {
  GemmCase wanted;
  wanted.m = 300;
  wanted.n = 257;
  wanted.k = 129;
  wanted.transpose_b = false;
  const Lowered made = lowered(lower_test::gemm(wanted));
  each(made.program.launches[0].roles.front().body, [&](const kernel::Stmt& stmt, bool) {
    if (const auto* load = std::get_if<kernel::LoadGlobal>(&stmt.node)) {
      EXPECT_EQ(load->vector_bytes, 2);
    }
    if (const auto* store = std::get_if<kernel::StoreGlobal>(&stmt.node)) {
      EXPECT_EQ(store->vector_bytes, 2);
    }
  });
  EXPECT_FALSE(made.bounds_left.empty());
}

TEST(LowerGemm, TilesThatNoInstructionFitsRunOnTheVectorUnit) {
  GemmCase wanted;
  wanted.block_m = 24;
  wanted.block_n = 40;
  wanted.block_k = 12;
  wanted.m = wanted.n = wanted.k = 480;
  const Lowered made = lowered(lower_test::gemm(wanted));
  EXPECT_EQ(count<kernel::Mma>(made.program.launches[0]), 0);
  const bool said = std::any_of(made.decisions.begin(), made.decisions.end(),
                                [](const Decision& d) { return d.text.find("vector unit") != std::string::npos; });
  EXPECT_TRUE(said);
}

TEST(LowerGemm, TooMuchLdsIsAnErrorThatNamesTheTiles) {
  GemmCase wanted;
  wanted.block_m = wanted.block_n = 256;
  wanted.block_k = 128;
  const auto target = target::parse_target("gfx942");
  Budget budget(1000000);
  const auto made = lower(lower_test::gemm(wanted), *target, 0, budget);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, ErrorCode::program_invalid);
  ASSERT_EQ(made.error().diagnostics.size(), 1u);
  EXPECT_NE(made.error().message.find("As 65536 B, Bs 65536 B"), std::string::npos) << made.error().message;
}

TEST(LowerGemm, AttemptsDifferAndEnd) {
  const auto program = lower_test::gemm({});
  const auto target = target::parse_target("gfx942");
  int attempts = 0;
  for (; attempts < 20; ++attempts) {
    Budget budget(1000000);
    const auto made = lower(program, *target, attempts, budget);
    if (made) continue;
    EXPECT_EQ(made.error().code, ErrorCode::not_found);
    break;
  }
  EXPECT_GE(attempts, 2);
  EXPECT_LT(attempts, 20);
}

TEST(LowerGemm, FragmentsAsOperandsKeepTheMatrixUnitAndFitTheRegisters) {
  for (const char* target : {"gfx90a", "gfx942", "gfx950", "gfx1100"}) {
    SCOPED_TRACE(target);
    GemmCase wanted;
    wanted.target = target;
    wanted.operands = Space::fragment;
    wanted.block_m = wanted.block_n = 64;
    wanted.threads = 128;
    const Lowered made = lowered(lower_test::gemm(wanted));
    ASSERT_FALSE(made.program.launches.empty());
    EXPECT_GT(matrix_instructions(made.program.launches[0], target), 0);
  }
}

TEST(LowerGemm, Rdna3UsesWmma) {
  GemmCase wanted;
  wanted.target = "gfx1100";
  const Lowered made = lowered(lower_test::gemm(wanted));
  EXPECT_GT(matrix_instructions(made.program.launches[0], "gfx1100"), 0);
  wanted.in = wanted.out = DType::f32;  // no matrix instruction there
  const Lowered vector_unit = lowered(lower_test::gemm(wanted));
  EXPECT_EQ(count<kernel::Mma>(vector_unit.program.launches[0]), 0);
}

}  // namespace
}  // namespace kiln::lower
