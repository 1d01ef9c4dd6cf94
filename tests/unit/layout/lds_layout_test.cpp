#include <gtest/gtest.h>

#include <set>

#include "engine/ir/layout/layout.hpp"

namespace kiln::layout {
namespace {

LdsLayout plain(std::vector<std::int64_t> shape, int element_bytes) {
  LdsLayout layout;
  layout.contiguous = static_cast<int>(shape.size()) - 1;
  layout.shape = std::move(shape);
  layout.element_bytes = element_bytes;
  return layout;
}

// Every element in its own bytes, inside the tile, and inside its own row.
void expect_one_to_one(const LdsLayout& layout) {
  std::set<std::int64_t> used;
  const int row_axis = 1 - layout.contiguous;
  for (std::int64_t row = 0; row < layout.shape[row_axis]; ++row) {
    for (std::int64_t column = 0; column < layout.shape[layout.contiguous]; ++column) {
      Coordinate place(2);
      place[row_axis] = row;
      place[layout.contiguous] = column;
      const auto offset = layout.offset(place);
      EXPECT_TRUE(used.insert(offset).second) << layout.text() << " [" << row << "," << column << "]";
      EXPECT_GE(offset, row * layout.pitch_bytes());
      EXPECT_LE(offset + layout.element_bytes, row * layout.pitch_bytes() + layout.row_bytes());
      EXPECT_LE(offset + layout.element_bytes, layout.bytes());
    }
  }
}

TEST(LdsLayout, OneToOneForAllForms) {
  for (const std::int64_t columns : {8, 32, 48, 64, 96, 40}) {
    for (const int contiguous : {0, 1}) {
      auto layout = plain(contiguous == 1 ? std::vector<std::int64_t>{24, columns}
                          : std::vector<std::int64_t>{columns, 24}, 2);
      layout.contiguous = contiguous;
      expect_one_to_one(layout);
      layout.pad_bytes = 8;
      expect_one_to_one(layout);
      for (const int chunk : {8, 16}) {
        for (const std::int64_t mod : {2, 4, 8, 16}) {
          for (const std::int64_t divisor : {1, 2}) expect_one_to_one(with_swizzle(layout, chunk, divisor, mod));
        }
      }
    }
  }
}

TEST(LdsLayout, SwizzleStaysInsideTheRow) {
  EXPECT_EQ(with_swizzle(plain({128, 64}, 2), 16, 1, 8).xor_basis, (std::vector<std::int64_t>{1, 2, 4}));
  EXPECT_EQ(with_swizzle(plain({128, 32}, 2), 16, 1, 8).xor_basis, (std::vector<std::int64_t>{1, 2}))
      << "four chunks a row";
  EXPECT_EQ(with_swizzle(plain({128, 96}, 2), 16, 1, 8).xor_basis, (std::vector<std::int64_t>{1, 2}))
      << "twelve chunks a row: runs of four";
  EXPECT_TRUE(with_swizzle(plain({128, 20}, 2), 16, 1, 8).xor_basis.empty()) << "40 bytes are no chunks of 16";
  EXPECT_EQ(with_swizzle(plain({128, 64}, 2), 16, 2, 8).xor_basis, (std::vector<std::int64_t>{0, 1, 2, 4}));
}

TEST(LdsLayout, OffsetsByHand) {
  auto layout = with_swizzle(plain({128, 64}, 2), 16, 1, 8);
  EXPECT_EQ(layout.offset({0, 8}), 16);
  EXPECT_EQ(layout.offset({3, 0}), 3 * 128 + 3 * 16);
  EXPECT_EQ(layout.offset({3, 8 * 3 + 5}), 3 * 128 + 10);
  EXPECT_EQ(layout.bytes(), 128 * 128);
  layout.pad_bytes = 16;
  EXPECT_EQ(layout.offset({11, 0}), 11 * 144 + 3 * 16);
  auto three = plain({2, 3, 8}, 4);
  three.contiguous = 1;
  EXPECT_EQ(three.offset({1, 2, 5}), (8 + 5) * 12 + 8);
}

TEST(LdsLayout, RunsAndText) {
  auto layout = plain({128, 64}, 2);
  EXPECT_EQ(layout.text(), "row_major");
  EXPECT_EQ(layout.run_bytes_max(), 128);
  EXPECT_EQ(with_swizzle(layout, 16, 1, 8).text(), "xor16(row%8)");
  EXPECT_EQ(with_swizzle(layout, 8, 2, 8).text(), "xor8(row/2%8)");
  EXPECT_EQ(with_swizzle(layout, 8, 1, 8).run_bytes_max(), 8);
  layout.pad_bytes = 8;
  EXPECT_EQ(layout.text(), "pad 8 B");
  EXPECT_EQ(layout.run_bytes_max(), 8);
  layout.contiguous = 0;
  EXPECT_EQ(layout.text(), "pad 8 B along axis 0");
  EXPECT_EQ(plain({1, 33}, 4).run_bytes_max(), 4);
}

}  // namespace
}  // namespace kiln::layout
