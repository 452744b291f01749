// Q1_0 and Q2_0: one or two bits a value in plain order, lowest bits first, times one scale.
#include "tensor/quant/blocks.h"
#include "tensor/quant/dequantize.h"

namespace anedvd {

// 128 values, bit set: d, clear: −d.
void dequantize_q1_0(const std::byte* blocks, int64_t block_count, float* out) {
  const auto* block = blocks_at<BlockQ1_0>(blocks);
  for (int64_t b = 0; b < block_count; ++b, ++block, out += kBlockQ1_0Values) {
    const float d = block->d.value();
    for (int i = 0; i < kBlockQ1_0Values; ++i) out[i] = flip_sign(d, ~uint32_t(block->qs[i / 8] >> (i % 8)) & 1u);
  }
}

// 64 values −1, 0, 1 or 2 times d.
void dequantize_q2_0(const std::byte* blocks, int64_t block_count, float* out) {
  const auto* block = blocks_at<BlockQ2_0>(blocks);
  for (int64_t b = 0; b < block_count; ++b, ++block, out += kBlockQ2_0Values) {
    const float d = block->d.value();
    for (int i = 0; i < kBlockQ2_0Values; ++i) out[i] = float(((block->qs[i / 4] >> (i % 4 * 2)) & 3) - 1) * d;
  }
}

}  // namespace anedvd
