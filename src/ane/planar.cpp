#include "ane/planar.h"

#include <algorithm>
#include <cstring>

namespace anedvd {
namespace {

// Blocks of 8 channels × 8 columns are turned over in registers: a plane is then read and written 8 columns at a time and a row 8 channels at a time.
// Vectors of the compiler's own kind, because the same code serves x86-64 and arm64; a cast between them keeps the bits.
constexpr int kBlock = 8;
constexpr int64_t kTile =
    64;  // channels: rows are often 4,096 bytes apart, so few of them at once stay in the first cache, the planes all
using Halves = uint16_t __attribute__((vector_size(16)));
using Words = uint32_t __attribute__((vector_size(32)));
using Floats = float __attribute__((vector_size(32)));
using Integers = int32_t __attribute__((vector_size(32)));

constexpr float kLargestHalf = 65504;
constexpr uint16_t kExponent = 0x7c00;

template <class Vector>
inline __attribute__((always_inline)) void load(Vector& vector, const void* from) {
  std::memcpy(&vector, from, sizeof vector);
}
template <class Vector>
inline __attribute__((always_inline)) void store(void* to, const Vector& vector) {
  std::memcpy(to, &vector, sizeof vector);
}

inline __attribute__((always_inline)) void zip(const Halves& a, const Halves& b, Halves& low, Halves& high) {
  low = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
  high = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}

inline __attribute__((always_inline)) void transpose(Halves (&rows)[kBlock]) {
  for (int round = 0; round < 3; ++round) {  // each zip of the halves turns one bit of the indices
    Halves next[kBlock];
    for (int i = 0; i < kBlock / 2; ++i) zip(rows[i], rows[i + kBlock / 2], next[2 * i], next[2 * i + 1]);
    for (int i = 0; i < kBlock; ++i) rows[i] = next[i];
  }
}

// As float_to_half of the clamped numbers, without a branch.
inline __attribute__((always_inline)) void to_halves(const float* source, float factor, Halves& halves) {
  Floats value;
  load(value, source);
  value *= factor;
  value = value > -kLargestHalf ? value : Floats{} - kLargestHalf;  // not-a-number goes to one end
  value = value < kLargestHalf ? value : Floats{} + kLargestHalf;
  const Words bits = Words(value), magnitude = bits & 0x7fffffffu;
  const Words normal = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
  const Words subnormal = Words(Floats(magnitude) + 0.5f) - 0x3f000000u;
  const Words half = (bits >> 16 & 0x8000u) | (magnitude < 0x38800000u ? subnormal : normal);
  halves = __builtin_convertvector(half, Halves);
}

// As half_to_float of finite numbers.
inline __attribute__((always_inline)) void to_floats(const Halves& halves, float factor, float* target) {
  const Words bits = __builtin_convertvector(halves, Words), magnitude = bits & 0x7fffu;
  const Floats subnormal = __builtin_convertvector(Integers(magnitude), Floats) * 0x1p-24f;
  const Words wide = magnitude < 0x400u ? Words(subnormal) : (magnitude << 13) + (112u << 23);
  store(target, Floats(wide | (bits & 0x8000u) << 16) * factor);
}

// A block of a surface: `channels` × `columns` of it are there.
struct Block {
  int64_t channels;
  int columns;
  bool is_whole() const { return channels == kBlock && columns == kBlock; }
};

inline __attribute__((always_inline)) void scatter_whole(const float* source, int64_t stride, const float* factors,
                                                         std::byte* planes, int64_t plane_stride) {
  Halves rows[kBlock];
  for (int i = 0; i < kBlock; ++i) to_halves(source + i * stride, factors[i], rows[i]);
  transpose(rows);
  for (int i = 0; i < kBlock; ++i) store(planes + i * plane_stride, rows[i]);
}

inline __attribute__((always_inline)) void scatter_part(const float* source, int64_t stride, const float* factors,
                                                        const Block& block, std::byte* planes, int64_t plane_stride) {
  for (int column = 0; column < block.columns; ++column) {
    float values[kBlock] = {};
    std::copy_n(source + column * stride, block.channels, values);
    Halves halves;
    to_halves(values, factors[column], halves);
    for (int64_t i = 0; i < block.channels; ++i) {
      const uint16_t half = halves[i];
      store(planes + i * plane_stride + column * 2, half);
    }
  }
}

inline __attribute__((always_inline)) void gather_whole(const std::byte* planes, int64_t plane_stride,
                                                        const float* factors, float* target, int64_t stride,
                                                        Halves& infinite) {
  Halves rows[kBlock];
  for (int i = 0; i < kBlock; ++i) {
    load(rows[i], planes + i * plane_stride);
    infinite |= Halves((rows[i] & kExponent) == kExponent);
  }
  transpose(rows);
  for (int i = 0; i < kBlock; ++i) to_floats(rows[i], factors[i], target + i * stride);
}

inline __attribute__((always_inline)) void gather_part(const std::byte* planes, int64_t plane_stride,
                                                       const Block& block, const float* factors, float* target,
                                                       int64_t stride, Halves& infinite) {
  for (int column = 0; column < block.columns; ++column) {
    Halves halves = {};
    for (int64_t i = 0; i < block.channels; ++i) {
      uint16_t half;
      load(half, planes + i * plane_stride + column * 2);
      halves[i] = half;
    }
    infinite |= Halves((halves & kExponent) == kExponent);
    float values[kBlock];
    to_floats(halves, factors[column], values);
    std::copy_n(values, block.channels, target + column * stride);
  }
}

// Calls visit(row, column, block) for the blocks of [0, rows) × [0, columns).
template <class Visit>
inline __attribute__((always_inline)) void for_blocks(int64_t rows, int columns, Visit&& visit) {
  for (int64_t tile = 0; tile < rows; tile += kTile)
    for (int column = 0; column < columns; column += kBlock)
      for (int64_t row = tile; row < std::min(rows, tile + kTile); row += kBlock)
        visit(row, column, Block{std::min<int64_t>(kBlock, rows - row), std::min(kBlock, columns - column)});
}

inline __attribute__((always_inline)) void scatter(const float* source, int64_t stride, int64_t rows, int columns,
                                                   const float* factors, std::byte* planes, int64_t plane_stride) {
  for_blocks(
      rows, columns, [&](int64_t row, int column, const Block& block) __attribute__((always_inline)) {
        const float* from = source + column * stride + row;
        std::byte* to = planes + row * plane_stride + column * 2;
        if (block.is_whole())
          scatter_whole(from, stride, factors + column, to, plane_stride);
        else
          scatter_part(from, stride, factors + column, block, to, plane_stride);
      });
}

inline __attribute__((always_inline)) bool gather(const std::byte* planes, int64_t plane_stride, int64_t rows,
                                                  int columns, const float* factors, float* target, int64_t stride) {
  Halves infinite = {};
  for_blocks(
      rows, columns, [&](int64_t row, int column, const Block& block) __attribute__((always_inline)) {
        const std::byte* from = planes + row * plane_stride + column * 2;
        float* to = target + column * stride + row;
        if (block.is_whole())
          gather_whole(from, plane_stride, factors + column, to, stride, infinite);
        else
          gather_part(from, plane_stride, block, factors + column, to, stride, infinite);
      });
  uint16_t any = 0;
  for (int i = 0; i < kBlock; ++i) any |= infinite[i];
  return any == 0;
}

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2"))) void scatter_avx2(const float* source, int64_t stride, int64_t rows, int columns,
                                                  const float* factors, std::byte* planes, int64_t plane_stride) {
  scatter(source, stride, rows, columns, factors, planes, plane_stride);
}
__attribute__((target("avx2"))) bool gather_avx2(const std::byte* planes, int64_t plane_stride, int64_t rows,
                                                 int columns, const float* factors, float* target, int64_t stride) {
  return gather(planes, plane_stride, rows, columns, factors, target, stride);
}
#endif

}  // namespace

