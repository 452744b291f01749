#include "ane/sim/conv.h"

#include <algorithm>
#include <bit>
#include <cmath>

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

// To the nearest fp16 number, ties to even, for |value| < 65520.
ANEDVD_INLINE float nearest_half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0xfffu + (bits >> 13 & 1u)) & ~0x1fffu;
  const float normal = std::bit_cast<float>(rounded);
  // 0.75 · 2^0 has steps of 2^-24 above it: adding and taking away rounds to a subnormal half.
  const float subnormal = (value + 0.75f) - 0.75f;
  return (bits & 0x7fffffffu) < 0x38800000u ? subnormal : normal;
}

struct Work {
  const PackedWeight* weight;
  const float* x;
  float* y;
  int64_t columns;
  const Numerics* numerics;
  double* scratch;  // [cols][16]
};

ANEDVD_INLINE void fixed_column(const double* w, const float* x, int64_t cols, double* sums) {
  double total[kPanelRows] = {};
  for (int64_t k = 0; k < cols; k += kGroup) {
    const int64_t end = std::min<int64_t>(k + kGroup, cols);
    double group[kPanelRows] = {};
    for (int64_t i = k; i < end; ++i) {
      const double factor = double(x[i]);
      for (int lane = 0; lane < kPanelRows; ++lane) group[lane] += w[i * kPanelRows + lane] * factor;
    }
    for (int lane = 0; lane < kPanelRows; ++lane) {
      // Truncated to a multiple of the grain: 1.5 · 2^52 makes an integer of a small enough number, one step back where that rounded up.
      const double scaled = group[lane] * (1 / kGrain), magnitude = std::abs(scaled);
      const double nearest = (magnitude + 0x1p52) - 0x1p52;
      const double cut = nearest > magnitude ? nearest - 1 : nearest;
      total[lane] += magnitude < 0x1p51 ? std::copysign(cut, scaled) : scaled;
    }
  }
  for (int lane = 0; lane < kPanelRows; ++lane) sums[lane] = total[lane] * kGrain;
}

ANEDVD_INLINE void rounded_column(const double* w, const float* x, int64_t cols, double* sums) {
  float total[kPanelRows] = {};
  for (int64_t k = 0; k < cols; ++k)
    for (int lane = 0; lane < kPanelRows; ++lane) {
      const float product = float(w[k * kPanelRows + lane]) * x[k];
      total[lane] += nearest_half(product);
    }
  for (int lane = 0; lane < kPanelRows; ++lane) sums[lane] = double(total[lane]);
}

ANEDVD_INLINE void plain_column(const double* w, const float* x, int64_t cols, double* sums) {
  float total[kPanelRows] = {};
  for (int64_t k = 0; k < cols; ++k)
    for (int lane = 0; lane < kPanelRows; ++lane) total[lane] += float(w[k * kPanelRows + lane]) * x[k];
  for (int lane = 0; lane < kPanelRows; ++lane) sums[lane] = double(total[lane]);
}

ANEDVD_INLINE void run_panel(const Work& work, int64_t panel) {
  const int64_t cols = work.weight->cols;
  const uint16_t* halves = work.weight->panels.data() + panel * cols * kPanelRows;
  for (int64_t i = 0; i < cols * kPanelRows; ++i) work.scratch[i] = double(half_value(halves[i]));
  const int64_t first = panel * kPanelRows, count = std::min<int64_t>(kPanelRows, work.weight->rows - first);
  for (int64_t column = 0; column < work.columns; ++column) {
    const float* x = work.x + column * cols;
    double sums[kPanelRows];
    switch (work.numerics->accumulator) {
      case Accumulator::kFixed: fixed_column(work.scratch, x, cols, sums); break;
      case Accumulator::kRoundedProducts: rounded_column(work.scratch, x, cols, sums); break;
      case Accumulator::kPlain: plain_column(work.scratch, x, cols, sums); break;
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
  std::vector<double> scratch(size_t(weight.cols) * kPanelRows);
  const Work work{&weight, x, y, columns, &numerics, scratch.data()};
  const auto run = best_panel();
  for (int64_t panel = first; panel < last; ++panel) run(work, panel);
}

}  // namespace anedvd::sim
