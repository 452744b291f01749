// IQ2_XXS, IQ2_XS and IQ2_S: entries of eight magnitudes 8, 25, 43 with signs. value = ± d · (scale + 1/2) / 4 · magnitude.
#include "tensor/quant/blocks.h"
#include "tensor/quant/dequantize.h"
#include "tensor/quant/iq_grids.h"

namespace anedvd {
namespace {

// Exact: the mantissas of a half, of 31/2 and of 43 fit a float together.
float group_scale(float d, int scale) { return d * (0.5f + float(scale)) * 0.25f; }

// The scale of entry k when each 16 values (two entries) have a nibble.
int nibble_of_entry(const uint8_t* scales, int k) { return (scales[k / 4] >> (k / 2 % 2 * 4)) & 15; }

}  // namespace

// Eight groups of 32: four 8-bit indices, then a word of four 7-bit signs and a 4-bit scale.
void dequantize_iq2_xxs(const std::byte* blocks, int64_t block_count, float* out) {
  const auto* block = blocks_at<BlockIQ2XXS>(blocks);
  for (int64_t b = 0; b < block_count; ++b, ++block) {
    const float d = block->d.value();
    for (int group = 0; group < 8; ++group) {
      const uint8_t* indices = block->qs + group * 8;
      const auto signs_scale = load_le<uint32_t>(indices + 4);
      const float scale = group_scale(d, int(signs_scale >> 28));
      for (int k = 0; k < 4; ++k, out += 8) {
        write_signed(kIq2XxsGrid[indices[k]], even_signs(int((signs_scale >> (7 * k)) & 127)), scale, out);
      }
    }
  }
}

// 32 words of a 9-bit index and 7-bit signs; a 4-bit scale for each 16 values.
void dequantize_iq2_xs(const std::byte* blocks, int64_t block_count, float* out) {
  const auto* block = blocks_at<BlockIQ2XS>(blocks);
  for (int64_t b = 0; b < block_count; ++b, ++block) {
    const float d = block->d.value();
    for (int k = 0; k < 32; ++k, out += 8) {
      const int word = load_le<uint16_t>(block->qs + k * 2);
      const float scale = group_scale(d, nibble_of_entry(block->scales, k));
      write_signed(kIq2XsGrid[word & 511], even_signs(word >> 9), scale, out);
    }
  }
}

// 10-bit indices, the high two bits in `qh`; all eight signs are stored.
void dequantize_iq2_s(const std::byte* blocks, int64_t block_count, float* out) {
  const auto* block = blocks_at<BlockIQ2S>(blocks);
  for (int64_t b = 0; b < block_count; ++b, ++block) {
    const float d = block->d.value();
    for (int k = 0; k < 32; ++k, out += 8) {
      const int index = block->qs[k] | ((block->qh[k / 4] >> (k % 4 * 2)) & 3) << 8;
      const float scale = group_scale(d, nibble_of_entry(block->scales, k));
      write_signed(kIq2SGrid[index], block->signs[k], scale, out);
    }
  }
}

}  // namespace anedvd
