#include "base/half.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace anedvd {
namespace {

TEST(Half, EveryWordSurvivesTheRoundTrip) {
  for (uint32_t word = 0; word < 0x10000; ++word) {
    const float value = half_to_float(uint16_t(word));
    if (std::isnan(value)) continue;
    ASSERT_EQ(float_to_half(value), word) << word;
  }
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(float_to_half(1.0f + 0x1p-11f), 0x3c00);      // tie: to even, down
  EXPECT_EQ(float_to_half(1.0f + 3 * 0x1p-11f), 0x3c02);  // tie: to even, up
  EXPECT_EQ(float_to_half(0x1p-25f), 0x0000);             // tie between zero and the smallest subnormal
  EXPECT_EQ(float_to_half(std::nextafter(0x1p-25f, 1.0f)), 0x0001);
  EXPECT_EQ(float_to_half(65519.99f), 0x7bff);
  EXPECT_EQ(float_to_half(65520.0f), 0x7c00);
  EXPECT_EQ(float_to_half(-std::numeric_limits<float>::infinity()), 0xfc00);
  EXPECT_TRUE(std::isnan(half_to_float(float_to_half(std::nanf("")))));
}

}  // namespace
}  // namespace anedvd
