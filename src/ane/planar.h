// Between rows of floats (a column contiguous) and the chip's planes of halves (a channel contiguous).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ane/model_attributes.h"

namespace anedvd {

// Columns 0 … columns − 1 of channels [first, first + rows) of a surface, from source[column · stride + row]. Numbers beyond fp16 are clamped to
// ±65504, because what the chip makes of an infinity is anybody's guess. `factors`: one for each column, powers of two.
void scatter_planes(const float* source, int64_t stride, int64_t first, int64_t rows, int columns,
                    std::span<const float> factors, const TensorLayout& layout, std::span<std::byte> surface);

// Zeros in columns [from, to) of all channels.
void clear_planes(int from, int to, const TensorLayout& layout, std::span<std::byte> surface);

// The way back. Returns false if a number is infinite or none; such numbers come as 65,536 · factor or more, the finite ones as less.
bool gather_planes(std::span<const std::byte> surface, const TensorLayout& layout, int64_t first, int64_t rows,
                   int columns, std::span<const float> factors, float* target, int64_t stride);

}  // namespace anedvd
