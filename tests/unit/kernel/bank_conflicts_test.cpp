#include "engine/profile/bank_conflicts.hpp"

#include <gtest/gtest.h>

#include "engine/ir/kernel/matrix_layouts.hpp"

namespace kiln::profile {
namespace {

using target::LdsOperation;

target::Target parsed(const char* text) { return *target::parse_target(text); }

std::string text(const ConflictCost& cost) { return std::to_string(cost.cost) + "/" + std::to_string(cost.ideal); }

// A matrix operand's read: lane l reads `bytes` at row l % rows, chunk l / rows of the row.
std::vector<std::int64_t> operand_offsets(int rows, int bytes, std::int64_t pitch, bool swizzle) {
  std::vector<std::int64_t> offsets;
  for (int lane = 0; lane < 64; ++lane) {
    const std::int64_t row = lane % rows, chunk = lane / rows;
    offsets.push_back(row * pitch + bytes * (swizzle ? chunk ^ (row % 8) : chunk));
  }
  return offsets;
}

// The design's check values: 128-byte rows, 8 bytes a lane, 16x16.
TEST(BankConflicts, EightByteOperandReads) {
  const auto target = parsed("gfx942");
  const auto count =
      [&](std::int64_t pad) { return text(conflict_cost(target, LdsOperation::read, 8,
                                                        operand_offsets(16, 8, 128 + pad, false))); };
  EXPECT_EQ(count(4), "8/4");
  EXPECT_EQ(count(8), "4/4");
  EXPECT_EQ(count(16), "8/4");
}

// … and 16 bytes a lane.
TEST(BankConflicts, SixteenByteOperandReads) {
  struct Row { const char* target; int rows; const char *none, *pad16, *pad32, *swizzled; };
  for (const Row& row : {Row{"gfx942", 16, "32/8", "16/8", "8/8", "8/8"},
                         Row{"gfx950", 16, "16/4", "8/4", "4/4", "4/4"},
                         Row{"gfx942", 32, "64/8", "8/8", "16/8", "8/8"},
                             Row{"gfx950", 32, "32/4", "4/4", "8/4", "8/4"}}) {
    const auto target = parsed(row.target);
    const auto count = [&](std::int64_t pad, bool swizzle) {
      return text(conflict_cost(target, LdsOperation::read, 16, operand_offsets(row.rows, 16, 128 + pad, swizzle)));
    };
    SCOPED_TRACE(std::string(row.target) + " " + std::to_string(row.rows));
    EXPECT_EQ(count(0, false), row.none);
    EXPECT_EQ(count(16, false), row.pad16);
    EXPECT_EQ(count(32, false), row.pad32);
    EXPECT_EQ(count(0, true), row.swizzled);
  }
}

// Columns of 4-byte elements: 32 wide conflicts, 33 wide does not.
TEST(BankConflicts, ColumnsOfFourByteElements) {
  for (const char* name : {"gfx90a", "gfx942", "gfx950", "gfx1100"}) {
    const auto target = parsed(name);
    const auto column = [&](std::int64_t width) {
      std::vector<std::int64_t> offsets;
      for (int lane = 0; lane < target.wave; ++lane) offsets.push_back((lane % 32) * width * 4 + lane / 32 * 4);
      return conflict_cost(target, LdsOperation::read, 4, offsets);
    };
    EXPECT_EQ(column(32).cost, target.wave) << name;
    EXPECT_EQ(column(33).conflicts(), 0) << name;
  }
}

TEST(BankConflicts, BroadcastsAndIdleLanesCostNothing) {
  const auto target = parsed("gfx942");
  EXPECT_EQ(text(conflict_cost(target, LdsOperation::read, 4, std::vector<std::int64_t>(64, 256))), "2/2");
  std::vector<std::int64_t> half(64, -1);
  for (int lane = 0; lane < 16; ++lane) half[lane] = lane * 4;
  EXPECT_EQ(text(conflict_cost(target, LdsOperation::read, 4, half)), "1/1");
  EXPECT_EQ(text(conflict_cost(target, LdsOperation::read, 4, std::vector<std::int64_t>(64, -1))), "0/0");
  // Two-byte elements of one dword are one access.
  std::vector<std::int64_t> narrow;
  for (int lane = 0; lane < 64; ++lane) narrow.push_back(lane * 2);
  EXPECT_EQ(text(conflict_cost(target, LdsOperation::write, 2, narrow)), "2/2");
}

TEST(BankConflicts, Read2TakesTheHalvesOneAfterAnother) {
  const auto target = parsed("gfx942");
  std::vector<std::int64_t> linear;
  for (int lane = 0; lane < 64; ++lane) linear.push_back(lane * 16);
  // Halves of 8 bytes 16 bytes apart: 16 lanes span 64 banks, two to each.
  EXPECT_EQ(text(conflict_cost(target, LdsOperation::read2, 16, linear)), "16/8");
  EXPECT_EQ(text(conflict_cost(target, LdsOperation::read, 16, linear)), "8/8");
}

// The same check values through layouts: a 16-byte read of a 32x32x8 operand with k-pack 2, all instructions of a tile.
TEST(BankConflicts, InstructionsOfALaunch) {
  const auto target = parsed("gfx942");
  const auto& instruction = *target.matrix_named("v_mfma_f32_32x32x8_f16");
  kernel::Launch launch;
  launch.symbol = "reads_0";
  launch.threads = launch.wave = 64;
  kernel::Storage lds;
  lds.kind = kernel::Storage::Kind::lds;
  lds.name = "As";
  lds.tile = 3;
  lds.dtype = DType::f16;
  lds.shape = {64, 64};
  lds.lds_layout.shape = lds.shape;
  kernel::Storage regs;
  regs.name = "a";
  regs.dtype = DType::f16;
  regs.shape = {64, 64};
  regs.reg_layout = *kernel::operand_layout(instruction, kernel::Operand::a, 64, 64, {}, 2);
  launch.storages = {lds, regs};
  kernel::For loop{0, nullptr, nullptr, nullptr, false, {{"", "", kernel::LoadLds{1, {0, nullptr, {}}, 16}}}};
  launch.roles.push_back({"all", 0, 1, 0, {{"", "", kernel::StoreLds{1, {0, nullptr, {}}, 16}}, {"", "", loop}}});
  const auto list = lds_instructions(launch, target);
  ASSERT_TRUE(list.has_value());
  ASSERT_EQ(list->size(), 16u);  // 64 registers a lane, 8 in each access; written once, read once
  EXPECT_EQ(list->front().mnemonic, "ds_write_b128");
  EXPECT_EQ(list->front().statement, "body/0");
  const auto& read = list->back();
  EXPECT_EQ(read.mnemonic, "ds_read_b128");
  EXPECT_EQ(read.statement, "body/1/for/0");
  EXPECT_EQ(read.storage, 0);
  EXPECT_EQ(read.tile, 3);
  EXPECT_EQ(text(read.cost), "64/8");
  EXPECT_FALSE(read.inferred);
  launch.storages[0].lds_layout = layout::with_swizzle(launch.storages[0].lds_layout, 16, 1, 8);
  const auto swizzled = lds_instructions(launch, target);
  ASSERT_TRUE(swizzled.has_value());
  EXPECT_EQ(text(swizzled->back().cost), "8/8");
}

}  // namespace
}  // namespace kiln::profile
