#include "engine/ir/layout/layout.hpp"

#include <gtest/gtest.h>

#include <map>
#include <algorithm>
#include <random>
#include <set>

#include "engine/ir/layout/linear.hpp"

namespace kiln::layout {
namespace {

// A layout of a random shape (repeats of 1, 2, 3, 5) with every coordinate bit given to a register, lane or wave bit.
RegLayout random_layout(std::mt19937& random, int rank) {
  const auto below = [&](int n) { return static_cast<int>(random() % n); };
  constexpr std::int64_t repeats[] = {1, 1, 2, 3, 5};
  std::vector<std::int64_t> shape;
  std::vector<BitSource> order;
  for (int axis = 0; axis < rank; ++axis) {
    const int bits = below(5);
    shape.push_back((std::int64_t(1) << bits) * repeats[below(5)]);
    for (int bit = 0; bit < bits; ++bit) order.push_back({static_cast<BitSource::Kind>(below(3)), 1, axis});
  }
  std::shuffle(order.begin(), order.end(), random);
  auto layout = make_layout(shape, order);
  EXPECT_TRUE(layout.has_value());
  return *layout;
}

std::map<Coordinate, int> holders(const RegLayout& layout) {
  std::map<Coordinate, int> count;
  for (int wave = 0; wave < 1 << layout.wave.bits(); ++wave) {
    for (int lane = 0; lane < 1 << layout.lane.bits(); ++lane) {
      for (int r = 0; r < layout.registers(); ++r) ++count[layout.at(r, lane, wave)];
    }
  }
  return count;
}

std::int64_t elements(const RegLayout& layout) {
  std::int64_t count = 1;
  for (const auto extent : layout.shape()) count *= extent;
  return count;
}

TEST(RegLayout, EveryElementHasExactlyOnePlace) {
  const unsigned seed = 20240711;
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed) + " round " + std::to_string(round));
    const auto layout = random_layout(random, 1 + round % 3);
    ASSERT_TRUE(layout.covers());
    EXPECT_EQ(layout.replication(), 1);
    const auto count = holders(layout);
    EXPECT_EQ(static_cast<std::int64_t>(count.size()), elements(layout));
    for (const auto& [place, times] : count) {
      EXPECT_EQ(times, 1);
      for (int axis = 0; axis < layout.rank(); ++axis) EXPECT_LT(place[axis], layout.shape()[axis]);
    }
  }
}

TEST(RegLayout, FreeBitsReplicate) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    const auto layout = with_free_bits(random_layout(random, 2), 1, 2);
    EXPECT_EQ(layout.replication(), 8);
    for (const auto& [place, times] : holders(layout)) EXPECT_EQ(times, 8);
  }
}

TEST(RegLayout, RegisterOfInvertsAt) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    const auto layout = random_layout(random, 2);
    for (int r = 0; r < layout.registers(); ++r) EXPECT_EQ(layout.register_of(layout.of_register(r)), r);
    // What lane 1 holds, lane 0 does not.
    if (layout.lane.bits() > 0) { EXPECT_EQ(layout.register_of(layout.at(0, 1, 0)), std::nullopt); }
    EXPECT_EQ(layout.register_of(layout.shape()), std::nullopt);
  }
}

TEST(RegLayout, PartsAddUp) {
  std::mt19937 random(13);
  for (int round = 0; round < 50; ++round) {
    const auto layout = random_layout(random, 2);
    for (int i = 0; i < 20; ++i) {
      const int r = static_cast<int>(random() % layout.registers());
      const int lane = static_cast<int>(random() & ((1u << layout.lane.bits()) - 1));
      const int wave = static_cast<int>(random() & ((1u << layout.wave.bits()) - 1));
      const auto whole = layout.at(r, lane, wave), a = layout.at(r, 0, 0), b = layout.at(0, lane, 0),
          c = layout.at(0, 0, wave);
      for (int axis = 0; axis < 2; ++axis) EXPECT_EQ(whole[axis], a[axis] + b[axis] + c[axis]);
    }
  }
}

TEST(RegLayout, SliceHoldsWhatIsLeftOfEachPlace) {
  std::mt19937 random(17);
  for (int round = 0; round < 200; ++round) {
    const auto layout = random_layout(random, 2 + round % 2);
    const int axis = static_cast<int>(random() % layout.rank());
    const auto sliced = slice(layout, axis);
    ASSERT_TRUE(sliced.covers());
    EXPECT_EQ(sliced.lane.bits(), layout.lane.bits());
    EXPECT_EQ(sliced.wave.bits(), layout.wave.bits());
    for (int lane = 0; lane < 1 << layout.lane.bits(); ++lane) {
      std::set<Coordinate> expected, found;
      for (int r = 0; r < layout.registers(); ++r) {
        auto place = layout.at(r, lane, 0);
        place.erase(place.begin() + axis);
        expected.insert(place);
      }
      for (int r = 0; r < sliced.registers(); ++r) EXPECT_TRUE(found.insert(sliced.at(r, lane, 0)).second);
      EXPECT_EQ(found, expected);
    }
  }
}

