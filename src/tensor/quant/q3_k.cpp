// Q3_K: 256 values of 3 bits, 16 groups of 16 with a signed 6-bit scale each.
//
// Low two bits as in Q2_K. The third bit of value 128h + 32j + l is bit 4h + j of hmask[l], and it is stored inverted: clear
// means 4 less. The 16 scales lie in 12 bytes:
//   low four bits   scale i in the low nibble of byte i (i < 8), scale i + 8 in its high nibble
//   high two bits   bits 2g and 2g + 1 of byte 8 + i are for scale 4g + i
#include "tensor/quant/blocks.h"
#include "tensor/quant/dequantize.h"

namespace anedvd {
namespace {

// −32 … 31.
int scale_of_group(const uint8_t (&scales)[12], int group) {
  const int low = group < 8 ? scales[group] & 15 : scales[group - 8] >> 4;
  const int high = (scales[8 + group % 4] >> (group / 4 * 2)) & 3;
  return (low | high << 4) - 32;
}

}  // namespace

// value = (d · scale) · (q − 4)
void dequantize_q3_k(const std::byte* blocks, int64_t block_count, float* out) {
  const auto* block = blocks_at<BlockQ3K>(blocks);
  for (int64_t b = 0; b < block_count; ++b, ++block, out += kSuperBlock) {
    const float d = block->d.value();
    for (int group = 0; group < 16; ++group) {
      const uint8_t* qs = block->qs + group / 8 * 32 + group % 2 * 16;
      const uint8_t* hmask = block->hmask + group % 2 * 16;
      const int shift = group % 8 / 2 * 2;
      const int high_shift = group / 2;
      const float scale = d * float(scale_of_group(block->scales, group));
      float* values = out + group * 16;
      for (int l = 0; l < 16; ++l) {
        const int code = ((qs[l] >> shift) & 3) | ((hmask[l] >> high_shift) & 1) << 2;
        values[l] = scale * float(code - 4);
      }
    }
  }
}

}  // namespace anedvd
