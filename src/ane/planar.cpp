#include "ane/planar.h"

#include <algorithm>
#include <array>
#include <bit>

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

// As float_to_half of the clamped number, without a branch, so that a loop over it becomes vector code.
inline __attribute__((always_inline)) uint16_t clamped_half(float value) {
  const float clamped = std::min(std::max(value, -kLargestHalf), kLargestHalf);  // not-a-number goes to one end
  const uint32_t bits = std::bit_cast<uint32_t>(clamped), magnitude = bits & 0x7fffffffu;
  const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
  const uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  const uint32_t half = magnitude < 0x38800000u ? subnormal : normal;
  return uint16_t((bits >> 16 & 0x8000u) | half);
}

inline __attribute__((always_inline)) void convert(const float* source, int64_t count, float factor, uint16_t* halves) {
  for (int64_t i = 0; i < count; ++i) halves[i] = clamped_half(source[i] * factor);
}

void to_halves(const float* source, int64_t count, float factor, uint16_t* halves) {
  convert(source, count, factor, halves);
}

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2"))) void to_halves_avx2(const float* source, int64_t count, float factor,
                                                    uint16_t* halves) {
  convert(source, count, factor, halves);
}
auto best_to_halves() { return __builtin_cpu_supports("avx2") ? to_halves_avx2 : to_halves; }
#else
auto best_to_halves() { return to_halves; }
#endif

}  // namespace

void scatter_planes(const float* source, int64_t stride, int64_t first, int64_t rows, int columns,
                    std::span<const float> factors, const TensorLayout& layout, std::span<std::byte> surface) {
  const auto to = best_to_halves();
  std::array<uint16_t, kTile> halves;
  for (int64_t tile = 0; tile < rows; tile += kTile) {
    const int64_t count = std::min(kTile, rows - tile);
    for (int column = 0; column < columns; ++column) {
      to(source + column * stride + tile, count, factors[size_t(column)], halves.data());
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
                   int columns, std::span<const float> factors, float* target, int64_t stride) {
  constexpr uint32_t kExponent = 0x7c00;
  bool is_finite = true;
  for (int64_t row = 0; row < rows; ++row) {
    const uint16_t* halves = plane(surface.data(), layout, first + row);
    for (int column = 0; column < columns; ++column) {
      target[column * stride + row] = half_to_float(halves[column]) * factors[size_t(column)];
      is_finite = is_finite && (halves[column] & kExponent) != kExponent;
    }
  }
  return is_finite;
}

}  // namespace anedvd
