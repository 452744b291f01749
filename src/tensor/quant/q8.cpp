// Q8_0, Q8_1 and Q8_K: signed bytes times a scale. The last two are ggml's forms of activations; no known model stores them.
#include "tensor/quant/blocks.h"
#include "tensor/quant/dequantize.h"

namespace anedvd {

void dequantize_q8_0(const std::byte* blocks, int64_t block_count, float* out) {
  const auto* block = blocks_at<BlockQ8_0>(blocks);
  for (int64_t b = 0; b < block_count; ++b, ++block, out += kSmallBlock) {
    const float d = block->d.value();
    for (int i = 0; i < kSmallBlock; ++i) out[i] = float(block->qs[i]) * d;
  }
}

void dequantize_q8_1(const std::byte* blocks, int64_t block_count, float* out) {
  const auto* block = blocks_at<BlockQ8_1>(blocks);
  for (int64_t b = 0; b < block_count; ++b, ++block, out += kSmallBlock) {
    const float d = block->d.value();
    for (int i = 0; i < kSmallBlock; ++i) out[i] = float(block->qs[i]) * d;
  }
}

void dequantize_q8_k(const std::byte* blocks, int64_t block_count, float* out) {
  const auto* block = blocks_at<BlockQ8K>(blocks);
  for (int64_t b = 0; b < block_count; ++b, ++block, out += kSuperBlock) {
    const auto d = load_le<float>(block->d);
    for (int i = 0; i < kSuperBlock; ++i) out[i] = d * float(block->qs[i]);
  }
}

}  // namespace anedvd
