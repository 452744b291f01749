// The sixteen-lane vector of the kernels as one AVX-512 register. With __AVX512VNNI__ the byte dot product is one instruction.
#pragma once

#include <immintrin.h>

#include "cpu/kernels/kernel_table.h"

namespace anedvd {
namespace {

// 8 integer + 8 float accumulators of 32 registers. Two panels at once were measured 1.5 times slower at four columns: two streams from memory hide less of
// its latency.
constexpr int kTileColumns = 8, kTilePanels = 1;
// Of weights that are floats: 16 accumulators. Each activation is a broadcast operand of one multiplication, which costs nothing; used for two panels
// it would be an instruction of its own and compete with the conversion of the weights (0.7 against 0.95 multiplications a cycle on Zen 4).
constexpr int kFloatTileColumns = 8, kFloatTilePanels = 1;

using F32x16 = __m512;
using I32x16 = __m512i;
using U8x64 = __m512i;

inline F32x16 f_set(float x) { return _mm512_set1_ps(x); }
inline F32x16 f_load(const float* p) { return _mm512_loadu_ps(p); }
inline void f_store(float* p, F32x16 a) { _mm512_storeu_ps(p, a); }
inline F32x16 f_add(F32x16 a, F32x16 b) { return _mm512_add_ps(a, b); }
inline F32x16 f_sub(F32x16 a, F32x16 b) { return _mm512_sub_ps(a, b); }
inline F32x16 f_mul(F32x16 a, F32x16 b) { return _mm512_mul_ps(a, b); }
inline F32x16 f_div(F32x16 a, F32x16 b) { return _mm512_div_ps(a, b); }
inline F32x16 f_fma(F32x16 a, F32x16 b, F32x16 c) { return _mm512_fmadd_ps(a, b, c); }
inline F32x16 f_max(F32x16 a, F32x16 b) { return _mm512_max_ps(a, b); }
inline F32x16 f_min(F32x16 a, F32x16 b) { return _mm512_min_ps(a, b); }
inline F32x16 f_abs(F32x16 a) { return _mm512_abs_ps(a); }
inline F32x16 f_between(F32x16 a, int begin, int end, float other) {
  const int first = begin < 0 ? 0 : begin > 16 ? 16 : begin, last = end < 0 ? 0 : end > 16 ? 16 : end;
  const auto mask = __mmask16(((1u << last) - 1) & ~((1u << first) - 1));
  return _mm512_mask_mov_ps(_mm512_set1_ps(other), mask, a);
}
inline F32x16 f_load_half(const uint16_t* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
inline F32x16 f_load_bfloat(const uint16_t* p) {
  const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(words), 16));
}
inline void f_store_half(uint16_t* p, F32x16 a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

inline I32x16 i_set(int32_t x) { return _mm512_set1_epi32(x); }
inline I32x16 i_load(const int32_t* p) { return _mm512_loadu_si512(p); }
inline I32x16 i_add(I32x16 a, I32x16 b) { return _mm512_add_epi32(a, b); }
inline I32x16 i_mul(I32x16 a, I32x16 b) { return _mm512_mullo_epi32(a, b); }
inline I32x16 i_load_u8(const uint8_t* p) {
  return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline I32x16 i_load_s8(const int8_t* p) {
  return _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline F32x16 f_from_i(I32x16 a) { return _mm512_cvtepi32_ps(a); }
inline I32x16 i_round(F32x16 a) { return _mm512_cvt_roundps_epi32(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
inline void i_store_s8(int8_t* p, I32x16 a) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(a));
}
inline int32_t i_reduce_add(I32x16 a) { return _mm512_reduce_add_epi32(a); }
inline F32x16 f_scale_exponent(F32x16 a, I32x16 n) {
  return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(a), _mm512_slli_epi32(n, 23)));
}
inline float f_reduce_add(F32x16 a) {
  const __m256 t8 = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
  const __m128 t4 = _mm_add_ps(_mm256_castps256_ps128(t8), _mm256_extractf128_ps(t8, 1));
  const __m128 t2 = _mm_add_ps(t4, _mm_movehl_ps(t4, t4));
  return _mm_cvtss_f32(_mm_add_ss(t2, _mm_shuffle_ps(t2, t2, 1)));
}
inline float f_reduce_max(F32x16 a) { return _mm512_reduce_max_ps(a); }

inline U8x64 b_load(const void* p) { return _mm512_loadu_si512(p); }
inline void b_store(void* p, U8x64 a) { _mm512_storeu_si512(p, a); }
inline U8x64 b_zero() { return _mm512_setzero_si512(); }
inline U8x64 b_subtract(U8x64 a, int x) { return _mm512_sub_epi8(a, _mm512_set1_epi8(char(x))); }
inline U8x64 b_lookup(U8x64 a, const uint8_t* levels) {
  return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(levels))), a);
}
inline U8x64 b_low(U8x64 a) { return _mm512_and_si512(a, _mm512_set1_epi8(15)); }
inline U8x64 b_high(U8x64 a) { return _mm512_and_si512(_mm512_srli_epi16(a, 4), _mm512_set1_epi8(15)); }
inline U8x64 b_add_fifth(U8x64 a, uint64_t bits) {
  return _mm512_mask_add_epi8(a, _cvtu64_mask64(bits), a, _mm512_set1_epi8(16));
}
template <int kPair>
inline U8x64 b_add_top(U8x64 a, U8x64 b) {
  const __m512i top = kPair < 2 ? _mm512_slli_epi16(b, kPair == 0 ? 4 : 2) : _mm512_srli_epi16(b, kPair == 2 ? 0 : 2);
  return _mm512_or_si512(a, _mm512_and_si512(top, _mm512_set1_epi8(48)));
}

