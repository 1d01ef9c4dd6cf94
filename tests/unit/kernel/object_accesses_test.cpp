// Rows of the object's LDS instructions, from predicted accesses and disassembled text.
#include "engine/profile/object_accesses.hpp"

#include <gtest/gtest.h>

namespace kiln::profile {
namespace {

target::Target gfx942() { return *target::parse_target("gfx942"); }

// 64 lanes, `stride` bytes apart from `first`.
LdsInstruction predicted(target::LdsOperation operation, int bytes, std::int64_t first, std::int64_t stride) {
  LdsInstruction one;
  one.operation = operation;
  one.bytes = bytes;
  one.storage = one.tile = 0;
  for (int lane = 0; lane < 64; ++lane) one.offsets.push_back(first + lane * stride);
  one.cost = conflict_cost(gfx942(), operation, bytes, one.offsets);
  return one;
}

std::vector<LdsInstruction> rows(const std::vector<LdsInstruction>& list, const std::vector<std::string>& texts) {
  std::vector<ObjectAccess> accesses;
  for (const auto& text : texts) accesses.push_back(object_access(text).value());
  return object_rows(list, accesses, gfx942());
}

TEST(ObjectAccess, text_is_read) {
  const auto pair = object_access("ds_read2st64_b64 v[2:5], v9 offset0:1 offset1:3");
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->parts, 2);
  EXPECT_EQ(pair->bytes, 8);
  EXPECT_EQ(pair->offsets[0], 512);
  EXPECT_EQ(pair->offsets[1], 1536);
  const auto half = object_access("ds_store_b16_d16_hi v1, v2 offset:34");
  ASSERT_TRUE(half);
  EXPECT_EQ(half->operation, target::LdsOperation::write);
  EXPECT_EQ(half->bytes, 2);
  EXPECT_EQ(half->offsets[0], 34);
  EXPECT_EQ(object_access("ds_load_2addr_b32 v[0:1], v2 offset1:4")->offsets[1], 16);
  for (const char* text : {"ds_bpermute_b32 v1, v2, v3", "ds_swizzle_b32 v1, v2", "ds_add_u32 v1, v2", "v_add_f32 v0, v1, v2",
                           "ds_read_addtid_b32 v1", "ds_read_b v1", "ds_read_b4000 v1", "ds_read_", ""})
    EXPECT_FALSE(object_access(text)) << text;
}

TEST(ObjectRows, pairs_take_the_accesses_that_lie_their_distance_apart) {
  const auto read = target::LdsOperation::read;
  const std::vector<LdsInstruction> list = {predicted(read, 8, 0, 128), predicted(read, 8, 8, 8), predicted(read, 8, 1032, 8)};
  ASSERT_GT(list[0].cost.conflicts(), 0);
  ASSERT_EQ(list[1].cost.conflicts(), 0);
  const auto out = rows(list, {"ds_read2_b64 v[0:3], v4 offset0:1 offset1:129", "ds_read_b64 v[0:1], v5"});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].cost.conflicts(), 0);
  EXPECT_EQ(out[0].cost.ideal, list[1].cost.ideal + list[2].cost.ideal);
  EXPECT_EQ(out[0].bytes, 16);
  EXPECT_EQ(out[1].cost.cost, list[0].cost.cost);
}

TEST(ObjectRows, rolled_and_unrolled_loops) {
  const auto write = target::LdsOperation::write;
  const std::vector<LdsInstruction> list = {predicted(write, 4, 0, 128), predicted(write, 4, 4, 128)};
  EXPECT_EQ(rows(list, {"ds_write_b32 v0, v1"}).size(), 1u);
  const auto more = rows(list, {"ds_write_b32 v0, v1", "ds_write_b32 v0, v1", "ds_write_b32 v0, v1"});
  ASSERT_EQ(more.size(), 3u);
  EXPECT_EQ(more[2].cost.cost, list[0].cost.cost);
  EXPECT_FALSE(more[2].inferred);
}

TEST(ObjectRows, other_widths_are_counted_on_the_same_lanes) {
  const auto read = target::LdsOperation::read;
  const auto split = rows({predicted(read, 16, 0, 128)}, {"ds_read_b64 v[0:1], v2", "ds_read_b64 v[0:1], v2 offset:8"});
  ASSERT_EQ(split.size(), 2u);
  EXPECT_EQ(split[0].cost.cost, 64);  // four runs of 16 lanes, all of a run in one pair of banks
  EXPECT_EQ(split[1].cost.cost, 64);
  const auto merged = rows({predicted(read, 4, 0, 16)}, {"ds_read_b128 v[0:3], v4"});
  EXPECT_EQ(merged.at(0).cost.conflicts(), 0);
}

TEST(ObjectRows, what_nothing_predicts_says_so) {
  const auto out = rows({}, {"ds_read_b32 v0, v1"});
  ASSERT_EQ(out.size(), 1u);
  EXPECT_TRUE(out[0].inferred);
  EXPECT_EQ(out[0].storage, -1);
  EXPECT_EQ(out[0].cost.conflicts(), 0);
}

}  // namespace
}  // namespace kiln::profile
