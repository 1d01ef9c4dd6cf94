// Faces of a cube, worked out by hand, and by the side that a direction goes through.
#include <cmath>
#include <random>

#include "tests/unit/emulator/vector_cases.hpp"

namespace kiln::emulator_test {
namespace {

std::vector<std::string> all_cards() { return {"gfx90a", "gfx942", "gfx950", "gfx1100"}; }

Case32 direction(float x, float y, float z, float want) { return {bits(x), bits(y), bits(z), bits(want)}; }

TEST(VectorCube, TheSixFaces) {
  for (const auto& card : all_cards()) {
    // At x, y, z = ±3 along the axis, with 1 and -2 beside it.
    check32(card, "v_cubeid_f32 v0, v1, v2, v3",
            {direction(3, 1, -2, 0), direction(-3, 1, -2, 1), direction(1, 3, -2, 2), direction(1, -3, -2, 3),
             direction(1, -2, 3, 4), direction(1, -2, -3, 5)});
    check32(card, "v_cubesc_f32 v0, v1, v2, v3",
            {direction(3, 1, -2, 2), direction(-3, 1, -2, -2), direction(1, 3, -2, 1), direction(1, -3, -2, 1),
             direction(1, -2, 3, 1), direction(1, -2, -3, -1)});
    check32(card, "v_cubetc_f32 v0, v1, v2, v3",
            {direction(3, 1, -2, -1), direction(-3, 1, -2, -1), direction(1, 3, -2, -2), direction(1, -3, -2, 2),
             direction(1, -2, 3, 2), direction(1, -2, -3, 2)});
    check32(card, "v_cubema_f32 v0, v1, v2, v3",
            {direction(3, 1, -2, 6), direction(-3, 1, -2, -6), direction(1, 3, -2, 6), direction(1, -3, -2, -6),
             direction(1, -2, 3, 6), direction(1, -2, -3, -6)});
  }
}

TEST(VectorCube, EdgesGoToZThenY) {
  for (const auto& card : all_cards()) {
    check32(card, "v_cubeid_f32 v0, v1, v2, v3",
            {direction(1, 1, 1, 4), direction(1, -1, -1, 5), direction(1, 1, 0, 2), direction(-1, -1, 0.5f, 3),
             direction(-1, 0.5f, 1, 4), direction(0, 0, 0, 4), direction(0, 0, -0.0f, 4)});
    check32(card, "v_cubeid_f32 v0, -v1, |v2|, v3", {direction(3, 1, -2, 1), direction(1, -3, -2, 2)});
  }
}

// The larger component of a random direction is the axis, the two others are s and t.
TEST(VectorCube, CoordinatesLieInTheFace) {
  std::mt19937 random(11);
  std::uniform_real_distribution<float> component(-8, 8);
  for (const auto& card : all_cards()) {
    SmallWave wave(card);
    const int lanes = card == "gfx1100" ? 32 : 64;
    for (int lane = 0; lane < lanes; ++lane)
      for (int i = 1; i <= 3; ++i) wave.set_vf(i, lane, component(random));
    ASSERT_EQ(wave.run("v_cubeid_f32 v4, v1, v2, v3\n v_cubesc_f32 v5, v1, v2, v3\n v_cubetc_f32 v6, v1, v2, v3\n"
                       "v_cubema_f32 v7, v1, v2, v3"),
              emulator::WaveStatus::ended);
    for (int lane = 0; lane < lanes; ++lane) {
      const float v[3] = {wave.vf(1, lane), wave.vf(2, lane), wave.vf(3, lane)};
      const int face = static_cast<int>(wave.vf(4, lane)), axis = face / 2;
      const float major = wave.vf(7, lane) / 2, s = wave.vf(5, lane), t = wave.vf(6, lane);
      EXPECT_EQ(major, v[axis]) << card << " lane " << lane;
      EXPECT_EQ(major < 0, face % 2 == 1);
      EXPECT_LE(std::fabs(s), std::fabs(major));
      EXPECT_LE(std::fabs(t), std::fabs(major));
      const float sizes[2] = {std::fabs(v[axis == 0 ? 2 : 0]), std::fabs(v[axis == 1 ? 2 : 1])};
      EXPECT_EQ(std::fabs(s), sizes[0]);
      EXPECT_EQ(std::fabs(t), sizes[1]);
    }
  }
}

}  // namespace
}  // namespace kiln::emulator_test
