// Block layouts of the quantised types, as files hold them.
//
// Every member is made of single bytes, so a struct has no padding, may lie at any address, and its size is the block size that the
// table in dtype.cpp states. Multi-byte numbers are little endian. Layouts are ggml's (ggml/src/ggml-common.h, `block_*`); the order
// of values inside a block is told by the dequantiser beside each type (quant/*.cpp).
//
//   d, m, dmin   scale, minimum, scale of minima: halves unless said otherwise
//   qs, qh       low and high bits of the codes
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/half.h"

namespace anedvd {

static_assert(std::endian::native == std::endian::little, "model files are little endian and are read in place");

// A number of type T at any address.
template <class T>
T load_le(const void* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

// A half as stored: two bytes, no alignment.
struct StoredHalf {
  uint8_t bytes[2];
  float value() const { return half_to_float(load_le<uint16_t>(bytes)); }
};

// Values in a block of the small and of the "K" and "IQ" types.
constexpr int kSmallBlock = 32;
constexpr int kSuperBlock = 256;
constexpr int kBlockQ1_0Values = 128;
constexpr int kBlockQ2_0Values = 64;

// clang-format off
struct BlockQ4_0 { StoredHalf d; uint8_t qs[16]; };
struct BlockQ4_1 { StoredHalf d, m; uint8_t qs[16]; };
struct BlockQ5_0 { StoredHalf d; uint8_t qh[4], qs[16]; };
struct BlockQ5_1 { StoredHalf d, m; uint8_t qh[4], qs[16]; };
struct BlockQ8_0 { StoredHalf d; int8_t qs[32]; };
struct BlockQ8_1 { StoredHalf d, s; int8_t qs[32]; };  // s = d · Σ qs, unused when reading

struct BlockQ2K { uint8_t scales[16], qs[64]; StoredHalf d, dmin; };     // scales: low nibble scale, high nibble minimum
struct BlockQ3K { uint8_t hmask[32], qs[64], scales[12]; StoredHalf d; };
struct BlockQ4K { StoredHalf d, dmin; uint8_t scales[12], qs[128]; };
struct BlockQ5K { StoredHalf d, dmin; uint8_t scales[12], qh[32], qs[128]; };
struct BlockQ6K { uint8_t ql[128], qh[64]; int8_t scales[16]; StoredHalf d; };
struct BlockQ8K { uint8_t d[4]; int8_t qs[256]; uint8_t sums[32]; };     // d: f32; sums of 16 codes, unused when reading

struct BlockIQ1S { StoredHalf d; uint8_t qs[32], qh[16]; };
struct BlockIQ1M { uint8_t qs[32], qh[16], scales[8]; };                 // d: a nibble in each of the four scale words
struct BlockIQ2XXS { StoredHalf d; uint8_t qs[64]; };
struct BlockIQ2XS { StoredHalf d; uint8_t qs[64], scales[8]; };
struct BlockIQ2S { StoredHalf d; uint8_t qs[32], signs[32], qh[8], scales[8]; };
struct BlockIQ3XXS { StoredHalf d; uint8_t qs[64], scales_signs[32]; };
struct BlockIQ3S { StoredHalf d; uint8_t qs[64], qh[8], signs[32], scales[4]; };
struct BlockIQ4NL { StoredHalf d; uint8_t qs[16]; };
struct BlockIQ4XS { StoredHalf d; uint8_t scales_h[2], scales_l[4], qs[128]; };

struct BlockTQ1_0 { uint8_t qs[48], qh[4]; StoredHalf d; };
struct BlockTQ2_0 { uint8_t qs[64]; StoredHalf d; };
struct BlockQ1_0 { StoredHalf d; uint8_t qs[16]; };
struct BlockQ2_0 { StoredHalf d; uint8_t qs[16]; };
struct BlockMXFP4 { uint8_t e; uint8_t qs[16]; };                        // e: power of two, biased by 127
// clang-format on

// `value` with its sign flipped if `minus` is 1; no branch, so that loops over signs become vector code.
inline float flip_sign(float value, uint32_t minus) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) ^ minus << 31);
}

// The blocks at `bytes`; every block type may lie at any address.
template <class Block>
const Block* blocks_at(const std::byte* bytes) {
  static_assert(alignof(Block) == 1);
  return reinterpret_cast<const Block*>(bytes);
}

}  // namespace anedvd
