#include "ane/planar.h"

#include <bit>
#include <cmath>
#include <random>
#include <utility>
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
  for (const auto& [width, columns] : {std::pair{1, 1}, {8, 5}, {8, 8}, {33, 33}, {64, 19}, {64, 64}}) {
    const TensorLayout layout = layout_of(70, width);
    std::vector<std::byte> surface(size_t(layout.bytes));
    std::vector<float> source(size_t(columns) * 50);
    for (size_t i = 0; i < source.size(); ++i) source[i] = float(i % 2048) / 16;
    std::vector<float> factors, inverse;
    for (int w = 0; w < columns; ++w)
      factors.push_back(std::exp2f(float(w % 5 - 1))), inverse.push_back(1 / factors.back());
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

// Whole blocks of 8 × 8 and what is left over go different ways: both are held against half.h.
TEST(Planar, EveryHalfComesBackAndInfinitiesAreSeen) {
  for (const auto& [channels, columns] : {std::pair{64, 64}, {61, 3}}) {
    const TensorLayout layout = layout_of(channels, columns);
    std::vector<std::byte> surface(size_t(layout.bytes));
    const std::vector<float> ones(size_t(columns), 1.0f);
    std::vector<float> rows(size_t(channels) * size_t(columns));
    const auto at = [&](int64_t channel, int column) {
      return reinterpret_cast<uint16_t*>(surface.data() + channel * layout.plane_stride) + column;
    };
    const auto gather = [&] {
      return gather_planes(surface, layout, 0, channels, columns, ones, rows.data(), channels);
    };
    for (int first = 0; first < 65536; first += channels * columns) {
      bool is_finite = true;
      for (int64_t c = 0; c < channels; ++c)
        for (int w = 0; w < columns; ++w) {
          const auto half = uint16_t(first + c * columns + w);
          *at(c, w) = half;
          is_finite = is_finite && (half & 0x7c00) != 0x7c00;
        }
      ASSERT_EQ(gather(), is_finite);
      if (!is_finite) continue;
      for (int64_t c = 0; c < channels; ++c)
        for (int w = 0; w < columns; ++w)
          ASSERT_EQ(std::bit_cast<uint32_t>(rows[size_t(w) * size_t(channels) + size_t(c)]),
                    std::bit_cast<uint32_t>(half_to_float(*at(c, w))));
    }
    for (int64_t c = 0; c < channels; ++c)
      for (int w = 0; w < columns; ++w) *at(c, w) = 0x3c00;
    for (int64_t c = 0; c < channels; ++c)
      for (int w = 0; w < columns; ++w) {
        ASSERT_TRUE(gather());
        *at(c, w) = 0xfc00;
        ASSERT_FALSE(gather()) << c << ' ' << w;
        *at(c, w) = 0x3c00;
      }
  }
}

TEST(Planar, RoundsAsEverybodyDoesAndClamps) {
  std::mt19937 random(3);
  const TensorLayout layout = layout_of(64, 8);
  const std::vector<float> eight_ones(8, 1.0f);
  std::vector<std::byte> surface(size_t(layout.bytes));
  for (int round = 0; round < 3000; ++round) {
    std::vector<float> source(64), back(64);
    for (float& value : source) {
      value = std::bit_cast<float>(uint32_t(random()));
      if (round % 2 == 0) value = std::ldexp(float(random() % 4096), int(random() % 30) - 36);
      if (std::isnan(value)) value = 0;
    }
    const int columns = round % 4 < 2 ? 1 : 8, channels = 64 / columns;
    scatter_planes(source.data(), channels, 0, channels, columns, eight_ones, layout, surface);
    EXPECT_TRUE(gather_planes(surface, layout, 0, channels, columns, eight_ones, back.data(), channels));
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
