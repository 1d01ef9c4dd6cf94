// Barriers and LDS offsets on small kernel programs made by hand, and programs whose tiles no register layout fits.
#include "engine/lower/amd/finish.hpp"

#include <gtest/gtest.h>

#include "engine/lower/lower.hpp"
#include "tests/unit/lower/programs.hpp"

namespace kiln::lower::amd {
namespace {

using bound::make_integer;

// Storages: two LDS tiles of 1 KiB, one register array.
enum Ids { first, second, regs };
kernel::Launch launch_of(kernel::Body body) {
  kernel::Launch launch;
  launch.grid = {1, 1, 1};
  launch.threads = 128;
  for (const char* name : {"first", "second"}) {
    kernel::Storage lds;
    lds.kind = kernel::Storage::Kind::lds;
    lds.name = name;
    lds.shape = {16, 16};
    lds.lds_layout.shape = {16, 16};
    lds.lds_layout.element_bytes = 4;
    launch.storages.push_back(lds);
  }
  kernel::Storage array;
  array.name = "regs";
  array.shape = {16, 16};
  launch.storages.push_back(array);
  launch.variables = {{"k", DType::index}};
  kernel::Role role;
  role.waves = 2;
  role.body = std::move(body);
  launch.roles.push_back(std::move(role));
  return launch;
}
template <class Node> kernel::Stmt stmt(Node node) { return {"", "", std::move(node)}; }
kernel::Stmt store(int lds) { return stmt(kernel::StoreLds{regs, {lds, nullptr, {}}, 4}); }
kernel::Stmt load(int lds) { return stmt(kernel::LoadLds{regs, {lds, nullptr, {}}, 4}); }
kernel::Stmt loop(kernel::Body body) {
  kernel::For made;
  made.from = make_integer(0);
  made.to = make_integer(8);
  made.step = make_integer(1);
  made.body = std::move(body);
  return stmt(std::move(made));
}
// "S1 | L1": stores and loads by storage, bars for barriers, parentheses for loops.
std::string text_of(const kernel::Body& body) {
  std::string text;
  for (const auto& one : body) {
    if (!text.empty()) text += " ";
    if (const auto* s = std::get_if<kernel::StoreLds>(&one.node)) text += "S" + std::to_string(s->to.storage);
    if (const auto* l = std::get_if<kernel::LoadLds>(&one.node)) text += "L" + std::to_string(l->from.storage);
    if (std::holds_alternative<kernel::Barrier>(one.node)) text += "|";
    if (const auto* f = std::get_if<kernel::For>(&one.node)) text += "(" + text_of(f->body) + ")";
  }
  return text;
}
std::string with_barriers(kernel::Body body, bool same_bytes = false) {
  kernel::Launch launch = launch_of(std::move(body));
  launch.storages[second].offset_bytes = same_bytes ? 512 : 1024;
  place_barriers(launch, {});
  return text_of(launch.roles.front().body);
}

TEST(Barriers, BetweenWriteAndReadAndBeforeTheNextWrite) {
  EXPECT_EQ(with_barriers({store(first), load(first), store(first)}), "S0 | L0 | S0");
  EXPECT_EQ(with_barriers({load(first), load(first)}), "L0 L0");
  EXPECT_EQ(with_barriers({store(first), store(second), load(first), load(second)}), "S0 S1 | L0 L1");
}

TEST(Barriers, AroundLoops) {
  EXPECT_EQ(with_barriers({loop({store(first), load(first)})}), "(| S0 | L0)");
  EXPECT_EQ(with_barriers({store(first), loop({load(first)})}), "S0 | (L0)");
  EXPECT_EQ(with_barriers({loop({load(first)}), store(first)}), "(L0) | S0");
  EXPECT_EQ(with_barriers({store(first), loop({load(first), store(second), load(second)})}), "S0 | (L0 | S1 | L1)");
}

TEST(Barriers, StoragesThatShareBytesMeet) {
  EXPECT_EQ(with_barriers({load(first), store(second)}), "L0 S1");
  EXPECT_EQ(with_barriers({load(first), store(second)}, true), "L0 | S1");
}

TEST(Barriers, BothBranchesCount) {
  kernel::If branch;
  branch.condition = make_integer(1, DType::boolean);
  branch.then = {store(first)};
  kernel::Launch launch = launch_of({stmt(std::move(branch)), load(first)});
  EXPECT_EQ(place_barriers(launch, {}), 1);
}

TEST(LdsAllocation, SharesOnlyWhenAskedAndOnlyDeadBytes) {
  const kernel::Body apart = {store(first), load(first), store(second), load(second)};
  kernel::Launch roomy = launch_of(apart);
  EXPECT_EQ(allocate_lds(roomy, 65536), 0);
  EXPECT_EQ(roomy.lds_bytes, 2048);
  kernel::Launch tight = launch_of(apart);
  EXPECT_EQ(allocate_lds(tight, 0), 1024);
  EXPECT_EQ(tight.lds_bytes, 1024);
  kernel::Launch together = launch_of({store(first), store(second), load(first), load(second)});
  EXPECT_EQ(allocate_lds(together, 0), 0);
  EXPECT_EQ(together.lds_bytes, 2048);
}

TEST(LdsAllocation, WhatALoopCarriesLivesForAllOfIt) {
  // `first` is read in the loop and was written before it: `second`, though used only behind that read, must not take
  // its bytes.
  kernel::Launch launch = launch_of({store(first), loop({load(first), store(second), load(second)})});
  EXPECT_EQ(allocate_lds(launch, 0), 0);
  // Written anew in every iteration, and dead before `second` is written.
  kernel::Launch fresh = launch_of({loop({store(first), load(first), store(second), load(second)})});
  EXPECT_EQ(allocate_lds(fresh, 0), 1024);
}

// Extents without factors of two: lowering must still be correct, and verifies; what it computes is the differential
// tests' matter.
TEST(OddTiles, AreKeptInLds) {
  lower_test::RowsCase wanted;
  wanted.block_rows = 3;
  wanted.block_columns = 77;
  wanted.columns = 77;
  const auto target = target::parse_target("gfx942");
  Budget budget(1000000);
  const auto made = lower(lower_test::rmsnorm(wanted), *target, 0, budget);
  ASSERT_TRUE(made.has_value()) << to_text(made.error());
  EXPECT_GE(made->program.launches[0].lds_bytes, 3 * 77 * 4);
  for (const auto& storage : made->program.launches[0].storages) {
    if (storage.kind == kernel::Storage::Kind::regs) {
      EXPECT_LE(storage.reg_layout.registers(), 16) << storage.name;
    }
  }
}

}  // namespace
}  // namespace kiln::lower::amd