TEST(RegLayout, PermuteMovesAxes) {
  std::mt19937 random(19);
  for (int round = 0; round < 100; ++round) {
    const auto layout = random_layout(random, 3);
    const std::vector<int> axes = {2, 0, 1};
    const auto moved = permute(layout, axes);
    for (int axis = 0; axis < 3; ++axis) EXPECT_EQ(moved.shape()[axis], layout.shape()[axes[axis]]);
    std::set<Coordinate> expected, found;
    for (int r = 0; r < layout.registers(); ++r) {
      const auto place = layout.at(r, 0, 0), there = moved.at(r, 0, 0);
      expected.insert({place[2], place[0], place[1]});
      found.insert(there);
    }
    EXPECT_EQ(found, expected);
    EXPECT_EQ(permute(moved, {1, 2, 0}), layout);
  }
}

TEST(RegLayout, OddNumbersOfUnits) {
  // 48 x 96: 3 units of 16 rows, 3 of 32 columns.
  const auto layout = make_layout({48, 96}, {{BitSource::reg, 2, 1}, {BitSource::lane, 4, 0}, {BitSource::lane, 2, 1},
                                             {BitSource::wave, 1, 1}});
  ASSERT_TRUE(layout.has_value());
  EXPECT_EQ(layout->unit, (std::vector<std::int64_t>{16, 32}));
  EXPECT_EQ(layout->repeat, (std::vector<std::int64_t>{3, 3}));
  EXPECT_EQ(layout->registers(), 4 * 9);
  EXPECT_EQ(layout->at(4, 0, 0), (Coordinate{0, 32}));
  EXPECT_EQ(layout->at(4 * 3 + 1, 17, 1), (Coordinate{17, 1 + 4 + 16}));
  ASSERT_TRUE(layout->covers());
  EXPECT_EQ(holders(*layout).size(), 48u * 96u);
  EXPECT_EQ(to_text(*layout), "reg(1.0-1) lane(0.0-3,1.2-3) wave(1.4) repeat(3,3)");
}

TEST(RegLayout, MakeLayoutRefusesWhatDoesNotDivide) {
  EXPECT_FALSE(make_layout({48}, {{BitSource::lane, 5, 0}}));
  EXPECT_FALSE(make_layout({16}, {{BitSource::lane, 5, 0}}));
  EXPECT_FALSE(make_layout({16}, {{BitSource::lane, 1, 1}}));
  EXPECT_FALSE(make_layout({0}, {}));
}

TEST(RegLayout, CoversNamesWhatIsMissing) {
  RegLayout layout = *make_layout({4, 8}, {{BitSource::lane, 2, 0}, {BitSource::reg, 3, 1}});
  layout.reg.vectors[1] = {0, 1};
  const auto covered = layout.covers();
  ASSERT_FALSE(covered);
  EXPECT_NE(covered.error().message.find("[0,2]"), std::string::npos) << covered.error().message;
  layout.reg.vectors[1] = {0, 8};
  EXPECT_FALSE(layout.covers());
}

TEST(RegLayout, ContiguousRegisters) {
  EXPECT_EQ(contiguous_registers(*make_layout({16, 64}, {{BitSource::reg, 3, 1}, {BitSource::lane, 4, 0},
                                                         {BitSource::lane, 2, 1}}), 1), 8);
  EXPECT_EQ(contiguous_registers(*make_layout({16, 64}, {{BitSource::lane, 4, 0}, {BitSource::lane, 2, 1},
                                                         {BitSource::reg, 3, 1}}), 1), 1);
  // Whole rows in registers: 48 = 16 x 3 columns are one run, vectors of at most 16 divide it.
  EXPECT_EQ(contiguous_registers(*make_layout({32, 48}, {{BitSource::reg, 4, 1}, {BitSource::lane, 5, 0}}), 1), 16);
  EXPECT_EQ(contiguous_registers(*make_layout({32, 64}, {{BitSource::reg, 3, 1}, {BitSource::lane, 5, 0}}), 1), 64);
  EXPECT_EQ(contiguous_registers(*make_layout({32, 64}, {{BitSource::reg, 3, 1}, {BitSource::lane, 5, 0}}), 0), 1);
}

