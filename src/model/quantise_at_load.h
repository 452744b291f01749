// `--quant TYPE`: matrices that a file holds as plain floats are quantised while they are packed, a few rows at a time.
//
// Matrices that are quantised already stay as they are, and so do routers, gates of one number, norms and biases. Rows that are no whole blocks of the
// type get the next one with smaller blocks (tensor/quantize.h). The table of embeddings is read from the file as it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "device/plan.h"
#include "formats/tensor_source.h"

namespace anedvd {

// The type that --quant names, any case. kUsage: not one of q8_0, q4_0, q4_1, q5_0, q5_1, q4_k, q5_k, q6_k.
Result<DType> quant_type(std::string_view name);

// Marks the plan's weights (WeightRef::pack_as). Returns how many.
int quantise_at_load(Plan& plan, DType type, const TensorSource& source);

// What the file's tensors take in memory once they are packed.
uint64_t bytes_at_load(const TensorSource& source, std::optional<DType> type);

}  // namespace anedvd
