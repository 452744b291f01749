// The 64-byte chunk of weights of the scalar level, its unpacking and its dot products. Included by simd_scalar.h, whose vectors it uses.
#pragma once

#include "cpu/kernels/kernel_table.h"

namespace anedvd {
namespace {

struct U8x64 {
  uint8_t v[64];
};

inline U8x64 b_load(const void* p) {
  U8x64 r;
  __builtin_memcpy(r.v, p, 64);
  return r;
}
inline void b_store(void* p, const U8x64& a) { __builtin_memcpy(p, a.v, 64); }
inline U8x64 b_zero() { return {}; }
// a − x, modulo 256: a signed byte where the difference fits one.
inline U8x64 b_subtract(const U8x64& a, int x) {
  U8x64 r;
  for (int i = 0; i < 64; ++i) r.v[i] = uint8_t(a.v[i] - x);
  return r;
}
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

}  // namespace
}  // namespace anedvd
