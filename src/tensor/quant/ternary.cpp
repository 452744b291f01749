// TQ1_0 and TQ2_0: 256 values of −1, 0 or 1 times one scale.
#include "tensor/quant/blocks.h"
#include "tensor/quant/dequantize.h"

namespace anedvd {
namespace {

constexpr uint8_t kPowersOfThree[5] = {1, 3, 9, 27, 81};

// A byte holds up to five base-3 digits as the fraction byte / 256: multiplying by 3ⁿ modulo 256 drops the first n digits, and
// three times what is left overflows into the next digit.
int digit(uint8_t packed, int n) { return (uint8_t(packed * kPowersOfThree[n]) * 3) >> 8; }

// `digits` digits of each of `count` bytes, all first digits before all second ones.
float* unpack(const uint8_t* packed, int count, int digits, float d, float* out) {
  for (int n = 0; n < digits; ++n) {
    for (int i = 0; i < count; ++i) out[i] = float(digit(packed[i], n) - 1) * d;
    out += count;
  }
  return out;
}

}  // namespace

// 160 values in 32 bytes, 80 in 16, and the last 16 in four bytes of four digits.
void dequantize_tq1_0(const std::byte* blocks, int64_t block_count, float* out) {
  const auto* block = blocks_at<BlockTQ1_0>(blocks);
  for (int64_t b = 0; b < block_count; ++b, ++block) {
    const float d = block->d.value();
    out = unpack(block->qs, 32, 5, d, out);
    out = unpack(block->qs + 32, 16, 5, d, out);
    out = unpack(block->qh, 4, 4, d, out);
  }
}

// Bits 2j and 2j + 1 of byte l in each 32 bytes are value 32j + l of their 128. Code 3 reads as 2, as ggml does.
void dequantize_tq2_0(const std::byte* blocks, int64_t block_count, float* out) {
  const auto* block = blocks_at<BlockTQ2_0>(blocks);
  for (int64_t b = 0; b < block_count; ++b, ++block, out += kSuperBlock) {
    const float d = block->d.value();
    for (int group = 0; group < 8; ++group) {
      const uint8_t* qs = block->qs + group / 4 * 32;
      const int shift = group % 4 * 2;
      float* values = out + group * 32;
      for (int l = 0; l < 32; ++l) values[l] = float(((qs[l] >> shift) & 3) - 1) * d;
    }
  }
}

}  // namespace anedvd
