// The sixteen-lane vector of the kernels as four NEON registers. With __ARM_FEATURE_DOTPROD the byte dot product is one instruction,
// with __ARM_FEATURE_MATMUL_INT8 one instruction makes four of twice the length (simd_neon_pairs.h).
#pragma once

#include <arm_neon.h>

#include "cpu/kernels/kernel_table.h"

namespace anedvd {
namespace {

#if defined(__ARM_FEATURE_MATMUL_INT8)
// Two pairs of columns: unpacking and pairing the weights costs as much as four pairs' products, so that more columns would be better still, but these
// are 16 integer accumulators and 16 float ones already, of 32 registers. By counting instructions; not measured.
constexpr int kTileColumns = 4, kTilePanels = 1;
#else
constexpr int kTileColumns = 2, kTilePanels = 1;  // 8 integer + 8 float accumulators, of 32 registers
#endif
constexpr int kFloatTileColumns = 2, kFloatTilePanels = 1;

struct F32x16 {
  float32x4_t v[4];
};
struct I32x16 {
  int32x4_t v[4];
};
struct U8x64 {
  uint8x16_t v[4];
};

#define ANEDVD_EACH(type, expression)                  \
  do {                                                 \
    type r;                                            \
    for (int i = 0; i < 4; ++i) r.v[i] = (expression); \
    return r;                                          \
  } while (0)

inline F32x16 f_set(float x) { ANEDVD_EACH(F32x16, vdupq_n_f32(x)); }
inline F32x16 f_load(const float* p) { ANEDVD_EACH(F32x16, vld1q_f32(p + 4 * i)); }
inline void f_store(float* p, F32x16 a) {
  for (int i = 0; i < 4; ++i) vst1q_f32(p + 4 * i, a.v[i]);
}
inline F32x16 f_add(F32x16 a, F32x16 b) { ANEDVD_EACH(F32x16, vaddq_f32(a.v[i], b.v[i])); }
inline F32x16 f_sub(F32x16 a, F32x16 b) { ANEDVD_EACH(F32x16, vsubq_f32(a.v[i], b.v[i])); }
inline F32x16 f_mul(F32x16 a, F32x16 b) { ANEDVD_EACH(F32x16, vmulq_f32(a.v[i], b.v[i])); }
inline F32x16 f_div(F32x16 a, F32x16 b) { ANEDVD_EACH(F32x16, vdivq_f32(a.v[i], b.v[i])); }
inline F32x16 f_fma(F32x16 a, F32x16 b, F32x16 c) { ANEDVD_EACH(F32x16, vfmaq_f32(c.v[i], a.v[i], b.v[i])); }
inline F32x16 f_max(F32x16 a, F32x16 b) { ANEDVD_EACH(F32x16, vmaxq_f32(a.v[i], b.v[i])); }
inline F32x16 f_min(F32x16 a, F32x16 b) { ANEDVD_EACH(F32x16, vminq_f32(a.v[i], b.v[i])); }
inline F32x16 f_abs(F32x16 a) { ANEDVD_EACH(F32x16, vabsq_f32(a.v[i])); }
inline float32x4_t lanes_between(float32x4_t x, int first_lane, int begin, int end, float other) {
  const int32_t ids[4] = {first_lane, first_lane + 1, first_lane + 2, first_lane + 3};
  const int32x4_t lane = vld1q_s32(ids);
  const uint32x4_t inside = vandq_u32(vcgeq_s32(lane, vdupq_n_s32(begin)), vcltq_s32(lane, vdupq_n_s32(end)));
  return vbslq_f32(inside, x, vdupq_n_f32(other));
}
inline F32x16 f_between(F32x16 a, int begin, int end, float other) {
  ANEDVD_EACH(F32x16, lanes_between(a.v[i], 4 * i, begin, end, other));
}
inline F32x16 f_load_half(const uint16_t* p) {
  ANEDVD_EACH(F32x16, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p + 4 * i))));
}
inline F32x16 f_load_bfloat(const uint16_t* p) {
  ANEDVD_EACH(F32x16, vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p + 4 * i), 16)));
}
inline void f_store_half(uint16_t* p, F32x16 a) {
  for (int i = 0; i < 4; ++i) vst1_u16(p + 4 * i, vreinterpret_u16_f16(vcvt_f16_f32(a.v[i])));
}

