#include <gtest/gtest.h>

#include "engine/device/hip/kernel_names.hpp"

namespace kiln::device::hip {
namespace {

const std::vector<std::string> symbols{"scale", "_Z6reduceIfEvPKT_PS0_i", "_Z6reduceIdEvPKT_PS0_i", "_Z4fillPfi", "_Z4fillPdi",
                                       "_ZN3ops3addILi4EEEvPFviE", "_Zbroken"};

std::size_t chosen(std::string_view wanted) {
  const auto index = choose_kernel(symbols, wanted);
  EXPECT_TRUE(index) << wanted << ": " << (index ? "" : index.error().message);
  return index ? *index : symbols.size();
}

TEST(KernelNames, AreReadAsAuthorsWriteThem) {
  EXPECT_EQ(readable_kernel("scale"), "scale");
  EXPECT_EQ(readable_kernel("_Z6reduceIfEvPKT_PS0_i"), "reduce<float>");
  EXPECT_EQ(readable_kernel("_ZN3ops3addILi4EEEvPFviE"), "ops::add<4>");
  EXPECT_EQ(readable_kernel("_Zbroken"), "_Zbroken");
  EXPECT_EQ(readable_kernel(""), "");
}

TEST(KernelNames, EveryFormFindsItsKernel) {
  EXPECT_EQ(chosen("scale"), 0u);
  EXPECT_EQ(chosen("_Z6reduceIdEvPKT_PS0_i"), 2u);
  EXPECT_EQ(chosen("reduce<float>"), 1u);
  EXPECT_EQ(chosen("reduce< double >"), 2u);
  EXPECT_EQ(chosen("fill(double*, int)"), 4u);
  EXPECT_EQ(chosen("ops::add"), 5u);
  EXPECT_EQ(chosen("_Zbroken"), 6u);
  EXPECT_EQ(*choose_kernel({"only"}, ""), 0u);
}

TEST(KernelNames, DoubtIsToldWithWhatThereIs) {
  const auto reduce = choose_kernel(symbols, "reduce");
  ASSERT_FALSE(reduce);
  EXPECT_EQ(reduce.error().message, "which reduce (--kernel)? There are reduce<float>, reduce<double>");
  const auto fill = choose_kernel(symbols, "fill");
  ASSERT_FALSE(fill);
  EXPECT_EQ(fill.error().message, "which fill (--kernel)? There are fill(float*, int), fill(double*, int)");
  const auto none = choose_kernel(symbols, "sum");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::not_found);
  EXPECT_NE(none.error().message.find("reduce<float>, reduce<double>, fill(float*, int)"), std::string::npos);
  EXPECT_EQ(choose_kernel(symbols, "").error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(choose_kernel({}, "").error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace kiln::device::hip
