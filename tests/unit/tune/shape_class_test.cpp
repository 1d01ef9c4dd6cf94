#include "engine/tune/shape_class.hpp"

#include <set>

namespace kiln::tune {
namespace {

TEST(ShapeClass, SmallSizesStandAlone) {
  std::set<std::string> classes;
  for (std::int64_t size = 0; size <= exact_size_max; ++size) {
    EXPECT_EQ(shape_class(size), std::to_string(size));
    classes.insert(shape_class(size));
  }
  EXPECT_EQ(classes.size(), 33u);
}

TEST(ShapeClass, LargerOnesGoByPowerOfTwoAndWholePieces) {
  EXPECT_EQ(shape_class(33), "64");
  EXPECT_EQ(shape_class(48), "64/16");
  EXPECT_EQ(shape_class(64), "64/16");
  EXPECT_EQ(shape_class(65), "128");
  EXPECT_EQ(shape_class(4096), "4096/16");
  EXPECT_EQ(shape_class(4095), "4096");
  EXPECT_EQ(shape_class(4097), "8192");
  EXPECT_EQ(shape_class(4112), "8192/16");
  EXPECT_EQ(shape_class((std::int64_t(1) << 31) - 1), "2147483648");
}

// The bounds of every class by their definition, not by the function's own arithmetic.
TEST(ShapeClass, HoldsExactlyTheSizesOfItsBucket) {
  for (std::int64_t size = 33; size <= 5000; ++size) {
    std::int64_t bucket = 1;
    while (bucket < size) bucket *= 2;
    EXPECT_EQ(shape_class(size), std::to_string(bucket) + (size % 16 == 0 ? "/16" : "")) << size;
  }
}

}  // namespace
}  // namespace kiln::tune
