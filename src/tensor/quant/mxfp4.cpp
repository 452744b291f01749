// MXFP4: 32 values of four bits (E2M1) with a shared power of two (E8M0), after the OCP Microscaling Formats specification 1.0.
#include <bit>

#include "tensor/quant/blocks.h"
#include "tensor/quant/dequantize.h"

namespace anedvd {
namespace {

// Twice the E2M1 values, so that all are integers; the scale is halved to match.
constexpr int8_t kDoubledE2M1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// 2^(e − 128), half of what the specification says. 0 and 1 are subnormal floats. 255, a NaN there, is 2^127 here as in ggml.
float half_scale(uint8_t e) { return std::bit_cast<float>(e < 2 ? 0x00200000u << e : uint32_t(e - 1) << 23); }

}  // namespace

void dequantize_mxfp4(const std::byte* blocks, int64_t block_count, float* out) {
  const auto* block = blocks_at<BlockMXFP4>(blocks);
  for (int64_t b = 0; b < block_count; ++b, ++block, out += kSmallBlock) {
    const float d = half_scale(block->e);
    for (int i = 0; i < 16; ++i) {
      out[i] = float(kDoubledE2M1[block->qs[i] & 15]) * d;
      out[i + 16] = float(kDoubledE2M1[block->qs[i] >> 4]) * d;
    }
  }
}

}  // namespace anedvd
