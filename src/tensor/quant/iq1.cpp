// IQ1_S and IQ1_M: entries of eight values −1, 0, 1, shifted by ±1/8.
//
// An index has 11 bits: the low eight in `qs`, the high three in `qh`.
#include "tensor/quant/blocks.h"
#include "tensor/quant/dequantize.h"
#include "tensor/quant/iq_grids.h"

namespace anedvd {
namespace {

constexpr float kShift = 0.125f;

void write_shifted(const GridEntry8& entry, float shift, float scale, float* out) {
  for (int j = 0; j < 8; ++j) out[j] = scale * (float(entry[j]) + shift);
}

}  // namespace

// Eight groups of 32. Word g of `qh`: four times three high index bits, then a 3-bit scale, then the sign of the shift.
void dequantize_iq1_s(const std::byte* blocks, int64_t block_count, float* out) {
  const auto* block = blocks_at<BlockIQ1S>(blocks);
  for (int64_t b = 0; b < block_count; ++b, ++block) {
    const float d = block->d.value();
    for (int group = 0; group < 8; ++group) {
      const int qh = load_le<uint16_t>(block->qh + group * 2);
      const float scale = d * float(2 * ((qh >> 12) & 7) + 1);
      const float shift = qh & 0x8000 ? -kShift : kShift;
      for (int k = 0; k < 4; ++k, out += 8) {
        const int index = block->qs[group * 4 + k] | ((qh >> (3 * k)) & 7) << 8;
        write_shifted(kIq1Grid[index], shift, scale, out);
      }
    }
  }
}

// Entry k takes nibble k of `qh`: three high index bits and the sign of the shift. Word w of `scales` holds four 3-bit scales, one for
// each 16 values, and in its top nibble bits 4w … 4w + 3 of the half d.
void dequantize_iq1_m(const std::byte* blocks, int64_t block_count, float* out) {
  const auto* block = blocks_at<BlockIQ1M>(blocks);
  for (int64_t b = 0; b < block_count; ++b, ++block) {
    int words[4];
    int half = 0;
    for (int w = 0; w < 4; ++w) {
      words[w] = load_le<uint16_t>(block->scales + w * 2);
      half |= words[w] >> 12 << (4 * w);
    }
    const float d = half_to_float(uint16_t(half));
    for (int k = 0; k < 32; ++k, out += 8) {
      const int pair = k / 2;  // 16 values share a scale
      const float scale = d * float(2 * ((words[pair / 4] >> (pair % 4 * 3)) & 7) + 1);
      const int nibble = block->qh[k / 2] >> (k % 2 * 4);
      const int index = block->qs[k] | (nibble & 7) << 8;
      write_shifted(kIq1Grid[index], nibble & 8 ? -kShift : kShift, scale, out);
    }
  }
}

}  // namespace anedvd