inline I32x16 i_set(int32_t x) { ANEDVD_EACH(I32x16, vdupq_n_s32(x)); }
inline I32x16 i_add(I32x16 a, I32x16 b) { ANEDVD_EACH(I32x16, vaddq_s32(a.v[i], b.v[i])); }
inline I32x16 i_mul(I32x16 a, I32x16 b) { ANEDVD_EACH(I32x16, vmulq_s32(a.v[i], b.v[i])); }
inline I32x16 i_load_u8(const uint8_t* p) {
  const uint8x16_t x = vld1q_u8(p);
  const uint16x8_t low = vmovl_u8(vget_low_u8(x)), high = vmovl_u8(vget_high_u8(x));
  return {{vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(low))), vreinterpretq_s32_u32(vmovl_u16(vget_high_u16(low))),
           vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(high))),
           vreinterpretq_s32_u32(vmovl_u16(vget_high_u16(high)))}};
}
inline I32x16 i_load_s8(const int8_t* p) {
  const int8x16_t x = vld1q_s8(p);
  const int16x8_t low = vmovl_s8(vget_low_s8(x)), high = vmovl_s8(vget_high_s8(x));
  return {{vmovl_s16(vget_low_s16(low)), vmovl_s16(vget_high_s16(low)), vmovl_s16(vget_low_s16(high)),
           vmovl_s16(vget_high_s16(high))}};
}
inline F32x16 f_from_i(I32x16 a) { ANEDVD_EACH(F32x16, vcvtq_f32_s32(a.v[i])); }
inline I32x16 i_round(F32x16 a) { ANEDVD_EACH(I32x16, vcvtnq_s32_f32(a.v[i])); }
inline void i_store_s8(int8_t* p, I32x16 a) {
  const int16x8_t low = vcombine_s16(vmovn_s32(a.v[0]), vmovn_s32(a.v[1]));
  const int16x8_t high = vcombine_s16(vmovn_s32(a.v[2]), vmovn_s32(a.v[3]));
  vst1q_s8(p, vcombine_s8(vmovn_s16(low), vmovn_s16(high)));
}
inline int32_t i_reduce_add(I32x16 a) {
  return vaddvq_s32(vaddq_s32(vaddq_s32(a.v[0], a.v[1]), vaddq_s32(a.v[2], a.v[3])));
}
inline F32x16 f_scale_exponent(F32x16 a, I32x16 n) {
  ANEDVD_EACH(F32x16, vreinterpretq_f32_s32(vaddq_s32(vreinterpretq_s32_f32(a.v[i]), vshlq_n_s32(n.v[i], 23))));
}
inline float f_reduce_add(F32x16 a) {
  const float32x4_t t4 = vaddq_f32(vaddq_f32(a.v[0], a.v[2]), vaddq_f32(a.v[1], a.v[3]));
  const float32x2_t t2 = vadd_f32(vget_low_f32(t4), vget_high_f32(t4));
  return vget_lane_f32(t2, 0) + vget_lane_f32(t2, 1);
}
inline float f_reduce_max(F32x16 a) {
  return vmaxvq_f32(vmaxq_f32(vmaxq_f32(a.v[0], a.v[1]), vmaxq_f32(a.v[2], a.v[3])));
}

inline U8x64 b_load(const void* p) { ANEDVD_EACH(U8x64, vld1q_u8(static_cast<const uint8_t*>(p) + 16 * i)); }
inline U8x64 b_zero() { ANEDVD_EACH(U8x64, vdupq_n_u8(0)); }
inline U8x64 b_lookup(U8x64 a, const uint8_t* levels) {
  const uint8x16_t table = vld1q_u8(levels);
  ANEDVD_EACH(U8x64, vqtbl1q_u8(table, a.v[i]));
}
inline U8x64 b_low(U8x64 a) { ANEDVD_EACH(U8x64, vandq_u8(a.v[i], vdupq_n_u8(15))); }
inline U8x64 b_high(U8x64 a) { ANEDVD_EACH(U8x64, vshrq_n_u8(a.v[i], 4)); }
inline uint8x16_t spread_bits(uint32_t bits) {
  static const uint8_t kBit[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  const uint8x16_t bytes = vcombine_u8(vdup_n_u8(uint8_t(bits)), vdup_n_u8(uint8_t(bits >> 8)));
  return vandq_u8(vtstq_u8(bytes, vld1q_u8(kBit)), vdupq_n_u8(16));
}
inline U8x64 b_add_fifth(U8x64 a, uint64_t bits) {
  ANEDVD_EACH(U8x64, vorrq_u8(a.v[i], spread_bits(uint32_t(bits >> (16 * i)))));
}
template <int kPair>
inline U8x64 b_add_top(U8x64 a, U8x64 b) {
  const int8x16_t shift = vdupq_n_s8(int8_t(4 - 2 * kPair));
  ANEDVD_EACH(U8x64, vorrq_u8(a.v[i], vandq_u8(vshlq_u8(b.v[i], shift), vdupq_n_u8(48))));
}

inline int32x4_t dot_quad(int32x4_t acc, int8x16_t w, int8x16_t x) {
#if defined(__ARM_FEATURE_DOTPROD)
  return vdotq_s32(acc, w, x);
#else
  const int16x8_t low = vmull_s8(vget_low_s8(w), vget_low_s8(x)), high = vmull_s8(vget_high_s8(w), vget_high_s8(x));
  return vaddq_s32(acc, vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high)));
#endif
}
inline I32x16 dot_small(I32x16 acc, U8x64 w, int32_t a) {
  const int8x16_t x = vreinterpretq_s8_s32(vdupq_n_s32(a));
  ANEDVD_EACH(I32x16, dot_quad(acc.v[i], vreinterpretq_s8_u8(w.v[i]), x));
}
// The dot product here is signed: the stored 128 is taken off again, and nothing is left to correct.
inline I32x16 q8_start(int32_t) { return i_set(0); }
inline I32x16 dot_q8(I32x16 acc, U8x64 w, int32_t a) {
  const int8x16_t x = vreinterpretq_s8_s32(vdupq_n_s32(a));
  const uint8x16_t bias = vdupq_n_u8(128);
  ANEDVD_EACH(I32x16, dot_quad(acc.v[i], vreinterpretq_s8_u8(veorq_u8(w.v[i], bias)), x));
}

inline void prefetch(const void* p) { __builtin_prefetch(p); }

#undef ANEDVD_EACH

}  // namespace
}  // namespace anedvd

#if defined(__ARM_FEATURE_MATMUL_INT8)
// Last: it is built on the vectors above.
#include "cpu/kernels/simd_neon_pairs.h"
#endif
