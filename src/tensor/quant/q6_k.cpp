// Q6_K: 256 values of 6 bits, 16 groups of 16 with a signed 8-bit scale each.
//
// Two halves of 128 values with 64 bytes of `ql` and 32 of `qh`. Within a half, value 32j + l takes its low four bits from
// ql[32 (j mod 2) + l], low nibble for j < 2 and high nibble after, and its high two from bits 2j and 2j + 1 of qh[l].
#include "tensor/quant/blocks.h"
#include "tensor/quant/dequantize.h"

namespace anedvd {

// value = (d · scale) · (q − 32)
void dequantize_q6_k(const std::byte* blocks, int64_t block_count, float* out) {
  const auto* block = blocks_at<BlockQ6K>(blocks);
  for (int64_t b = 0; b < block_count; ++b, ++block, out += kSuperBlock) {
    const float d = block->d.value();
    for (int group = 0; group < 16; ++group) {
      const int half = group / 8;
      const int j = group % 8 / 2;
      const uint8_t* ql = block->ql + half * 64 + j % 2 * 32 + group % 2 * 16;
      const uint8_t* qh = block->qh + half * 32 + group % 2 * 16;
      const int low_shift = j / 2 * 4;
      const int high_shift = j * 2;
      const float scale = d * float(block->scales[group]);
      float* values = out + group * 16;
      for (int l = 0; l < 16; ++l) {
        const int code = ((ql[l] >> low_shift) & 15) | ((qh[l] >> high_shift) & 3) << 4;
        values[l] = scale * float(code - 32);
      }
    }
  }
}

}  // namespace anedvd
