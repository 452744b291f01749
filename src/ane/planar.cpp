#include "ane/planar.h"

#include <algorithm>
#include <array>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define ANEDVD_PLANAR_F16C 1
#endif

#include "base/half.h"

namespace anedvd {
namespace {

constexpr float kLargestHalf = 65504;
constexpr int64_t kTile = 32;  // channels at a time: their rows of a few columns stay in the first cache

uint16_t* plane(std::byte* surface, const TensorLayout& layout, int64_t channel) {
  return reinterpret_cast<uint16_t*>(surface + channel * layout.plane_stride);
}
const uint16_t* plane(const std::byte* surface, const TensorLayout& layout, int64_t channel) {
  return reinterpret_cast<const uint16_t*>(surface + channel * layout.plane_stride);
}

// A run of one column's channels to halves: the same whether done by hardware or not.
void to_halves(const float* source, int64_t count, uint16_t* halves) {
  for (int64_t i = 0; i < count; ++i) halves[i] = float_to_half(std::clamp(source[i], -kLargestHalf, kLargestHalf));
}

#ifdef ANEDVD_PLANAR_F16C
__attribute__((target("avx,f16c"))) void to_halves_f16c(const float* source, int64_t count, uint16_t* halves) {
  const __m256 most = _mm256_set1_ps(kLargestHalf), least = _mm256_set1_ps(-kLargestHalf);
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    // min and max return their second operand where one is no number: that number stays none.
    const __m256 value = _mm256_max_ps(least, _mm256_min_ps(most, _mm256_loadu_ps(source + i)));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(halves + i), _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
  }
  to_halves(source + i, count - i, halves + i);
}
#endif

auto best_to_halves() {
#ifdef ANEDVD_PLANAR_F16C
  if (__builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c")) return to_halves_f16c;
#endif
  return to_halves;
}

}  // namespace

void scatter_planes(const float* source, int64_t stride, int64_t first, int64_t rows, int columns,
                    const TensorLayout& layout, std::span<std::byte> surface) {
  const auto convert = best_to_halves();
  std::array<uint16_t, kTile> halves;
  for (int64_t tile = 0; tile < rows; tile += kTile) {
    const int64_t count = std::min(kTile, rows - tile);
    for (int column = 0; column < columns; ++column) {
      convert(source + column * stride + tile, count, halves.data());
      for (int64_t i = 0; i < count; ++i) plane(surface.data(), layout, first + tile + i)[column] = halves[size_t(i)];
    }
  }
}

void clear_planes(int from, int to, const TensorLayout& layout, std::span<std::byte> surface) {
  if (from >= to) return;
  for (int64_t channel = 0; channel < layout.channels; ++channel)
    std::fill(plane(surface.data(), layout, channel) + from, plane(surface.data(), layout, channel) + to, uint16_t(0));
}

bool gather_planes(std::span<const std::byte> surface, const TensorLayout& layout, int64_t first, int64_t rows,
                   int columns, float* target, int64_t stride) {
  constexpr uint32_t kExponent = 0x7c00;
  bool is_finite = true;
  for (int64_t row = 0; row < rows; ++row) {
    const uint16_t* halves = plane(surface.data(), layout, first + row);
    for (int column = 0; column < columns; ++column) {
      target[column * stride + row] = half_to_float(halves[column]);
      is_finite = is_finite && (halves[column] & kExponent) != kExponent;
    }
  }
  return is_finite;
}

}  // namespace anedvd
