// Q5_K: Q4_K with a fifth bit: bit g of qh[l] belongs to value l of group g.
#include "tensor/quant/blocks.h"
#include "tensor/quant/dequantize.h"
#include "tensor/quant/k_scales.h"

namespace anedvd {

// value = (d · scale) · q − (dmin · minimum)
void dequantize_q5_k(const std::byte* blocks, int64_t block_count, float* out) {
  const auto* block = blocks_at<BlockQ5K>(blocks);
  for (int64_t b = 0; b < block_count; ++b, ++block, out += kSuperBlock) {
    const float d = block->d.value();
    const float dmin = block->dmin.value();
    for (int group = 0; group < 8; ++group) {
      const uint8_t* qs = block->qs + group / 2 * 32;
      const int shift = group % 2 * 4;
      const ScaleMin packed = scale_min_of_group(block->scales, group);
      const float scale = d * float(packed.scale);
      const float minimum = dmin * float(packed.minimum);
      float* values = out + group * 32;
      for (int l = 0; l < 32; ++l) {
        const int code = ((qs[l] >> shift) & 15) | ((block->qh[l] >> group) & 1) << 4;
        values[l] = scale * float(code) - minimum;
      }
    }
  }
}

}  // namespace anedvd
