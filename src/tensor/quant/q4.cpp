// Q4_0 and Q4_1: 32 values of 4 bits.
//
// Byte i of `qs` holds value i in its low nibble and value i + 16 in its high one.
#include "tensor/quant/blocks.h"
#include "tensor/quant/dequantize.h"

namespace anedvd {

// value = d · (q − 8)
void dequantize_q4_0(const std::byte* blocks, int64_t block_count, float* out) {
  const auto* block = blocks_at<BlockQ4_0>(blocks);
  for (int64_t b = 0; b < block_count; ++b, ++block, out += kSmallBlock) {
    const float d = block->d.value();
    for (int i = 0; i < 16; ++i) {
      const int q = block->qs[i];
      out[i] = d * float((q & 15) - 8);
      out[i + 16] = d * float((q >> 4) - 8);
    }
  }
}

// value = d · q + m
void dequantize_q4_1(const std::byte* blocks, int64_t block_count, float* out) {
  const auto* block = blocks_at<BlockQ4_1>(blocks);
  for (int64_t b = 0; b < block_count; ++b, ++block, out += kSmallBlock) {
    const float d = block->d.value();
    const float m = block->m.value();
    for (int i = 0; i < 16; ++i) {
      const int q = block->qs[i];
      out[i] = d * float(q & 15) + m;
      out[i + 16] = d * float(q >> 4) + m;
    }
  }
}

}  // namespace anedvd
