// Q5_0 and Q5_1: 32 values of 5 bits.
//
// Low four bits as in Q4_0; the fifth bit of value i is bit i of the 32-bit word `qh`.
#include "tensor/quant/blocks.h"
#include "tensor/quant/dequantize.h"

namespace anedvd {
namespace {

// Codes 0 … 31 of value i and value i + 16.
int low_code(uint32_t high_bits, const uint8_t* qs, int i) { return (qs[i] & 15) | int((high_bits >> i) & 1u) << 4; }
int high_code(uint32_t high_bits, const uint8_t* qs, int i) {
  return (qs[i] >> 4) | int((high_bits >> (i + 16)) & 1u) << 4;
}

}  // namespace

// value = d · (q − 16)
void dequantize_q5_0(const std::byte* blocks, int64_t block_count, float* out) {
  const auto* block = blocks_at<BlockQ5_0>(blocks);
  for (int64_t b = 0; b < block_count; ++b, ++block, out += kSmallBlock) {
    const float d = block->d.value();
    const auto high_bits = load_le<uint32_t>(block->qh);
    for (int i = 0; i < 16; ++i) {
      out[i] = d * float(low_code(high_bits, block->qs, i) - 16);
      out[i + 16] = d * float(high_code(high_bits, block->qs, i) - 16);
    }
  }
}

// value = d · q + m
void dequantize_q5_1(const std::byte* blocks, int64_t block_count, float* out) {
  const auto* block = blocks_at<BlockQ5_1>(blocks);
  for (int64_t b = 0; b < block_count; ++b, ++block, out += kSmallBlock) {
    const float d = block->d.value();
    const float m = block->m.value();
    const auto high_bits = load_le<uint32_t>(block->qh);
    for (int i = 0; i < 16; ++i) {
      out[i] = d * float(low_code(high_bits, block->qs, i)) + m;
      out[i + 16] = d * float(high_code(high_bits, block->qs, i)) + m;
    }
  }
}

}  // namespace anedvd