TEST(RegLayout, Text) {
  RegLayout layout = *make_layout({32, 64}, {{BitSource::reg, 2, 1}, {BitSource::lane, 5, 0}, {BitSource::lane, 1, 1},
                                             {BitSource::reg, 3, 1}, {BitSource::wave, 1, -1}});
  EXPECT_EQ(to_text(layout), "reg(1.0-1,1.3-5) lane(0.0-4,1.2) wave(-)");
  layout.lane.vectors[0] = {1, 4};
  EXPECT_EQ(to_text(layout), "reg(1.0-1,1.3-5) lane(0.0^1.2,0.1-4,1.2) wave(-)");
}

// ---- conversions ----

// Whether every (lane, wave) finds what it needs among the registers of itself, or of its wave (which covers the same
// part of the tile in both): the definition, by enumeration.
Conversion by_enumeration(const RegLayout& from, const RegLayout& to) {
  bool same = from.registers() == to.registers(), own = true, in_wave = from.wave.vectors == to.wave.vectors;
  const int lanes = 1 << from.lane.bits(), waves = 1 << from.wave.bits();
  for (int wave = 0; wave < waves; ++wave) {
    std::set<Coordinate> wave_holds;
    for (int lane = 0; lane < lanes; ++lane) {
      for (int r = 0; r < from.registers(); ++r) wave_holds.insert(from.at(r, lane, wave));
    }
    for (int lane = 0; lane < lanes; ++lane) {
      for (int r = 0; r < to.registers(); ++r) {
        const auto wanted = to.at(r, lane, wave);
        same = same && from.at(r, lane, wave) == wanted;
        bool here = false;
        for (int s = 0; s < from.registers(); ++s) here = here || from.at(s, lane, wave) == wanted;
        own = own && here;
        in_wave = in_wave && wave_holds.contains(wanted);
      }
    }
  }
  return same ? Conversion::none : own ? Conversion::registers : in_wave ? Conversion::lanes : Conversion::lds;
}

TEST(Conversion, AgreesWithEnumeration) {
  const unsigned seed = 424242;
  std::mt19937 random(seed);
  std::map<Conversion, int> seen;
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed) + " round " + std::to_string(round));
    // 8 x 24 over 3 register bits, 2 lane bits, 1 wave bit, dealt at random; sometimes only registers change places.
    std::vector<BitSource> order = {{BitSource::reg, 1, 0}, {BitSource::reg, 1, 1}, {BitSource::reg, 1, 1},
                                    {BitSource::lane, 1, 0}, {BitSource::lane, 1, 0}, {BitSource::wave, 1, 1}};
    std::shuffle(order.begin(), order.end(), random);
    auto other = order;
    if (round % 4 == 1) std::swap(other[random() % 6].kind, other[random() % 6].kind);
    if (round % 4 == 2) std::shuffle(other.begin(), other.end(), random);
    const auto from = *make_layout({8, 24}, order), made = *make_layout({8, 24}, other);
    RegLayout to = made;
    if (round % 4 == 3) std::shuffle(to.reg.vectors.begin(), to.reg.vectors.end(), random);
    EXPECT_GE(static_cast<int>(conversion(from, to)), static_cast<int>(by_enumeration(from, to)));
    EXPECT_EQ(conversion(from, to), by_enumeration(from, to)) << to_text(from) << " -> " << to_text(to);
    ++seen[conversion(from, to)];
  }
  EXPECT_EQ(seen.size(), 4u) << "the rounds do not reach every method";
}

TEST(Conversion, UnitsAndRepeatsAreOneThing) {
  const auto a = *make_layout({16, 64}, {{BitSource::lane, 4, 0}, {BitSource::reg, 6, 1}, {BitSource::wave, 0, 0}});
  const auto b = *make_layout({16, 64}, {{BitSource::lane, 4, 0}, {BitSource::reg, 3, 1}});  // 8 repeats
  EXPECT_FALSE(a == b);
  EXPECT_EQ(conversion(a, b), Conversion::none);
}

TEST(Conversion, ReplicatedFromHeldOnce) {
  const auto held = *make_layout({64, 4}, {{BitSource::reg, 2, 1}, {BitSource::lane, 6, 0}});
  const auto everywhere = *make_layout({64, 4}, {{BitSource::reg, 2, 1}, {BitSource::reg, 6, 0},
                                                 {BitSource::lane, 6, -1}});
  EXPECT_EQ(conversion(held, everywhere), Conversion::lanes);
  EXPECT_EQ(conversion(everywhere, held), Conversion::lanes) << "a register that depends on the lane is no static move";
}

}  // namespace
}  // namespace kiln::layout
