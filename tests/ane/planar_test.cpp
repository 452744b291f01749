#include "ane/planar.h"

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "base/half.h"

namespace anedvd {
namespace {

const std::vector<float> kOne = {1};

TensorLayout layout_of(int64_t channels, int64_t width) {
  const int64_t row = (width * 2 + 63) / 64 * 64;
  return {"x", 0, channels, width, row, row * channels};
}

TEST(Planar, ElementsLieByTheStrides) {
  for (const int width : {1, 8, 33, 64}) {
    const TensorLayout layout = layout_of(70, width);
    std::vector<std::byte> surface(size_t(layout.bytes));
    const int columns = std::min(width, 5);
    std::vector<float> source(size_t(columns) * 50);
    for (size_t i = 0; i < source.size(); ++i) source[i] = float(i) / 16;
    std::vector<float> factors, inverse;
    for (int w = 0; w < columns; ++w)
      factors.push_back(std::exp2f(float(w - 1))), inverse.push_back(1 / factors.back());
    scatter_planes(source.data(), 50, 20, 50, columns, factors, layout, surface);
    for (int64_t c = 0; c < 70; ++c)
      for (int w = 0; w < columns; ++w) {
        const auto* row = reinterpret_cast<const uint16_t*>(surface.data() + c * layout.plane_stride);
        EXPECT_EQ(half_to_float(row[w]), c < 20 ? 0 : source[size_t(w * 50 + c - 20)] * factors[size_t(w)]);
      }
    std::vector<float> back(source.size());
    EXPECT_TRUE(gather_planes(surface, layout, 20, 50, columns, inverse, back.data(), 50));
    EXPECT_EQ(back, source);
    clear_planes(0, columns, layout, surface);
    EXPECT_EQ(surface, std::vector<std::byte>(surface.size()));
  }
}

TEST(Planar, RoundsAsEverybodyDoesAndClamps) {
  std::mt19937 random(3);
  const TensorLayout layout = layout_of(64, 1);
  std::vector<std::byte> surface(size_t(layout.bytes));
  for (int round = 0; round < 3000; ++round) {
    std::vector<float> source(64), back(64);
    for (float& value : source) {
      value = std::bit_cast<float>(uint32_t(random()));
      if (round % 2 == 0) value = std::ldexp(float(random() % 4096), int(random() % 30) - 36);
      if (std::isnan(value)) value = 0;
    }
    scatter_planes(source.data(), 64, 0, 64, 1, kOne, layout, surface);
    EXPECT_TRUE(gather_planes(surface, layout, 0, 64, 1, kOne, back.data(), 64));
    for (size_t i = 0; i < 64; ++i)
      EXPECT_EQ(back[i], half_to_float(float_to_half(std::min(std::max(source[i], -65504.0f), 65504.0f)))) << source[i];
  }
}

TEST(Planar, InfinitiesAreNoticed) {
  const TensorLayout layout = layout_of(4, 1);
  std::vector<std::byte> surface(size_t(layout.bytes));
  reinterpret_cast<uint16_t*>(surface.data() + 128)[0] = 0xfc00;
  std::vector<float> back(4);
  EXPECT_FALSE(gather_planes(surface, layout, 0, 4, 1, kOne, back.data(), 4));
  EXPECT_TRUE(gather_planes(surface, layout, 0, 2, 1, kOne, back.data(), 4));
}

}  // namespace
}  // namespace anedvd
