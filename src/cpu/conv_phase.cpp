// Gated short convolutions (LFM2).
//
// The cache holds u = B ⊙ X of every position as fp16, where attention has keys and values: truncating and sharing prefixes cost nothing more. A
// position's own u enters unrounded, those before it as they are cached, whether they came in this step or an earlier one: the bits are the same.
#include <vector>

#include "base/half.h"
#include "cpu/step_state.h"

namespace anedvd {

void run_conv(StepState& state, const Mode& mode, const Op& op, int thread, int threads) {
  const PlanConv& conv = state.plan->convs[size_t(op.spec)];
  const float* kernel = state.weights.vector(op.weight);
  const float* bias = op.bias >= 0 ? state.weights.vector(op.bias) : nullptr;
  const int64_t words = 2 * padded((conv.channels + 1) / 2);  // of one position
  const auto [first_lane, last_lane] = share_of(padded(conv.channels) / kLanes, thread, threads);
  const int first = first_lane * kLanes, last = std::min(last_lane * kLanes, conv.channels);
  for (int column = 0; column < mode.columns; ++column) {
    const auto [slice, position, token] = state.columns[size_t(column)];
    const auto cached = [&](int at) {
      uint16_t* page = state.slices[size_t(slice)].kv.pages[size_t(at / kPageTokens)];
      return page + state.layout->head_offset(conv.cache_layer, 0) + (at % kPageTokens) * words;
    };
    const float* b = row_of(state, mode, op.in[0], thread, column);
    const float* c = b + conv.channels;
    const float* x = c + conv.channels;
    float* out = row_of(state, mode, op.out, thread, column);
    uint16_t* own = cached(position);
    for (int i = first; i < last; ++i) out[i] = 0;
    for (int j = 0; j + 1 < conv.kernel; ++j) {
      const int at = position - conv.kernel + 1 + j;
      if (at < 0) continue;
      const uint16_t* u = cached(at);
      for (int i = first; i < last; ++i) out[i] += kernel[int64_t(i) * conv.kernel + j] * half_to_float(u[i]);
    }
    for (int i = first; i < last; ++i) {
      const float u = b[i] * x[i];
      own[i] = float_to_half(u);
      const float y = out[i] + kernel[int64_t(i) * conv.kernel + conv.kernel - 1] * u;
      out[i] = c[i] * (bias != nullptr ? y + bias[i] : y);
    }
  }
}

}  // namespace anedvd
