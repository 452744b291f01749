// Element types of model files and how many bytes they take.
//
// Numbers, names and block sizes are ggml's (ggml/include/ggml.h, `enum ggml_type`), because GGUF files carry the numbers.
// One row of one table (dtype.cpp) says everything about a type: the rest of the program asks the row, never the name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace anedvd {

enum class DType : uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ8_1 = 9,
  kQ2_K = 10,
  kQ3_K = 11,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kQ8_K = 15,
  kIQ2_XXS = 16,
  kIQ2_XS = 17,
  kIQ3_XXS = 18,
  kIQ1_S = 19,
  kIQ4_NL = 20,
  kIQ3_S = 21,
  kIQ2_S = 22,
  kIQ4_XS = 23,
  kI8 = 24,
  kI16 = 25,
  kI32 = 26,
  kI64 = 27,
  kF64 = 28,
  kIQ1_M = 29,
  kBF16 = 30,
  kTQ1_0 = 34,
  kTQ2_0 = 35,
  kMXFP4 = 39,
  kQ1_0 = 41,
  kQ2_0 = 42,
};

// Turns `blocks` whole blocks into floats, exactly as ggml's reference does. out.size() = blocks × block_elements.
using DequantizeFn = void (*)(const std::byte* blocks, int64_t block_count, float* out);

struct QuantFormat {
  DType dtype;
  std::string_view name;  // "Q4_K": what files, `info` and errors call it
  int block_elements;     // values in a block (1 for plain numbers)
  int block_bytes;
  DequantizeFn dequantize;
};

// Every type that anedvd reads, in the order of their numbers.
std::span<const QuantFormat> all_formats();

// The row of a type that exists. O(1).
const QuantFormat& format_of(DType dtype);

// The type with this GGUF number; nullopt if unknown or withdrawn.
std::optional<DType> dtype_from_number(uint32_t number);

// The name of a number that dtype_from_number refuses, as far as it is known ("Q4_2, withdrawn"), else "unknown".
std::string_view unsupported_type_name(uint32_t number);

// The type of this name, any case ("q4_k"); nullopt if there is none.
std::optional<DType> dtype_from_name(std::string_view name);

}  // namespace anedvd
