// Products of two outputs and two columns at a time: smmla multiplies 2 × 8 bytes by 8 × 2 and has four sums of eight products.
//
// The panels' chunks hold four inputs of each output (pack.h), the instruction wants eight: two chunks are interleaved by words when they are unpacked, once
// for all columns of a tile. So one packed form serves this level as well. Included by simd_neon.h, whose vectors it uses.
#pragma once

#include <arm_neon.h>

#include "cpu/kernels/kernel_table.h"

namespace anedvd {
namespace {

// Outputs 2i and 2i + 1, eight inputs each.
struct OutputPairs {
  int8x16_t v[8];
};
// v[i]: column 0 with outputs 2i and 2i + 1, then column 1 with both.
struct PairSums {
  int32x4_t v[8];
};

// `a` and `b` are four inputs each of 16 outputs. kStoredPlus128: as dot_q8 takes them; otherwise up to 63.
template <bool kStoredPlus128>
inline OutputPairs pair_outputs(U8x64 a, U8x64 b) {
  OutputPairs r;
  for (int i = 0; i < 4; ++i) {
    const uint8x16_t flip = vdupq_n_u8(kStoredPlus128 ? 128 : 0);
    const int32x4_t first = vreinterpretq_s32_u8(kStoredPlus128 ? veorq_u8(a.v[i], flip) : a.v[i]);
    const int32x4_t second = vreinterpretq_s32_u8(kStoredPlus128 ? veorq_u8(b.v[i], flip) : b.v[i]);
    r.v[2 * i] = vreinterpretq_s8_s32(vzip1q_s32(first, second));
    r.v[2 * i + 1] = vreinterpretq_s8_s32(vzip2q_s32(first, second));
  }
  return r;
}

inline PairSums pair_start(int32_t first, int32_t second) {
  PairSums r;
  for (int i = 0; i < 8; ++i) r.v[i] = vcombine_s32(vdup_n_s32(first), vdup_n_s32(second));
  return r;
}

// Adds eight inputs of two columns.
inline PairSums dot_pairs(PairSums acc, const OutputPairs& w, const int8_t* first, const int8_t* second) {
  const int8x16_t x = vcombine_s8(vld1_s8(first), vld1_s8(second));
  for (int i = 0; i < 8; ++i) acc.v[i] = vmmlaq_s32(acc.v[i], x, w.v[i]);
  return acc;
}

// The sums of the 16 outputs at one of the two columns.
inline I32x16 column_of(const PairSums& pairs, int column) {
  I32x16 r;
  for (int i = 0; i < 4; ++i) {
    const int64x2_t a = vreinterpretq_s64_s32(pairs.v[2 * i]), b = vreinterpretq_s64_s32(pairs.v[2 * i + 1]);
    r.v[i] = vreinterpretq_s32_s64(column == 0 ? vzip1q_s64(a, b) : vzip2q_s64(a, b));
  }
  return r;
}

}  // namespace
}  // namespace anedvd
