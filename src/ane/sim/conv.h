// The 1×1 convolution of the simulator: where its time goes.
//
// Rows of the weight are kept in panels of 16, so that one vector operation serves 16 outputs and every output still sums in ascending order of
// its inputs. Plain loops, compiled twice: for any x86-64, and for AVX2.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ane/sim/profile.h"

namespace anedvd::sim {

constexpr int kPanelRows = 16;

struct PackedWeight {
  int64_t rows = 0, cols = 0;
  std::vector<uint16_t> panels;  // [ceil(rows / 16)][cols][16], rows past the end zero

  int64_t panel_count() const { return (rows + kPanelRows - 1) / kPanelRows; }
};

// halves: [rows][cols].
PackedWeight pack_weight(std::span<const uint16_t> halves, int64_t rows, int64_t cols, bool flush_denormals);

// Panels [first, last) of y = W·x for `columns` columns.
//   x [columns][cols], fp16 numbers as floats    y [columns][rows]
void convolve(const PackedWeight& weight, const float* x, float* y, int64_t columns, const Numerics& numerics,
              int64_t first, int64_t last);

}  // namespace anedvd::sim
