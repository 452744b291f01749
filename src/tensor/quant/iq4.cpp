// IQ4_NL and IQ4_XS: four bits that choose one of 16 unevenly spaced values.
#include "tensor/quant/blocks.h"
#include "tensor/quant/dequantize.h"

namespace anedvd {
namespace {

// ggml/src/ggml-common.h, `kvalues_iq4nl`.
constexpr int8_t kLevels[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

// 32 values: low nibbles of the 16 bytes, then the high ones.
void unpack(const uint8_t* qs, float scale, float* out) {
  for (int i = 0; i < 16; ++i) {
    out[i] = scale * float(kLevels[qs[i] & 15]);
    out[i + 16] = scale * float(kLevels[qs[i] >> 4]);
  }
}

}  // namespace

void dequantize_iq4_nl(const std::byte* blocks, int64_t block_count, float* out) {
  const auto* block = blocks_at<BlockIQ4NL>(blocks);
  for (int64_t b = 0; b < block_count; ++b, ++block, out += kSmallBlock) unpack(block->qs, block->d.value(), out);
}

// Eight groups of 32 with a signed 6-bit scale: low four bits in nibble g of scales_l, high two in bits 2g and 2g + 1 of scales_h.
void dequantize_iq4_xs(const std::byte* blocks, int64_t block_count, float* out) {
  const auto* block = blocks_at<BlockIQ4XS>(blocks);
  for (int64_t b = 0; b < block_count; ++b, ++block, out += kSuperBlock) {
    const float d = block->d.value();
    const int scales_h = load_le<uint16_t>(block->scales_h);
    for (int group = 0; group < 8; ++group) {
      const int low = (block->scales_l[group / 2] >> (group % 2 * 4)) & 15;
      const int high = (scales_h >> (group * 2)) & 3;
      unpack(block->qs + group * 16, d * float((low | high << 4) - 32), out + group * 32);
    }
  }
}

}  // namespace anedvd
