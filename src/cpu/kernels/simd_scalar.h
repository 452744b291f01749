// The sixteen-lane vector of the kernels as plain loops: the reference, and what runs where no other level does.
#pragma once

#include "cpu/kernels/half_bits.h"
#include "cpu/kernels/kernel_table.h"

namespace anedvd {
namespace {

constexpr int kTileColumns = 2, kTilePanels = 1;
constexpr int kFloatTileColumns = 2, kFloatTilePanels = 1;

struct F32x16 {
  float v[kLanes];
};
struct I32x16 {
  int32_t v[kLanes];
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
inline I32x16 i_load(const int32_t* p) {
  I32x16 r;
  ANEDVD_EACH(p[i]);
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

inline void prefetch(const void*) {}

#undef ANEDVD_EACH

}  // namespace
}  // namespace anedvd

// Last: it is built on the vectors above.
#include "cpu/kernels/simd_scalar_bytes.h"
