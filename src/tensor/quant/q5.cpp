// Q5_0 and Q5_1: 32 values of 5 bits.
//
// Low four bits as in Q4_0; the fifth bit of value i is bit i of the 32-bit word `qh`.
#include "tensor/quant/blocks.h"
#include "tensor/quant/dequantize.h"

namespace anedvd {
namespace {

// Codes 0 … 31, before a loop of floats that the compiler can make vectors of.
void unpack(const uint8_t* qh, const uint8_t* qs, uint8_t (&codes)[kSmallBlock]) {
  const auto high_bits = load_le<uint32_t>(qh);
  for (int i = 0; i < 16; ++i) codes[i] = uint8_t((qs[i] & 15) | (high_bits >> i & 1u) << 4);
  for (int i = 0; i < 16; ++i) codes[i + 16] = uint8_t(qs[i] >> 4 | (high_bits >> (i + 16) & 1u) << 4);
}

}  // namespace

// value = d · (q − 16)
void dequantize_q5_0(const std::byte* blocks, int64_t block_count, float* out) {
  const auto* block = blocks_at<BlockQ5_0>(blocks);
  for (int64_t b = 0; b < block_count; ++b, ++block, out += kSmallBlock) {
    const float d = block->d.value();
    uint8_t codes[kSmallBlock];
    unpack(block->qh, block->qs, codes);
    for (int i = 0; i < kSmallBlock; ++i) out[i] = d * float(codes[i] - 16);
  }
}

// value = d · q + m
void dequantize_q5_1(const std::byte* blocks, int64_t block_count, float* out) {
  const auto* block = blocks_at<BlockQ5_1>(blocks);
  for (int64_t b = 0; b < block_count; ++b, ++block, out += kSmallBlock) {
    const float d = block->d.value();
    const float m = block->m.value();
    uint8_t codes[kSmallBlock];
    unpack(block->qh, block->qs, codes);
    for (int i = 0; i < kSmallBlock; ++i) out[i] = d * float(codes[i]) + m;
  }
}

}  // namespace anedvd
