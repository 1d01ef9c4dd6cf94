#include "engine/device/hip/fenced_mapping.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "engine/base/fd.hpp"

namespace kiln::device::hip {
namespace {

// A store over a buffer's end must not land in another buffer, or whether it is a fault depends on where memory lies.
TEST(FencedMapping, BuffersHaveNothingNearThem) {
  auto fd = create_memfd("fenced", 8192);
  ASSERT_TRUE(fd);
  std::vector<FencedMapping> mappings;
  for (int i = 0; i < 20; ++i) {
    auto mapping = FencedMapping::map(fd->get(), 100 + 300 * std::uint64_t(i), true, i % 2 ? 4096 : 0);
    if (i % 2 && 100 + 300 * i > 4096) continue;
    ASSERT_TRUE(mapping);
    mapping->data()[0] = std::uint8_t(i);
    mappings.push_back(std::move(*mapping));
  }
  std::vector<std::uint8_t*> places;
  for (const auto& mapping : mappings) places.push_back(mapping.data());
  std::sort(places.begin(), places.end());
  for (std::size_t i = 1; i < places.size(); ++i)
    EXPECT_GE(std::uint64_t(places[i] - places[i - 1]), 2 * FencedMapping::gap_bytes);
}

TEST(FencedMapping, IsTheFilesMemory) {
  auto fd = create_memfd("fenced", 8192);
  ASSERT_TRUE(fd);
  {
    auto a = FencedMapping::map(fd->get(), 8192, true, 0);
    ASSERT_TRUE(a);
    a->data()[5000] = 42;
    FencedMapping moved = std::move(*a);
    auto b = FencedMapping::map(fd->get(), 4096, false, 4096);
    ASSERT_TRUE(b);
    EXPECT_EQ(b->data()[904], 42);
    EXPECT_EQ(moved.data()[5000], 42);
  }
  EXPECT_FALSE(FencedMapping::map(-1, 4096, false, 0));
}

}  // namespace
}  // namespace kiln::device::hip
