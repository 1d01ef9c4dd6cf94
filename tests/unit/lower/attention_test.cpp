// Programs with two products and reductions, and programs without any.
#include <gtest/gtest.h>

#include "engine/lower/lower.hpp"
#include "engine/profile/bank_conflicts.hpp"
#include "tests/unit/lower/programs.hpp"

namespace kiln::lower {
namespace {

Lowered lowered(const bound::Program& program) {
  const auto target = target::parse_target(program.target);
  EXPECT_TRUE(target.has_value());
  Budget budget(1000000);
  auto made = lower(program, *target, 0, budget);
  EXPECT_TRUE(made.has_value()) << (made ? "" : to_text(made.error()));
  return made ? std::move(*made) : Lowered{};
}

const kernel::For* loop_of(const kernel::Body& body) {
  for (const auto& stmt : body) {
    if (const auto* loop = std::get_if<kernel::For>(&stmt.node)) return loop;
    if (const auto* branch = std::get_if<kernel::If>(&stmt.node)) {
      if (const auto* loop = loop_of(branch->then)) return loop;
    }
  }
  return nullptr;
}

TEST(LowerAttention, TheFirstResultIsTheSecondOperandWithoutMoving) {
  for (const char* target : {"gfx90a", "gfx942", "gfx950"}) {
    for (const std::int64_t width : {64, 128}) {
      SCOPED_TRACE(std::string(target) + " width " + std::to_string(width));
      lower_test::AttentionCase wanted;
      wanted.target = target;
      wanted.width = width;
      wanted.block_n = 64;
      const Lowered made = lowered(lower_test::attention(wanted));
      ASSERT_FALSE(made.program.launches.empty());
      const auto& launch = made.program.launches[0];
      const auto* loop = loop_of(launch.roles.front().body);
      ASSERT_NE(loop, nullptr);
      int products = 0, stores = 0, reduces = 0;
      for (const auto& stmt : loop->body) {
        products += std::holds_alternative<kernel::Mma>(stmt.node) ? 1 : 0;
        stores += std::holds_alternative<kernel::StoreLds>(stmt.node) ? 1 : 0;
        if (const auto* convert = std::get_if<kernel::Convert>(&stmt.node)) {
          EXPECT_LE(convert->method, layout::Conversion::registers);
        }
        if (const auto* reduce = std::get_if<kernel::Reduce>(&stmt.node)) {
          ++reduces;
          EXPECT_EQ(reduce->scratch, -1) << "rows stay within a wave";
        }
      }
      EXPECT_GT(products, 2);
      EXPECT_EQ(stores, 2) << "K and V, nothing else";
      EXPECT_EQ(reduces, 2);
      const auto traits = target::parse_target(target);
      const auto list = profile::lds_instructions(launch, *traits);
      ASSERT_TRUE(list.has_value());
      for (const auto& one : *list) EXPECT_EQ(one.cost.conflicts(), 0) << one.statement << " " << one.mnemonic;
    }
  }
}

TEST(LowerAttention, BothTilesOfTheNextIterationAreInFlight) {
  const Lowered made = lowered(lower_test::attention({}));
  const auto* loop = loop_of(made.program.launches[0].roles.front().body);
  ASSERT_NE(loop, nullptr);
  int loads = 0, barriers = 0;
  bool product = false;
  for (const auto& stmt : loop->body) {
    product = product || std::holds_alternative<kernel::Mma>(stmt.node);
    if (std::holds_alternative<kernel::LoadGlobal>(stmt.node)) {
      ++loads;
      EXPECT_FALSE(product);
    }
    barriers += std::holds_alternative<kernel::Barrier>(stmt.node) ? 1 : 0;
  }
  EXPECT_EQ(loads, 2);
  EXPECT_EQ(barriers, 2);
}

TEST(LowerAttention, Rdna3MovesTheFirstResultThroughLds) {
  lower_test::AttentionCase wanted;
  wanted.target = "gfx1100";
  wanted.block_m = 64;
  wanted.block_n = 32;
  const Lowered made = lowered(lower_test::attention(wanted));
  EXPECT_FALSE(made.program.launches.empty());
}

TEST(LowerRows, RowsGoToWavesWhenThereAreEnough) {
  lower_test::RowsCase wanted;
  const auto scratch = [&](std::int64_t rows) {
    wanted.block_rows = rows;
    const Lowered made = lowered(lower_test::rmsnorm(wanted));
    for (const auto& stmt : made.program.launches[0].roles.front().body) {
      if (const auto* reduce = std::get_if<kernel::Reduce>(&stmt.node)) return reduce->scratch;
    }
    return -2;
  };
  EXPECT_EQ(scratch(4), -1);
  EXPECT_GE(scratch(1), 0) << "four waves share one row";
}

TEST(LowerRows, VectorsAreAsWideAsTheRowsAllow) {
  lower_test::RowsCase wanted;  // 1000 f16: 2000 bytes a row, a multiple of 16
  const auto widest = [&] {
    const Lowered made = lowered(lower_test::rmsnorm(wanted));
    int bytes = 0;
    for (const auto& stmt : made.program.launches[0].roles.front().body) {
      if (const auto* load = std::get_if<kernel::LoadGlobal>(&stmt.node)) bytes = std::max(bytes, load->vector_bytes);
    }
    return bytes;
  };
  EXPECT_EQ(widest(), 16);
  wanted.columns = 1002;
  EXPECT_EQ(widest(), 4);
  wanted.columns = 1001;
  EXPECT_EQ(widest(), 2);
}

}  // namespace
}  // namespace kiln::lower
