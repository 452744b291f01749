#include "ane/sim/conv.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "ane/sim/numerics.h"

// Not needed on other processors: their baseline has wide enough vectors.
#if defined(__x86_64__) && defined(__GNUC__)
#define ANEDVD_SIM_AVX2 1
#endif

namespace anedvd::sim {
namespace {

constexpr int kGroup = 8;           // products that are summed exactly
constexpr double kGrain = 0x1p-15;  // of the accumulator

#define ANEDVD_INLINE inline __attribute__((always_inline))

// Exact, without a branch, so that it becomes vector code: the exponent is moved by a multiplication, which also serves subnormals.
ANEDVD_INLINE float half_value(uint16_t half) {
  const float magnitude = std::bit_cast<float>(uint32_t(half & 0x7fff) << 13) * 0x1p112f;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | uint32_t(half & 0x8000) << 16);
}

// Half of a panel's rows side by side: one register of AVX2. Loops over arrays were left scalar by the compiler.
constexpr int kLanes = 8;
constexpr int kParts = kPanelRows / kLanes;
using Floats = float __attribute__((vector_size(kLanes * sizeof(float))));
using Words = uint32_t __attribute__((vector_size(kLanes * sizeof(uint32_t))));

// A quarter of them in double precision.
constexpr int kWideLanes = 4;
constexpr int kWideParts = kPanelRows / kWideLanes;
using Doubles = double __attribute__((vector_size(kWideLanes * sizeof(double))));
using Longs = int64_t __attribute__((vector_size(kWideLanes * sizeof(int64_t))));

struct Work {
  const PackedWeight* weight;
  const float* x;
  float* y;
  int64_t columns;
  const Numerics* numerics;
  double* wide;   // [cols][16], a panel's weights for the fixed accumulator
  float* narrow;  // the same for the others
};

// total += x, towards zero to a whole number: adding 2^52 makes one, a step back where that rounded up. From 2^51 on x is left as it is.
ANEDVD_INLINE void add_truncated(Doubles& total, const Doubles& x) {
  const Longs bits = __builtin_bit_cast(Longs, x), sign = bits & INT64_MIN;
  const Doubles magnitude = __builtin_bit_cast(Doubles, bits & INT64_MAX);
  const Doubles nearest = (magnitude + 0x1p52) - 0x1p52;
  const Longs step = __builtin_bit_cast(Longs, Doubles{} + 1) & (nearest > magnitude), is_small = magnitude < 0x1p51;
  const Longs cut = __builtin_bit_cast(Longs, nearest - __builtin_bit_cast(Doubles, step)) | sign;
  total += __builtin_bit_cast(Doubles, (cut & is_small) | (bits & ~is_small));
}

ANEDVD_INLINE void fixed_column(const double* w, const float* x, int64_t cols, double* sums) {
  Doubles total[kWideParts] = {};
  for (int64_t k = 0; k < cols; k += kGroup) {
    const int64_t end = std::min<int64_t>(k + kGroup, cols);
    Doubles group[kWideParts] = {};
    for (int64_t i = k; i < end; ++i) {
      const double factor = double(x[i]);
      for (int part = 0; part < kWideParts; ++part) {
        Doubles weight;
        std::memcpy(&weight, w + i * kPanelRows + part * kWideLanes, sizeof(weight));
        group[part] += weight * factor;
      }
    }
    for (int part = 0; part < kWideParts; ++part) add_truncated(total[part], group[part] * (1 / kGrain));
  }
  for (int part = 0; part < kWideParts; ++part) {
    const Doubles scaled = total[part] * kGrain;
    std::memcpy(sums + part * kWideLanes, &scaled, sizeof(scaled));
  }
}

ANEDVD_INLINE void store(const Floats (&total)[kParts], double* sums) {
  float lanes[kPanelRows];
  std::memcpy(lanes, total, sizeof(lanes));
  for (int lane = 0; lane < kPanelRows; ++lane) sums[lane] = double(lanes[lane]);
}

// Each product goes to the nearest fp16 number, ties to even, before it is added.
ANEDVD_INLINE void rounded_column(const float* w, const float* x, int64_t cols, double* sums) {
  Floats total[kParts] = {};
  for (int64_t k = 0; k < cols; ++k)
    for (int part = 0; part < kParts; ++part) {
      Floats weight;
      std::memcpy(&weight, w + k * kPanelRows + part * kLanes, sizeof(weight));
      const Floats product = weight * x[k];
      const Words bits = __builtin_bit_cast(Words, product);
      const Words rounded = (bits + 0xfffu + (bits >> 13 & 1u)) & ~0x1fffu;
      // From 0.75 on steps are 2^-24: adding and taking it away rounds to a subnormal half.
      const Floats subnormal = (product + 0.75f) - 0.75f;
      total[part] += (bits & 0x7fffffffu) < 0x38800000u ? subnormal : __builtin_bit_cast(Floats, rounded);
    }
  store(total, sums);
}

ANEDVD_INLINE void plain_column(const float* w, const float* x, int64_t cols, double* sums) {
  Floats total[kParts] = {};
  for (int64_t k = 0; k < cols; ++k)
    for (int part = 0; part < kParts; ++part) {
      Floats weight;
      std::memcpy(&weight, w + k * kPanelRows + part * kLanes, sizeof(weight));
      total[part] += weight * x[k];
    }
  store(total, sums);
}

ANEDVD_INLINE void run_panel(const Work& work, int64_t panel) {
  const int64_t cols = work.weight->cols;
  const uint16_t* halves = work.weight->panels.data() + panel * cols * kPanelRows;
  const bool is_fixed = work.numerics->accumulator == Accumulator::kFixed;
  if (is_fixed)
    for (int64_t i = 0; i < cols * kPanelRows; ++i) work.wide[i] = double(half_value(halves[i]));
  else
    for (int64_t i = 0; i < cols * kPanelRows; ++i) work.narrow[i] = half_value(halves[i]);
  const int64_t first = panel * kPanelRows, count = std::min<int64_t>(kPanelRows, work.weight->rows - first);
  for (int64_t column = 0; column < work.columns; ++column) {
    const float* x = work.x + column * cols;
    double sums[kPanelRows];
    switch (work.numerics->accumulator) {
      case Accumulator::kFixed: fixed_column(work.wide, x, cols, sums); break;
      case Accumulator::kRoundedProducts: rounded_column(work.narrow, x, cols, sums); break;
      case Accumulator::kPlain: plain_column(work.narrow, x, cols, sums); break;
    }
    float* y = work.y + column * work.weight->rows + first;
    for (int64_t lane = 0; lane < count; ++lane) y[lane] = leave_accumulator(sums[lane], *work.numerics);
  }
}

void run_panel_baseline(const Work& work, int64_t panel) { run_panel(work, panel); }

#ifdef ANEDVD_SIM_AVX2
__attribute__((target("avx2"))) void run_panel_avx2(const Work& work, int64_t panel) { run_panel(work, panel); }
#endif

auto best_panel() {
#ifdef ANEDVD_SIM_AVX2
  if (__builtin_cpu_supports("avx2")) return run_panel_avx2;
#endif
  return run_panel_baseline;
}

}  // namespace

