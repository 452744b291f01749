// Q4_0 and Q4_1: 32 values of 4 bits.
//
// Byte i of `qs` holds value i in its low nibble and value i + 16 in its high one.
#include "tensor/quant/blocks.h"
#include "tensor/quant/dequantize.h"

namespace anedvd {
namespace {

// Codes first and floats in a loop of their own: of 16 steps it would be unrolled before the compiler could make vectors of it.
void unpack(const uint8_t* qs, uint8_t (&codes)[kSmallBlock]) {
  for (int i = 0; i < 16; ++i) codes[i] = qs[i] & 15;
  for (int i = 0; i < 16; ++i) codes[i + 16] = qs[i] >> 4;
}

}  // namespace

// value = d · (q − 8)
void dequantize_q4_0(const std::byte* blocks, int64_t block_count, float* out) {
  const auto* block = blocks_at<BlockQ4_0>(blocks);
  for (int64_t b = 0; b < block_count; ++b, ++block, out += kSmallBlock) {
    const float d = block->d.value();
    uint8_t codes[kSmallBlock];
    unpack(block->qs, codes);
    for (int i = 0; i < kSmallBlock; ++i) out[i] = d * float(codes[i] - 8);
  }
}

// value = d · q + m
void dequantize_q4_1(const std::byte* blocks, int64_t block_count, float* out) {
  const auto* block = blocks_at<BlockQ4_1>(blocks);
  for (int64_t b = 0; b < block_count; ++b, ++block, out += kSmallBlock) {
    const float d = block->d.value();
    const float m = block->m.value();
    uint8_t codes[kSmallBlock];
    unpack(block->qs, codes);
    for (int i = 0; i < kSmallBlock; ++i) out[i] = d * float(codes[i]) + m;
  }
}

}  // namespace anedvd
