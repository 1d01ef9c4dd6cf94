#include <gtest/gtest.h>

#include <random>

#include "engine/compile/line_table.hpp"

namespace kiln::compile {
namespace {

void put(Bytes& to, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

// A unit by hand, as DWARF 5 says: minimum length 4, line base -5, range 14, opcode base 13; no folders and files.
Bytes unit(const Bytes& program) {
  Bytes header;
  for (const int value : {4, 1, 1, 0xfb, 14, 13}) header.push_back(static_cast<std::uint8_t>(value));
  for (const int operands : {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1}) header.push_back(static_cast<std::uint8_t>(operands));
  header.insert(header.end(), {0, 0, 0, 0});
  Bytes rest;
  put(rest, 5, 2);
  rest.insert(rest.end(), {8, 0});
  put(rest, header.size(), 4);
  rest.insert(rest.end(), header.begin(), header.end());
  rest.insert(rest.end(), program.begin(), program.end());
  Bytes all;
  put(all, rest.size(), 4);
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

Bytes program() {
  Bytes p{0, 9, 2};                // set_address
  put(p, 0x1700, 8);
  p.insert(p.end(), {3, 9});       // advance_line 9: line 10
  p.push_back(1);                  // copy: 0x1700 line 10
  p.push_back(13 + 5 + 14 + 2);    // special: 1 * 4 bytes on, line +2: 0x1704 line 12
  p.insert(p.end(), {2, 3});       // advance_pc 3 * 4: 0x1710
  p.insert(p.end(), {4, 2, 1});    // file 2, copy: another file's
  p.insert(p.end(), {4, 1, 3, 0x7b, 2, 1, 1});   // file 1, line -5, pc + 4, copy: 0x1714 line 7
  p.insert(p.end(), {8});          // const_add_pc: (255 - 13) / 14 * 4 = 68
  p.insert(p.end(), {0, 1, 1});    // end_sequence at 0x1758
  return p;
}

TEST(LineTable, readsWhatTheOpcodesSay) {
  const auto table = LineTable::read(unit(program()));
  EXPECT_EQ(table.at(0x16ff), 0u);
  EXPECT_EQ(table.at(0x1700), 10u);
  EXPECT_EQ(table.at(0x1703), 10u);
  EXPECT_EQ(table.at(0x1704), 12u);
  EXPECT_EQ(table.at(0x170c), 12u);
  EXPECT_EQ(table.at(0x1710), 0u);   // another file
  EXPECT_EQ(table.at(0x1714), 7u);
  EXPECT_EQ(table.at(0x1757), 7u);
  EXPECT_EQ(table.at(0x1758), 0u);
}

TEST(LineTable, absentAndCutShort) {
  EXPECT_TRUE(LineTable::read({}).empty());
  EXPECT_EQ(LineTable::read({}).at(5), 0u);
  const Bytes whole = unit(program());
  for (std::size_t size = 0; size < whole.size(); ++size) (void)LineTable::read(ByteView(whole).first(size)).at(0x1704);
}

TEST(LineTable, damageNeverCrashes) {
  const unsigned seed = 20261130;
  std::mt19937 random(seed);
  const Bytes whole = unit(program());
  for (int i = 0; i < 5000; ++i) {
    Bytes damaged = whole;
    for (int flips = 0; flips < 3; ++flips) damaged[random() % damaged.size()] = static_cast<std::uint8_t>(random());
    (void)LineTable::read(damaged).at(random() % 0x2000);
  }
  SUCCEED() << "seed " << seed;
}

}  // namespace
}  // namespace kiln::compile
