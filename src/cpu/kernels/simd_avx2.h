// The sixteen-lane vector of the kernels as two AVX2 registers.
#pragma once

#include <immintrin.h>

#include "cpu/kernels/kernel_table.h"

namespace anedvd {
namespace {

// 8 integer + 8 float accumulators, of 16 registers: some are spilled, and it is a tenth faster than two columns all the same.
constexpr int kTileColumns = 4, kTilePanels = 1;
constexpr int kFloatTileColumns = 2, kFloatTilePanels = 1;

struct F32x16 {
  __m256 a, b;
};
struct I32x16 {
  __m256i a, b;
};
struct U8x64 {
  __m256i a, b;
};

inline F32x16 f_set(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
inline F32x16 f_load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
inline void f_store(float* p, F32x16 x) {
  _mm256_storeu_ps(p, x.a);
  _mm256_storeu_ps(p + 8, x.b);
}
inline F32x16 f_add(F32x16 x, F32x16 y) { return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)}; }
inline F32x16 f_sub(F32x16 x, F32x16 y) { return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)}; }
inline F32x16 f_mul(F32x16 x, F32x16 y) { return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
inline F32x16 f_div(F32x16 x, F32x16 y) { return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)}; }
inline F32x16 f_fma(F32x16 x, F32x16 y, F32x16 z) {
  return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
}
inline F32x16 f_max(F32x16 x, F32x16 y) { return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)}; }
inline F32x16 f_min(F32x16 x, F32x16 y) { return {_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)}; }
inline F32x16 f_abs(F32x16 x) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_andnot_ps(sign, x.a), _mm256_andnot_ps(sign, x.b)};
}
inline __m256 lanes_between(__m256 x, __m256i lane, int begin, int end, float other) {
  const __m256i inside = _mm256_and_si256(_mm256_cmpgt_epi32(lane, _mm256_set1_epi32(begin - 1)),
                                          _mm256_cmpgt_epi32(_mm256_set1_epi32(end), lane));
  return _mm256_blendv_ps(_mm256_set1_ps(other), x, _mm256_castsi256_ps(inside));
}
inline F32x16 f_between(F32x16 x, int begin, int end, float other) {
  return {lanes_between(x.a, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), begin, end, other),
          lanes_between(x.b, _mm256_setr_epi32(8, 9, 10, 11, 12, 13, 14, 15), begin, end, other)};
}
inline F32x16 f_load_half(const uint16_t* p) {
  return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))),
          _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 8)))};
}
inline __m256 bfloats_of(const uint16_t* p) {
  const __m128i words = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(words), 16));
}
inline F32x16 f_load_bfloat(const uint16_t* p) { return {bfloats_of(p), bfloats_of(p + 8)}; }
inline void f_store_half(uint16_t* p, F32x16 x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(x.a, _MM_FROUND_TO_NEAREST_INT));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 8), _mm256_cvtps_ph(x.b, _MM_FROUND_TO_NEAREST_INT));
}

inline I32x16 i_set(int32_t x) { return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
inline I32x16 i_add(I32x16 x, I32x16 y) { return {_mm256_add_epi32(x.a, y.a), _mm256_add_epi32(x.b, y.b)}; }
inline I32x16 i_mul(I32x16 x, I32x16 y) { return {_mm256_mullo_epi32(x.a, y.a), _mm256_mullo_epi32(x.b, y.b)}; }
inline I32x16 i_load_u8(const uint8_t* p) {
  const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return {_mm256_cvtepu8_epi32(x), _mm256_cvtepu8_epi32(_mm_srli_si128(x, 8))};
}
inline I32x16 i_load_s8(const int8_t* p) {
  const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return {_mm256_cvtepi8_epi32(x), _mm256_cvtepi8_epi32(_mm_srli_si128(x, 8))};
}
inline F32x16 f_from_i(I32x16 x) { return {_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)}; }
inline I32x16 i_round(F32x16 x) { return {_mm256_cvtps_epi32(x.a), _mm256_cvtps_epi32(x.b)}; }
inline void i_store_s8(int8_t* p, I32x16 x) {
  const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(x.a, x.b), 0xd8);
  const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bytes);
}
inline int32_t i_reduce_add(I32x16 x) {
  const __m256i t8 = _mm256_add_epi32(x.a, x.b);
  const __m128i t4 = _mm_add_epi32(_mm256_castsi256_si128(t8), _mm256_extracti128_si256(t8, 1));
  const __m128i t2 = _mm_add_epi32(t4, _mm_shuffle_epi32(t4, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(t2, _mm_shuffle_epi32(t2, 0xb1)));
}
inline F32x16 f_scale_exponent(F32x16 x, I32x16 n) {
  return {_mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(x.a), _mm256_slli_epi32(n.a, 23))),
          _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(x.b), _mm256_slli_epi32(n.b, 23)))};
}
inline float f_reduce_add(F32x16 x) {
  const __m256 t8 = _mm256_add_ps(x.a, x.b);
  const __m128 t4 = _mm_add_ps(_mm256_castps256_ps128(t8), _mm256_extractf128_ps(t8, 1));
  const __m128 t2 = _mm_add_ps(t4, _mm_movehl_ps(t4, t4));
  return _mm_cvtss_f32(_mm_add_ss(t2, _mm_shuffle_ps(t2, t2, 1)));
}
inline float f_reduce_max(F32x16 x) {
  const __m256 t8 = _mm256_max_ps(x.a, x.b);
  const __m128 t4 = _mm_max_ps(_mm256_castps256_ps128(t8), _mm256_extractf128_ps(t8, 1));
  const __m128 t2 = _mm_max_ps(t4, _mm_movehl_ps(t4, t4));
  return _mm_cvtss_f32(_mm_max_ss(t2, _mm_shuffle_ps(t2, t2, 1)));
}