PackedWeight pack_weight(std::span<const uint16_t> halves, int64_t rows, int64_t cols, bool flush_denormals) {
  PackedWeight packed{rows, cols, {}};
  packed.panels.assign(size_t(packed.panel_count() * cols * kPanelRows), 0);
  for (int64_t row = 0; row < rows; ++row) {
    uint16_t* panel = packed.panels.data() + row / kPanelRows * cols * kPanelRows + row % kPanelRows;
    for (int64_t k = 0; k < cols; ++k) {
      const uint16_t half = halves[size_t(row * cols + k)];
      const bool is_denormal = (half & 0x7c00) == 0;
      panel[k * kPanelRows] = flush_denormals && is_denormal ? 0 : half;
    }
  }
  return packed;
}

void convolve(const PackedWeight& weight, const float* x, float* y, int64_t columns, const Numerics& numerics,
              int64_t first, int64_t last) {
  const bool is_fixed = numerics.accumulator == Accumulator::kFixed;
  const auto count = size_t(weight.cols) * kPanelRows;
  std::vector<double> wide(is_fixed ? count : 0);
  std::vector<float> narrow(is_fixed ? 0 : count);
  const Work work{&weight, x, y, columns, &numerics, wide.data(), narrow.data()};
  const auto run = best_panel();
  for (int64_t panel = first; panel < last; ++panel) run(work, panel);
}

}  // namespace anedvd::sim
