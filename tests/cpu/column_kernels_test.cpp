// The kernels of routers and of gpt-oss's gate: every SIMD level against the scalar one, bit for bit, and the scalar one against double arithmetic.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "cpu/kernels/select.h"

namespace anedvd {
namespace {

class ColumnKernels : public testing::TestWithParam<const KernelTable*> {
 protected:
  const KernelTable& level() const { return *GetParam(); }
  const KernelTable& scalar() const { return *scalar_kernels(); }

  // Room for whole vectors, filled with what must not matter.
  std::vector<float> random_floats(int n, float spread) {
    std::normal_distribution<float> normal(0, spread);
    std::vector<float> values(size_t((n + kLanes - 1) / kLanes * kLanes), 1e30f);
    for (int i = 0; i < n; ++i) values[size_t(i)] = normal(rng_);
    return values;
  }

  std::mt19937 rng_{11};
};

TEST_P(ColumnKernels, SoftmaxHasTheScalarBitsIsExactAndWritesNothingBeyond) {
  for (const int n : {1, 2, 4, 15, 16, 17, 60, 128, 131}) {
    auto x = random_floats(n, 6);
    if (n > 3) x[2] = -std::numeric_limits<float>::infinity();
    std::vector<float> want(x.size(), -7), got(x.size(), -7);
    scalar().softmax(x.data(), n, want.data());
    level().softmax(x.data(), n, got.data());
    const double peak = *std::max_element(x.begin(), x.begin() + n);
    double total = 0;
    for (int i = 0; i < n; ++i) total += std::exp(double(x[size_t(i)]) - peak);
    for (int i = 0; i < n; ++i) {
      EXPECT_EQ(std::bit_cast<uint32_t>(want[size_t(i)]), std::bit_cast<uint32_t>(got[size_t(i)])) << n << ": " << i;
      EXPECT_NEAR(got[size_t(i)], std::exp(double(x[size_t(i)]) - peak) / total, 1e-6) << n << ": " << i;
    }
    for (size_t i = size_t(n); i < got.size(); ++i) EXPECT_EQ(got[i], -7) << n;
    // In place, as routers use it.
    level().softmax(x.data(), n, x.data());
    EXPECT_TRUE(std::equal(x.begin(), x.begin() + n, got.begin())) << n;
  }
}

TEST_P(ColumnKernels, ClampedSwigluHasTheScalarBitsAndIsItsFormula) {
  const int n = 160;
  auto gate = random_floats(n, 6), up = random_floats(n, 6);
  gate[0] = 100, gate[1] = -100, up[0] = 50, up[2] = -50;
  std::vector<float> want(gate.size()), got(gate.size());
  scalar().clamped_swiglu(gate.data(), up.data(), n, want.data());
  level().clamped_swiglu(gate.data(), up.data(), n, got.data());
  for (size_t i = 0; i < size_t(n); ++i) {
    EXPECT_EQ(std::bit_cast<uint32_t>(want[i]), std::bit_cast<uint32_t>(got[i])) << i;
    const double g = std::min(double(gate[i]), 7.0), u = std::clamp(double(up[i]), -7.0, 7.0);
    EXPECT_NEAR(got[i], (u + 1) * g / (1 + std::exp(-1.702 * g)), 2e-5) << gate[i] << " " << up[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, ColumnKernels, testing::ValuesIn(available_kernels()),
                         [](const auto& level) { return std::string(level.param->name); });

}  // namespace
}  // namespace anedvd
