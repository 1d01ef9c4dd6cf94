// Cards by UUID and PCI address.
#include <gtest/gtest.h>

#include "engine/device/card_names.hpp"

namespace kiln::device {
namespace {

const std::vector<CardIdentity> cards = {{"GPU-1f2e3d4c5b6a7988", "0000:0c:00.0"},
                                         {"GPU-1f2e3d4c00000001", "0000:22:00.0"},
                                         {"GPU-000102030405060708090a0b0c0d0e0f", "0001:0c:00.0"}};

TEST(CardNames, FindsACardByEveryNameOfIts) {
  const std::pair<const char*, std::size_t> names[] = {
      {"GPU-1f2e3d4c5b6a7988", 0}, {"1f2e3d4c5b6a7988", 0},  {"gpu-1F2E3D4C5B6A7988", 0}, {"0000:0c:00.0", 0}, {"0C:00.0", 0},
      {"GPU-1f2e3d4c5", 0},        {"GPU-1f2e3d4c0", 1},     {"22:00.0", 1},              {"0001:0c:00.0", 2},
      {"31663265336434633562366137393838", 0}, {"000102030405060708090a0b0c0d0e0f", 2}};
  for (const auto& [name, number] : names) {
    const auto found = find_card(cards, name);
    ASSERT_TRUE(found) << name << ": " << to_text(found.error());
    EXPECT_EQ(*found, number) << name;
  }
}

TEST(CardNames, WhatNamesNoneOrSeveralIsRefusedWithWhatThereIs) {
  for (const char* name : {"GPU-1f2e", "1f2e3d4c", "GPU-ffff", "1f2", "0000:0d:00.0", "", "GPU-"}) {
    const auto found = find_card(cards, name);
    ASSERT_FALSE(found) << name;
    EXPECT_EQ(found.error().code, ErrorCode::unknown_target);
    EXPECT_EQ(found.error().context.size(), 3u);
    EXPECT_NE(to_text(found.error()).find("hip:1, UUID GPU-1f2e3d4c00000001, PCI 0000:22:00.0"), std::string::npos);
  }
  EXPECT_NE(find_card(cards, "GPU-1f2e").error().message.find("several"), std::string::npos);
  EXPECT_FALSE(find_card({}, "GPU-1f2e"));
}

}  // namespace
}  // namespace kiln::device
