// Plain numbers: a block is one value.
//
// ggml has no reference for integers and doubles as weights; the nearest float is the only sensible reading.
#include <bit>
#include <cstring>

#include "tensor/quant/blocks.h"
#include "tensor/quant/dequantize.h"

namespace anedvd {
namespace {

template <class T>
void convert(const std::byte* blocks, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = float(load_le<T>(blocks + i * int64_t(sizeof(T))));
}

// half_to_float with masks for branches, which a compiler turns into vector code (from a choice of values it makes branches again).
float half_bits_to_float(uint16_t h) {
  const uint32_t exponent = h & 0x7c00u;
  const uint32_t is_subnormal = 0u - uint32_t(exponent == 0);
  const uint32_t is_special = 0u - uint32_t(exponent == 0x7c00u);  // infinity or NaN
  const uint32_t subnormal = std::bit_cast<uint32_t>(float(int32_t(h & 0x3ffu)) * 0x1p-24f);
  // The exponent moves from bias 15 to bias 127; from 31 on to 255.
  const uint32_t moved = (uint32_t(h & 0x7fffu) << 13) + (112u << 23) + (is_special & (112u << 23));
  return std::bit_cast<float>((subnormal & is_subnormal) | (moved & ~is_subnormal) | uint32_t(h & 0x8000u) << 16);
}

}  // namespace

void dequantize_f32(const std::byte* blocks, int64_t block_count, float* out) {
  if (block_count > 0) std::memcpy(out, blocks, size_t(block_count) * sizeof(float));
}

void dequantize_f16(const std::byte* blocks, int64_t block_count, float* out) {
  for (int64_t i = 0; i < block_count; ++i) out[i] = half_bits_to_float(load_le<uint16_t>(blocks + i * 2));
}

void dequantize_bf16(const std::byte* blocks, int64_t block_count, float* out) {
  for (int64_t i = 0; i < block_count; ++i) out[i] = bfloat16_to_float(load_le<uint16_t>(blocks + i * 2));
}

// Beyond the range of float: infinity, as IEEE conversion does.
void dequantize_f64(const std::byte* blocks, int64_t block_count, float* out) {
  convert<double>(blocks, block_count, out);
}

void dequantize_i8(const std::byte* blocks, int64_t block_count, float* out) {
  convert<int8_t>(blocks, block_count, out);
}

void dequantize_i16(const std::byte* blocks, int64_t block_count, float* out) {
  convert<int16_t>(blocks, block_count, out);
}

void dequantize_i32(const std::byte* blocks, int64_t block_count, float* out) {
  convert<int32_t>(blocks, block_count, out);
}

void dequantize_i64(const std::byte* blocks, int64_t block_count, float* out) {
  convert<int64_t>(blocks, block_count, out);
}

}  // namespace anedvd
