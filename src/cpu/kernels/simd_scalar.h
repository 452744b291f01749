// The sixteen-lane vector of the kernels as plain loops: the reference, and what runs where no other level does.
#pragma once

#include "cpu/kernels/half_bits.h"
#include "cpu/kernels/kernel_table.h"

namespace anedvd {
namespace {

constexpr int kTileColumns = 2, kTilePanels = 1;

struct F32x16 {
  float v[kLanes];
};
struct I32x16 {
  int32_t v[kLanes];
};
struct U8x64 {
  uint8_t v[64];
};

#define ANEDVD_EACH(expression)                             \
  do {                                                      \
    for (int i = 0; i < kLanes; ++i) r.v[i] = (expression); \
    return r;                                               \
  } while (0)

inline F32x16 f_set(float x) {
  F32x16 r;
  ANEDVD_EACH(x);
}
inline F32x16 f_load(const float* p) {
  F32x16 r;
  ANEDVD_EACH(p[i]);
}
inline void f_store(float* p, const F32x16& a) {
  for (int i = 0; i < kLanes; ++i) p[i] = a.v[i];
}
inline F32x16 f_add(const F32x16& a, const F32x16& b) {
  F32x16 r;
  ANEDVD_EACH(a.v[i] + b.v[i]);
}
inline F32x16 f_sub(const F32x16& a, const F32x16& b) {
  F32x16 r;
  ANEDVD_EACH(a.v[i] - b.v[i]);
}
inline F32x16 f_mul(const F32x16& a, const F32x16& b) {
  F32x16 r;
  ANEDVD_EACH(a.v[i] * b.v[i]);
}
inline F32x16 f_div(const F32x16& a, const F32x16& b) {
  F32x16 r;
  ANEDVD_EACH(a.v[i] / b.v[i]);
}
inline F32x16 f_fma(const F32x16& a, const F32x16& b, const F32x16& c) {
  F32x16 r;
  ANEDVD_EACH(__builtin_fmaf(a.v[i], b.v[i], c.v[i]));
}
inline F32x16 f_max(const F32x16& a, const F32x16& b) {
  F32x16 r;
  ANEDVD_EACH(a.v[i] > b.v[i] ? a.v[i] : b.v[i]);
}
inline F32x16 f_min(const F32x16& a, const F32x16& b) {
  F32x16 r;
  ANEDVD_EACH(a.v[i] < b.v[i] ? a.v[i] : b.v[i]);
}
inline F32x16 f_abs(const F32x16& a) {
  F32x16 r;
  ANEDVD_EACH(__builtin_fabsf(a.v[i]));
}
// Lanes [begin, end) of a, `other` elsewhere.
inline F32x16 f_between(const F32x16& a, int begin, int end, float other) {
  F32x16 r;
  ANEDVD_EACH(i >= begin && i < end ? a.v[i] : other);
}

inline F32x16 f_load_half(const uint16_t* p) {
  F32x16 r;
  ANEDVD_EACH(half_bits_to_float(p[i]));
}
inline F32x16 f_load_bfloat(const uint16_t* p) {
  F32x16 r;
  for (int i = 0; i < kLanes; ++i) {
    const uint32_t bits = uint32_t(p[i]) << 16;
    __builtin_memcpy(&r.v[i], &bits, 4);
  }
  return r;
}
inline void f_store_half(uint16_t* p, const F32x16& a) {
  for (int i = 0; i < kLanes; ++i) p[i] = float_to_half_bits(a.v[i]);
}

inline I32x16 i_set(int32_t x) {
  I32x16 r;
  ANEDVD_EACH(x);
}
inline I32x16 i_add(const I32x16& a, const I32x16& b) {
  I32x16 r;
  ANEDVD_EACH(a.v[i] + b.v[i]);
}
inline I32x16 i_mul(const I32x16& a, const I32x16& b) {
  I32x16 r;
  ANEDVD_EACH(a.v[i] * b.v[i]);
}
inline I32x16 i_load_u8(const uint8_t* p) {
  I32x16 r;
  ANEDVD_EACH(int32_t(p[i]));
}
inline I32x16 i_load_s8(const int8_t* p) {
  I32x16 r;
  ANEDVD_EACH(int32_t(p[i]));
}
inline F32x16 f_from_i(const I32x16& a) {
  F32x16 r;
  ANEDVD_EACH(float(a.v[i]));
}
inline I32x16 i_round(const F32x16& a) {
  I32x16 r;
  ANEDVD_EACH(int32_t(__builtin_nearbyintf(a.v[i])));
}
inline void i_store_s8(int8_t* p, const I32x16& a) {
  for (int i = 0; i < kLanes; ++i) p[i] = int8_t(a.v[i]);
}
inline int32_t i_reduce_add(const I32x16& a) {
  int32_t s = 0;
  for (int32_t x : a.v) s += x;
  return s;
}
// a · 2^n for results within the normal range.
inline F32x16 f_scale_exponent(const F32x16& a, const I32x16& n) {
  F32x16 r;
  for (int i = 0; i < kLanes; ++i) {
    int32_t bits;
    __builtin_memcpy(&bits, &a.v[i], 4);
    bits += n.v[i] * (1 << 23);
    __builtin_memcpy(&r.v[i], &bits, 4);
  }
  return r;
}
inline float f_reduce_add(const F32x16& a) {
  float t[8];
  for (int i = 0; i < 8; ++i) t[i] = a.v[i] + a.v[i + 8];
  for (int i = 0; i < 4; ++i) t[i] += t[i + 4];
  for (int i = 0; i < 2; ++i) t[i] += t[i + 2];
  return t[0] + t[1];
}
inline float f_reduce_max(const F32x16& a) {
  float m = a.v[0];
  for (float x : a.v) m = x > m ? x : m;
  return m;
}

inline U8x64 b_load(const void* p) {
  U8x64 r;
  __builtin_memcpy(r.v, p, 64);
  return r;
}
inline U8x64 b_zero() { return {}; }
// levels[byte] for bytes below 16.
inline U8x64 b_lookup(const U8x64& a, const uint8_t* levels) {
  U8x64 r;
  for (int i = 0; i < 64; ++i) r.v[i] = levels[a.v[i]];
  return r;
}
inline U8x64 b_low(const U8x64& a) {
  U8x64 r;
  for (int i = 0; i < 64; ++i) r.v[i] = a.v[i] & 15;
  return r;
}
inline U8x64 b_high(const U8x64& a) {
  U8x64 r;
  for (int i = 0; i < 64; ++i) r.v[i] = uint8_t(a.v[i] >> 4);
  return r;
}
// Adds 16 to the bytes whose bit is set.
inline U8x64 b_add_fifth(const U8x64& a, uint64_t bits) {
  U8x64 r;
  for (int i = 0; i < 64; ++i) r.v[i] = uint8_t(a.v[i] + ((bits >> i) & 1) * 16);
  return r;
}
// a + 16·(bits [2·pair, 2·pair + 1] of each byte of b).
template <int kPair>
inline U8x64 b_add_top(const U8x64& a, const U8x64& b) {
  U8x64 r;
  for (int i = 0; i < 64; ++i) r.v[i] = uint8_t(a.v[i] + ((b.v[i] >> (2 * kPair)) & 3) * 16);
  return r;
}

// acc[lane] += Σ_j w[4·lane + j] · a's byte j. Weights up to 63.
inline I32x16 dot_small(const I32x16& acc, const U8x64& w, int32_t a) {
  int8_t x[4];
  __builtin_memcpy(x, &a, 4);
  I32x16 r;
  for (int i = 0; i < kLanes; ++i)
    r.v[i] = acc.v[i] + w.v[4 * i] * x[0] + w.v[4 * i + 1] * x[1] + w.v[4 * i + 2] * x[2] + w.v[4 * i + 3] * x[3];
  return r;
}
// Q8_0 weights are stored plus 128; started at q8_start(Σ a), the sum comes out as if they were not.
inline I32x16 q8_start(int32_t sum) { return i_set(-128 * sum); }
inline I32x16 dot_q8(const I32x16& acc, const U8x64& w, int32_t a) { return dot_small(acc, w, a); }

inline void prefetch(const void*) {}

#undef ANEDVD_EACH

}  // namespace
}  // namespace anedvd
