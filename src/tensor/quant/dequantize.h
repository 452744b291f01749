// One dequantiser a type, each a DequantizeFn (tensor/dtype.h): whole blocks to floats, value for value what ggml's reference makes.
// They are reached through the table in dtype.cpp. No alignment is asked of `blocks`.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anedvd {

// clang-format off
void dequantize_f32(const std::byte* blocks, int64_t block_count, float* out);
void dequantize_f16(const std::byte* blocks, int64_t block_count, float* out);
void dequantize_bf16(const std::byte* blocks, int64_t block_count, float* out);
void dequantize_f64(const std::byte* blocks, int64_t block_count, float* out);
void dequantize_i8(const std::byte* blocks, int64_t block_count, float* out);
void dequantize_i16(const std::byte* blocks, int64_t block_count, float* out);
void dequantize_i32(const std::byte* blocks, int64_t block_count, float* out);
void dequantize_i64(const std::byte* blocks, int64_t block_count, float* out);

void dequantize_q4_0(const std::byte* blocks, int64_t block_count, float* out);
void dequantize_q4_1(const std::byte* blocks, int64_t block_count, float* out);
void dequantize_q5_0(const std::byte* blocks, int64_t block_count, float* out);
void dequantize_q5_1(const std::byte* blocks, int64_t block_count, float* out);
void dequantize_q8_0(const std::byte* blocks, int64_t block_count, float* out);
void dequantize_q8_1(const std::byte* blocks, int64_t block_count, float* out);

void dequantize_q2_k(const std::byte* blocks, int64_t block_count, float* out);
void dequantize_q3_k(const std::byte* blocks, int64_t block_count, float* out);
void dequantize_q4_k(const std::byte* blocks, int64_t block_count, float* out);
void dequantize_q5_k(const std::byte* blocks, int64_t block_count, float* out);
void dequantize_q6_k(const std::byte* blocks, int64_t block_count, float* out);
void dequantize_q8_k(const std::byte* blocks, int64_t block_count, float* out);

void dequantize_iq1_s(const std::byte* blocks, int64_t block_count, float* out);
void dequantize_iq1_m(const std::byte* blocks, int64_t block_count, float* out);
void dequantize_iq2_xxs(const std::byte* blocks, int64_t block_count, float* out);
void dequantize_iq2_xs(const std::byte* blocks, int64_t block_count, float* out);
void dequantize_iq2_s(const std::byte* blocks, int64_t block_count, float* out);
void dequantize_iq3_xxs(const std::byte* blocks, int64_t block_count, float* out);
void dequantize_iq3_s(const std::byte* blocks, int64_t block_count, float* out);
void dequantize_iq4_nl(const std::byte* blocks, int64_t block_count, float* out);
void dequantize_iq4_xs(const std::byte* blocks, int64_t block_count, float* out);

void dequantize_tq1_0(const std::byte* blocks, int64_t block_count, float* out);
void dequantize_tq2_0(const std::byte* blocks, int64_t block_count, float* out);
void dequantize_q1_0(const std::byte* blocks, int64_t block_count, float* out);
void dequantize_q2_0(const std::byte* blocks, int64_t block_count, float* out);
void dequantize_mxfp4(const std::byte* blocks, int64_t block_count, float* out);
// clang-format on

}  // namespace anedvd
