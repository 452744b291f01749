// IQ3_XXS and IQ3_S: entries of four magnitudes with signs.
#include "tensor/quant/blocks.h"
#include "tensor/quant/dequantize.h"
#include "tensor/quant/iq_grids.h"

namespace anedvd {

// Eight groups of 32: eight 8-bit indices each, and a word of four 7-bit signs and a 4-bit scale.
// value = ± d · (scale + 1/2) / 2 · magnitude
void dequantize_iq3_xxs(const std::byte* blocks, int64_t block_count, float* out) {
  const auto* block = blocks_at<BlockIQ3XXS>(blocks);
  for (int64_t b = 0; b < block_count; ++b, ++block) {
    const float d = block->d.value();
    for (int group = 0; group < 8; ++group) {
      const auto signs_scale = load_le<uint32_t>(block->scales_signs + group * 4);
      const float scale = d * (0.5f + float(signs_scale >> 28)) * 0.5f;
      const uint8_t* indices = block->qs + group * 8;
      for (int k = 0; k < 4; ++k, out += 8) {
        const int signs = even_signs(int((signs_scale >> (7 * k)) & 127));
        write_signed(kIq3XxsGrid[indices[2 * k]], signs, scale, out);
        write_signed(kIq3XxsGrid[indices[2 * k + 1]], signs >> 4, scale, out + 4);
      }
    }
  }
}

// Eight groups of 32: 9-bit indices (bit k of qh[g] is the high bit of index k), all signs stored, a 4-bit scale.
// value = ± d · (2 · scale + 1) · magnitude
void dequantize_iq3_s(const std::byte* blocks, int64_t block_count, float* out) {
  const auto* block = blocks_at<BlockIQ3S>(blocks);
  for (int64_t b = 0; b < block_count; ++b, ++block) {
    const float d = block->d.value();
    for (int group = 0; group < 8; ++group) {
      const int nibble = (block->scales[group / 2] >> (group % 2 * 4)) & 15;
      const float scale = d * float(2 * nibble + 1);
      const uint8_t* qs = block->qs + group * 8;
      const uint8_t* signs = block->signs + group * 4;
      for (int k = 0; k < 8; ++k, out += 4) {
        const int index = qs[k] | ((block->qh[group] >> k) & 1) << 8;
        write_signed(kIq3SGrid[index], signs[k / 2] >> (k % 2 * 4), scale, out);
      }
    }
  }
}

}  // namespace anedvd