inline I32x16 dot_small(I32x16 acc, U8x64 w, int32_t a) {
#if defined(__AVX512VNNI__)
  return _mm512_dpbusd_epi32(acc, w, _mm512_set1_epi32(a));
#else
  const __m512i pairs = _mm512_maddubs_epi16(w, _mm512_set1_epi32(a));  // 2·63·127 fits 16 bits
  return _mm512_add_epi32(acc, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
#endif
}
inline I32x16 q8_start(int32_t sum) { return i_set(-128 * sum); }
inline I32x16 dot_q8(I32x16 acc, U8x64 w, int32_t a) {
#if defined(__AVX512VNNI__)
  return _mm512_dpbusd_epi32(acc, w, _mm512_set1_epi32(a));
#else
  // 2·255·127 does not fit 16 bits: even and odd bytes apart.
  const __m512i x = _mm512_set1_epi32(a);
  const __m512i even =
      _mm512_madd_epi16(_mm512_and_si512(w, _mm512_set1_epi16(255)), _mm512_srai_epi16(_mm512_slli_epi16(x, 8), 8));
  const __m512i odd = _mm512_madd_epi16(_mm512_srli_epi16(w, 8), _mm512_srai_epi16(x, 8));
  return _mm512_add_epi32(acc, _mm512_add_epi32(even, odd));
#endif
}

#if defined(__AVX512VNNI__)
// The activation as the instruction's own broadcast operand: the compiler makes an instruction of its own of it, which takes a third of a cycle more.
using AnyWord = int32_t __attribute__((may_alias, aligned(1)));
inline I32x16 dot_small(I32x16 acc, U8x64 w, const int8_t* a) {
  asm("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(acc) : "v"(w), "m"(*reinterpret_cast<const AnyWord*>(a)));
  return acc;
}
inline I32x16 dot_q8(I32x16 acc, U8x64 w, const int8_t* a) { return dot_small(acc, w, a); }
#endif

inline void prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }

}  // namespace
}  // namespace anedvd
