// Floats to blocks, for model makers and the `quantize` command.
//
// The simple types: one scale (and minimum) from the extremes of a block, no search. Byte for byte what ggml's reference writes,
// whose C functions (`quantize_row_*_ref`) the tests' fixture was compared with. K types: quantize_k.h.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "tensor/dtype.h"

namespace anedvd {

// Whether quantize_row writes this type: F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K.
bool can_quantize(DType dtype);

// Writes values.size() / block_elements × block_bytes bytes to `blocks`, which need no alignment.
//   kUnsupported   can_quantize(dtype) is false
//   kUsage         the count of values is not a whole number of blocks
//   kNumeric       a NaN or infinity, or a block too large for a half scale; F32, F16 and BF16 store those as they are
// After an error the content of `blocks` is unspecified. The message names no place: callers put it before with fail_in.
Result<> quantize_row(DType dtype, std::span<const float> values, std::byte* blocks);

// The type for rows of `cols` numbers: `wanted` if they are whole blocks of it, else the next one with smaller blocks (Q4_K: Q5_0, Q5_K: Q5_1,
// Q6_K: Q8_0, as llama.cpp falls back), at last F16.
DType legal_type(DType wanted, int64_t cols);

}  // namespace anedvd
