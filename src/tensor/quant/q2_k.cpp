// Q2_K: 256 values of 2 bits, 16 groups of 16 with a 4-bit scale and a 4-bit minimum each.
//
// `qs` has two halves of 32 bytes, one for each 128 values. Bits 2j and 2j + 1 of byte l are value 32j + l of the half.
#include "tensor/quant/blocks.h"
#include "tensor/quant/dequantize.h"

namespace anedvd {

// value = (d · scale) · q − (dmin · minimum)
void dequantize_q2_k(const std::byte* blocks, int64_t block_count, float* out) {
  const auto* block = blocks_at<BlockQ2K>(blocks);
  for (int64_t b = 0; b < block_count; ++b, ++block, out += kSuperBlock) {
    const float d = block->d.value();
    const float dmin = block->dmin.value();
    for (int group = 0; group < 16; ++group) {
      const uint8_t* qs = block->qs + group / 8 * 32 + group % 2 * 16;
      const int shift = group % 8 / 2 * 2;
      const float scale = d * float(block->scales[group] & 15);
      const float minimum = dmin * float(block->scales[group] >> 4);
      float* values = out + group * 16;
      for (int l = 0; l < 16; ++l) values[l] = scale * float((qs[l] >> shift) & 3) - minimum;
    }
  }
}

}  // namespace anedvd
