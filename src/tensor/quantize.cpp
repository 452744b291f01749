// The order of floating-point operations of the simple types is ggml's (ggml/src/ggml-quants.c); another one rounds some codes differently.
#include "tensor/quantize.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/half.h"
#include "tensor/quant/blocks.h"
#include "tensor/quant/store_half.h"
#include "tensor/quantize_k.h"

namespace anedvd {
namespace {

// Blocks of all but plain types are checked to be finite first. False: the block's scale or minimum leaves the range of a half.
using QuantizeBlockFn = bool (*)(const float* values, void* block);

// 1 / d. A d whose inverse overflows is zero as a half, so that its codes mean nothing: 0 keeps them in range.
float inverse(float d) {
  const float id = d != 0 ? 1.0f / d : 0.0f;
  return std::isfinite(id) ? id : 0.0f;
}

// The first of the values that are farthest from zero, with its sign; +0 if all are zero.
float farthest_from_zero(const float* values) {
  float farthest = 0;
  for (int i = 0; i < kSmallBlock; ++i) {
    if (std::fabs(values[i]) > std::fabs(farthest)) farthest = values[i];
  }
  return farthest;
}

struct Range {
  float low, high;
};

constexpr float kLargest = std::numeric_limits<float>::max();

Range range_of(const float* values) {
  Range range{kLargest, -kLargest};
  for (int i = 0; i < kSmallBlock; ++i) {
    range.low = values[i] < range.low ? values[i] : range.low;
    range.high = values[i] > range.high ? values[i] : range.high;
  }
  return range;
}

// Bits 0 … 3 of 32 codes: code i in the low nibble of byte i, code i + 16 in the high one.
void store_low_bits(const uint8_t (&codes)[kSmallBlock], uint8_t (&qs)[16]) {
  for (int i = 0; i < 16; ++i) qs[i] = uint8_t((codes[i] & 15) | (codes[i + 16] & 15) << 4);
}

// Bit 4 of 32 codes: that of code i is bit i of a word.
void store_fifth_bits(const uint8_t (&codes)[kSmallBlock], uint8_t (&qh)[4]) {
  uint32_t word = 0;
  for (int i = 0; i < kSmallBlock; ++i) word |= uint32_t(codes[i] >> 4) << i;
  std::memcpy(qh, &word, sizeof word);
}

// codes = value · id + centre + 1/2, truncated: 0 … 2 · centre − 1.
void signed_codes(const float* values, float id, int centre, uint8_t (&codes)[kSmallBlock]) {
  for (int i = 0; i < kSmallBlock; ++i) {
    codes[i] = uint8_t(std::min(2 * centre - 1, int(values[i] * id + (float(centre) + 0.5f))));
  }
}

// codes = (value − low) · id + 1/2, truncated: 0 … highest.
void offset_codes(const float* values, float low, float id, int highest, uint8_t (&codes)[kSmallBlock]) {
  for (int i = 0; i < kSmallBlock; ++i) codes[i] = uint8_t(std::min(highest, int((values[i] - low) * id + 0.5f)));
}

// The value farthest from zero gets code 0, so the scale has the opposite sign: one more level on that side than on the other.
bool quantize_q4_0(const float* values, void* out) {
  auto& block = *static_cast<BlockQ4_0*>(out);
  const float d = farthest_from_zero(values) / -8.0f;
  if (!store_half(d, block.d)) return false;
  uint8_t codes[kSmallBlock];
  signed_codes(values, inverse(d), 8, codes);
  store_low_bits(codes, block.qs);
  return true;
}

bool quantize_q5_0(const float* values, void* out) {
  auto& block = *static_cast<BlockQ5_0*>(out);
  const float d = farthest_from_zero(values) / -16.0f;
  if (!store_half(d, block.d)) return false;
  uint8_t codes[kSmallBlock];
  signed_codes(values, inverse(d), 16, codes);
  store_low_bits(codes, block.qs);
  store_fifth_bits(codes, block.qh);
  return true;
}

bool quantize_q4_1(const float* values, void* out) {
  auto& block = *static_cast<BlockQ4_1*>(out);
  const Range range = range_of(values);
  const float d = (range.high - range.low) / 15.0f;
  if (!store_half(d, block.d) || !store_half(range.low, block.m)) return false;
  uint8_t codes[kSmallBlock];
  offset_codes(values, range.low, inverse(d), 15, codes);
  store_low_bits(codes, block.qs);
  return true;
}

bool quantize_q5_1(const float* values, void* out) {
  auto& block = *static_cast<BlockQ5_1*>(out);
  const Range range = range_of(values);
  const float d = (range.high - range.low) / 31.0f;
  if (!store_half(d, block.d) || !store_half(range.low, block.m)) return false;
  uint8_t codes[kSmallBlock];
  offset_codes(values, range.low, inverse(d), 31, codes);
  store_low_bits(codes, block.qs);
  store_fifth_bits(codes, block.qh);
  return true;
}

// Codes round half away from zero.
bool quantize_q8_0(const float* values, void* out) {
  auto& block = *static_cast<BlockQ8_0*>(out);
  const float d = std::fabs(farthest_from_zero(values)) / 127.0f;
  if (!store_half(d, block.d)) return false;
  const float id = inverse(d);
  for (int i = 0; i < kSmallBlock; ++i) block.qs[i] = int8_t(std::round(values[i] * id));
  return true;
}

bool store_f32(const float* value, void* out) {
  std::memcpy(out, value, sizeof *value);
  return true;
}

bool store_f16(const float* value, void* out) {
  const uint16_t word = float_to_half(*value);
  std::memcpy(out, &word, sizeof word);
  return true;
}

// Round to nearest even; a NaN stays one even if its payload lies in the bits that go.
bool store_bf16(const float* value, void* out) {
  const auto bits = std::bit_cast<uint32_t>(*value);
  const uint32_t rounded = std::isnan(*value) ? bits | 0x400000u : bits + 0x7fffu + (bits >> 16 & 1u);
  const auto word = uint16_t(rounded >> 16);
  std::memcpy(out, &word, sizeof word);
  return true;
}

struct Quantizer {
  DType dtype;
  QuantizeBlockFn quantize_block;
};

constexpr Quantizer kQuantizers[] = {
    {DType::kF32, store_f32},      {DType::kF16, store_f16},      {DType::kBF16, store_bf16},
    {DType::kQ4_0, quantize_q4_0}, {DType::kQ4_1, quantize_q4_1}, {DType::kQ5_0, quantize_q5_0},
    {DType::kQ5_1, quantize_q5_1}, {DType::kQ8_0, quantize_q8_0}, {DType::kQ4_K, quantize_q4_k},
    {DType::kQ5_K, quantize_q5_k}, {DType::kQ6_K, quantize_q6_k},
};

QuantizeBlockFn quantizer_of(DType dtype) {
  const auto* found = std::ranges::find(kQuantizers, dtype, &Quantizer::dtype);
  return found == std::end(kQuantizers) ? nullptr : found->quantize_block;
}

}  // namespace

DType legal_type(DType wanted, int64_t cols) {
  const auto fits = [&](DType dtype) { return cols % format_of(dtype).block_elements == 0; };
  if (fits(wanted)) return wanted;
  const DType smaller = wanted == DType::kQ4_K   ? DType::kQ5_0
                        : wanted == DType::kQ5_K ? DType::kQ5_1
                        : wanted == DType::kQ6_K ? DType::kQ8_0
                                                 : DType::kF16;
  return fits(smaller) ? smaller : DType::kF16;
}

bool can_quantize(DType dtype) { return quantizer_of(dtype) != nullptr; }

Result<> quantize_row(DType dtype, std::span<const float> values, std::byte* blocks) {
  const QuantFormat& format = format_of(dtype);
  const QuantizeBlockFn quantize_block = quantizer_of(dtype);
  if (!quantize_block) {
    return fail(ErrorCode::kUnsupported, "{}: anedvd does not write this type; choose F16, Q8_0 or Q4_0", format.name);
  }
  const auto block_elements = size_t(format.block_elements);
  if (values.size() % block_elements != 0) {
    return fail(ErrorCode::kUsage, "{} values are not whole blocks of {} ({} values each); choose F16", values.size(),
                format.name, block_elements);
  }
  for (size_t first = 0; first < values.size(); first += block_elements, blocks += format.block_bytes) {
    const auto block_values = values.subspan(first, block_elements);
    if (block_elements > 1) {
      const auto odd = std::ranges::find_if_not(block_values, [](float value) { return std::isfinite(value); });
      if (odd != block_values.end()) {
        return fail(ErrorCode::kNumeric, "value {} is {}, which {} cannot hold; is the file damaged?",
                    first + size_t(odd - block_values.begin()), *odd, format.name);
      }
    }
    if (!quantize_block(block_values.data(), blocks)) {
      return fail(ErrorCode::kNumeric, "values {} to {} are too large for {}; choose BF16", first,
                  first + block_elements - 1, format.name);
    }
  }
  return {};
}

}  // namespace anedvd
