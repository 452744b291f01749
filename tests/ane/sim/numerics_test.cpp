// Numbers that were published about the chip, from the simulator.
#include "ane/sim/numerics.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "ane/sim/conv.h"
#include "base/half.h"

namespace anedvd::sim {
namespace {

std::vector<float> convolved(const std::vector<float>& weights, const std::vector<float>& x, const Numerics& numerics) {
  std::vector<uint16_t> halves;
  for (const float w : weights) halves.push_back(float_to_half(w));
  const auto cols = int64_t(x.size()), rows = int64_t(weights.size()) / cols;
  const PackedWeight packed = pack_weight(halves, rows, cols, numerics.flush_denormals);
  std::vector<float> y(static_cast<size_t>(rows));
  convolve(packed, x.data(), y.data(), 1, numerics, 0, packed.panel_count());
  return y;
}

float dot(const std::vector<float>& w, const std::vector<float>& x, const Numerics& numerics) {
  return convolved(w, x, numerics)[0];
}

TEST(Rounding, EqualsTheHalvesOfBaseForTiesToEven) {
  std::mt19937 random(1);
  for (int i = 0; i < 200000; ++i) {
    const float value = std::bit_cast<float>(uint32_t(random()));
    if (std::isnan(value)) continue;
    EXPECT_EQ(round_to_half(double(value), false), half_to_float(float_to_half(value))) << value;
  }
}

TEST(Rounding, TiesGoUpWhereTheChipDoes) {
  EXPECT_EQ(round_to_half(2049, false), 2048);
  EXPECT_EQ(round_to_half(2049, true), 2050);
  EXPECT_EQ(round_to_half(-2049, true), -2050);
  EXPECT_EQ(round_to_half(0x1p-25, true), 0x1p-24f);
}

TEST(Accumulator, SumsOfOnesAreExactPastFp16) {
  for (const Accumulator accumulator : {Accumulator::kFixed, Accumulator::kRoundedProducts, Accumulator::kPlain}) {
    const Numerics numerics{.accumulator = accumulator};
    EXPECT_EQ(dot(std::vector<float>(5120, 1), std::vector<float>(5120, 1), numerics), 5120);
  }
}

TEST(Accumulator, SaturatesAt2To15) {
  const Numerics numerics;
  EXPECT_EQ(dot({1}, {32752}, numerics), 32752);
  EXPECT_TRUE(std::isinf(dot({1}, {32768}, numerics)));
  EXPECT_EQ(dot({1}, {32768}, {.overflow_is_zero = true}), 0);
  EXPECT_LT(dot({-1}, {32768}, numerics), -1e30f);
}

TEST(Accumulator, FlushesDenormalsWhereTheChipDoes) {
  const float tiny = 0x1p-20f;
  EXPECT_GT(dot({1}, {tiny}, {.accumulator = Accumulator::kPlain}), 0);
  EXPECT_EQ(dot({1}, {tiny}, {.accumulator = Accumulator::kPlain, .flush_denormals = true}), 0);
}

// The grain of the A18 Pro's accumulator: eight products summed exactly, then cut to multiples of 2^-15.
TEST(Accumulator, FixedHasAnAbsoluteGrain) {
  const Numerics fixed{.accumulator = Accumulator::kFixed};
  EXPECT_EQ(dot({1}, {0x1p-16f}, fixed), 0);
  EXPECT_EQ(dot({1}, {-0x1.8p-15f}, fixed), -0x1p-15f);  // towards zero
  EXPECT_EQ(dot(std::vector<float>(8, 1), std::vector<float>(8, 0x1p-18f), fixed), 0x1p-15f);
  EXPECT_EQ(dot(std::vector<float>(16, 1), std::vector<float>(16, 0x1p-19f), fixed), 0);
  EXPECT_EQ(dot({1}, {0x1p-16f}, {.accumulator = Accumulator::kPlain}), 0x1p-16f);
}

TEST(Accumulator, EveryKindAgreesWithALoop) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal(0, 1);
  const int rows = 37, cols = 83;
  std::vector<float> w, x;
  for (int i = 0; i < rows * cols; ++i) w.push_back(half_to_float(float_to_half(normal(random) * 0.1f)));
  for (int i = 0; i < cols; ++i) x.push_back(half_to_float(float_to_half(normal(random))));
  for (const Accumulator accumulator : {Accumulator::kFixed, Accumulator::kRoundedProducts, Accumulator::kPlain}) {
    const Numerics numerics{.accumulator = accumulator};
    const auto y = convolved(w, x, numerics);
    for (int r = 0; r < rows; ++r) {
      double sum = 0, group = 0;
      float f32 = 0;
      for (int k = 0; k < cols; ++k) {
        const float product = w[size_t(r * cols + k)] * x[size_t(k)];
        if (accumulator == Accumulator::kRoundedProducts) f32 += half_to_float(float_to_half(product));
        if (accumulator == Accumulator::kPlain) f32 += product;
        group += double(product);
        if (k % 8 == 7 || k + 1 == cols) {
          sum += std::trunc(group * 32768) / 32768;
          group = 0;
        }
      }
      const double want = accumulator == Accumulator::kFixed ? sum : double(f32);
      EXPECT_EQ(y[size_t(r)], leave_accumulator(want, numerics)) << r;
    }
  }
}

// Published largest errors: sigmoid 0.0034, tanh 0.0017.
TEST(Tables, ErrWithinWhatWasPublished) {
  const struct {
    ActivationTable::Function function;
    double published;
  } cases[] = {{ActivationTable::Function::kSigmoid, 0.0034}, {ActivationTable::Function::kTanh, 0.0017}};
  for (const auto& c : cases) {
    const ActivationTable table(c.function);
    double worst = 0;
    for (float x = -20; x < 20; x += 0.01f)
      worst = std::max(worst, double(std::abs(table(x) - exact_activation(c.function, x))));
    EXPECT_LT(worst, c.published * 1.1);
    EXPECT_GT(worst, c.published / 4);
  }
  EXPECT_EQ(ActivationTable(ActivationTable::Function::kSigmoid)(-1000), 0);
  EXPECT_EQ(ActivationTable(ActivationTable::Function::kSilu)(1000), 1000);
  EXPECT_EQ(ActivationTable(ActivationTable::Function::kTanh)(-1000), -1);
  EXPECT_LT(ActivationTable(ActivationTable::Function::kTanh)(-0.5f), 0);
}

TEST(Elementwise, HasNoNaNAndNoNegativeZero) {
  EXPECT_EQ(leave_elementwise(NAN), 0);
  EXPECT_FALSE(std::signbit(leave_elementwise(-0.0f)));
  EXPECT_TRUE(std::isinf(enter(NAN)));
}

}  // namespace
}  // namespace anedvd::sim
