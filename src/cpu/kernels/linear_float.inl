// Linear kernels over panels of F16, BF16 and F32 weights: [inputs][16 rows], activations as floats.
//
// Each output lane sums its even and its odd inputs apart, in ascending order, by fused multiply-adds, whatever the tile: two chains hide the latency
// of one column, and a column's bits do not depend on its neighbours.
#pragma once

namespace anedvd {
namespace {

struct HalfWeights {
  static constexpr int kBytes = 32;  // of the 16 rows at one input
  static F32x16 load(const uint8_t* p) { return f_load_half(reinterpret_cast<const uint16_t*>(p)); }
};
struct BfloatWeights {
  static constexpr int kBytes = 32;
  static F32x16 load(const uint8_t* p) { return f_load_bfloat(reinterpret_cast<const uint16_t*>(p)); }
};
struct FloatWeights {
  static constexpr int kBytes = 64;
  static F32x16 load(const uint8_t* p) { return f_load(reinterpret_cast<const float*>(p)); }
};

template <class W, int kColumns, int kPanels>
inline void float_tile(const LinearArgs& args, int panel, int column, bool fetch_ahead) {
  const uint8_t* w[kPanels];
  const float* x[kColumns];
  F32x16 even[kColumns][kPanels], odd[kColumns][kPanels];
  for (int p = 0; p < kPanels; ++p)
    w[p] = reinterpret_cast<const uint8_t*>(args.panels) + (panel + p) * args.panel_stride;
  for (int m = 0; m < kColumns; ++m) {
    x[m] = args.x + (column + m) * args.x_stride;
    for (int p = 0; p < kPanels; ++p) even[m][p] = odd[m][p] = f_set(0);
  }
  const int64_t ahead = kPanels == 1 ? 8192 : kPanels * args.panel_stride;
  int k = 0;
  for (; k + 2 <= args.inputs; k += 2) {
    for (int p = 0; p < kPanels; ++p) {
      if (fetch_ahead) prefetch(w[p] + ahead);
      if (fetch_ahead && W::kBytes == 64) prefetch(w[p] + ahead + 64);
      const F32x16 first = W::load(w[p]), second = W::load(w[p] + W::kBytes);
      for (int m = 0; m < kColumns; ++m) {
        even[m][p] = f_fma(first, f_set(x[m][k]), even[m][p]);
        odd[m][p] = f_fma(second, f_set(x[m][k + 1]), odd[m][p]);
      }
      w[p] += 2 * W::kBytes;
    }
  }
  if (k < args.inputs)
    for (int p = 0; p < kPanels; ++p)
      for (int m = 0; m < kColumns; ++m) even[m][p] = f_fma(W::load(w[p]), f_set(x[m][k]), even[m][p]);
  for (int m = 0; m < kColumns; ++m)
    for (int p = 0; p < kPanels; ++p)
      f_store(args.out + (column + m) * args.out_stride + int64_t(panel + p) * kLanes, f_add(even[m][p], odd[m][p]));
}

// The columns that do not fill a tile, `rest` of them, together: the weights are read once.
template <class W, int kColumns, int kPanels>
inline void float_rest(const LinearArgs& args, int panel, int column, int rest) {
  if constexpr (kColumns > 0) {
    if (rest == kColumns) return float_tile<W, kColumns, kPanels>(args, panel, column, column == 0);
    float_rest<W, kColumns - 1, kPanels>(args, panel, column, rest);
  }
}

template <class W, int kPanels>
inline void float_columns(const LinearArgs& args, int panel) {
  int column = 0;
  for (; column + kFloatTileColumns <= args.columns; column += kFloatTileColumns)
    float_tile<W, kFloatTileColumns, kPanels>(args, panel, column, column == 0);
  float_rest<W, kFloatTileColumns - 1, kPanels>(args, panel, column, args.columns - column);
}

template <class W>
void linear_float(const LinearArgs& args) {
  int panel = 0;
  if (kFloatTilePanels > 1 && args.columns >= kFloatTileColumns)
    for (; panel + kFloatTilePanels <= args.panel_count; panel += kFloatTilePanels)
      float_columns<W, kFloatTilePanels>(args, panel);
  for (; panel < args.panel_count; ++panel) float_columns<W, 1>(args, panel);
}

}  // namespace
}  // namespace anedvd