void scatter_planes(const float* source, int64_t stride, int64_t first, int64_t rows, int columns,
                    std::span<const float> factors, const TensorLayout& layout, std::span<std::byte> surface) {
  std::byte* planes = surface.data() + first * layout.plane_stride;
#if defined(__x86_64__) && defined(__GNUC__)
  if (__builtin_cpu_supports("avx2"))
    return scatter_avx2(source, stride, rows, columns, factors.data(), planes, layout.plane_stride);
#endif
  scatter(source, stride, rows, columns, factors.data(), planes, layout.plane_stride);
}

void clear_planes(int from, int to, const TensorLayout& layout, std::span<std::byte> surface) {
  if (from >= to) return;
  for (int64_t channel = 0; channel < layout.channels; ++channel)
    std::memset(surface.data() + channel * layout.plane_stride + from * 2, 0, size_t(to - from) * 2);
}

bool gather_planes(std::span<const std::byte> surface, const TensorLayout& layout, int64_t first, int64_t rows,
                   int columns, std::span<const float> factors, float* target, int64_t stride) {
  const std::byte* planes = surface.data() + first * layout.plane_stride;
#if defined(__x86_64__) && defined(__GNUC__)
  if (__builtin_cpu_supports("avx2"))
    return gather_avx2(planes, layout.plane_stride, rows, columns, factors.data(), target, stride);
#endif
  return gather(planes, layout.plane_stride, rows, columns, factors.data(), target, stride);
}

}  // namespace anedvd