inline U8x64 b_load(const void* p) {
  const auto* q = static_cast<const __m256i*>(p);
  return {_mm256_loadu_si256(q), _mm256_loadu_si256(q + 1)};
}
inline U8x64 b_zero() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
inline U8x64 b_lookup(U8x64 x, const uint8_t* levels) {
  const __m256i table = _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(levels)));
  return {_mm256_shuffle_epi8(table, x.a), _mm256_shuffle_epi8(table, x.b)};
}
inline U8x64 b_low(U8x64 x) {
  const __m256i mask = _mm256_set1_epi8(15);
  return {_mm256_and_si256(x.a, mask), _mm256_and_si256(x.b, mask)};
}
inline U8x64 b_high(U8x64 x) {
  const __m256i mask = _mm256_set1_epi8(15);
  return {_mm256_and_si256(_mm256_srli_epi16(x.a, 4), mask), _mm256_and_si256(_mm256_srli_epi16(x.b, 4), mask)};
}
// 16 in every byte whose bit is set: the byte that holds the bit is spread over eight, then tested.
inline __m256i spread_bits(uint32_t bits) {
  const __m256i which = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1,  //
                                         2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
  const __m256i bit = _mm256_set1_epi64x(int64_t(0x8040201008040201ULL));
  const __m256i bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(int32_t(bits)), which);
  return _mm256_and_si256(_mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit), _mm256_set1_epi8(16));
}
inline U8x64 b_add_fifth(U8x64 x, uint64_t bits) {
  return {_mm256_or_si256(x.a, spread_bits(uint32_t(bits))), _mm256_or_si256(x.b, spread_bits(uint32_t(bits >> 32)))};
}
template <int kPair>
inline __m256i top_bits(__m256i b) {
  const __m256i top = kPair < 2 ? _mm256_slli_epi16(b, kPair == 0 ? 4 : 2) : _mm256_srli_epi16(b, kPair == 2 ? 0 : 2);
  return _mm256_and_si256(top, _mm256_set1_epi8(48));
}
template <int kPair>
inline U8x64 b_add_top(U8x64 x, U8x64 y) {
  return {_mm256_or_si256(x.a, top_bits<kPair>(y.a)), _mm256_or_si256(x.b, top_bits<kPair>(y.b))};
}

inline __m256i dot_small_half(__m256i acc, __m256i w, __m256i x) {
  const __m256i pairs = _mm256_maddubs_epi16(w, x);  // 2·63·127 fits 16 bits
  return _mm256_add_epi32(acc, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
inline I32x16 dot_small(I32x16 acc, U8x64 w, int32_t a) {
  const __m256i x = _mm256_set1_epi32(a);
  return {dot_small_half(acc.a, w.a, x), dot_small_half(acc.b, w.b, x)};
}
inline I32x16 q8_start(int32_t sum) { return i_set(-128 * sum); }
// 2·255·127 does not fit 16 bits: even and odd bytes apart.
inline __m256i dot_q8_half(__m256i acc, __m256i w, __m256i even_x, __m256i odd_x) {
  const __m256i even = _mm256_madd_epi16(_mm256_and_si256(w, _mm256_set1_epi16(255)), even_x);
  const __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16(w, 8), odd_x);
  return _mm256_add_epi32(acc, _mm256_add_epi32(even, odd));
}
inline I32x16 dot_q8(I32x16 acc, U8x64 w, int32_t a) {
  const __m256i x = _mm256_set1_epi32(a);
  const __m256i even = _mm256_srai_epi16(_mm256_slli_epi16(x, 8), 8), odd = _mm256_srai_epi16(x, 8);
  return {dot_q8_half(acc.a, w.a, even, odd), dot_q8_half(acc.b, w.b, even, odd)};
}

inline void prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }

}  // namespace
}  // namespace anedvd
