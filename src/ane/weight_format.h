// Weights in fewer bits than fp16: what the chip expands by itself while it reads them (docs/ane.md#compressed-weights).
//
//   int8      w ≈ code · s           one scale a tensor       constexpr_affine_dequantize
//   int8-row  w ≈ code · s[row]      one scale a row          constexpr_blockwise_shift_scale
//   lut6/4    w ≈ table[code]        64 or 16 values a tensor constexpr_lut_to_dense
//
// A matrix is looked at once (WeightAnalysis), which tells the error that each form would make, and read once more to be written
// (WeightEncoder). Both see rows of fp16 numbers and keep none of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ane/weight_blob.h"

namespace anedvd {

enum class WeightFormat { kFp16, kInt8, kInt8Row, kLut6, kLut4 };

std::string_view format_name(WeightFormat format);  // "int8-row"
int code_bits(WeightFormat format);                 // of one weight; 16 for fp16
BlobType code_type(WeightFormat format);            // of the record that holds the codes

// A form to try, and the error above which a matrix stays fp16.
struct WeightWish {
  WeightFormat format = WeightFormat::kFp16;
  double most_error = 0;  // see WeightCode::error
};

// What --ane-weights NAME means, in the order of trying: none for "fp16", smallest first for "auto"; nullopt: no such name.
std::optional<std::vector<WeightWish>> wishes_named(std::string_view name);
constexpr std::string_view kWeightNames = "fp16|int8|int8-row|lut6|lut4|auto";

// How one matrix is stored. fp16: nothing else is in use.
struct WeightCode {
  WeightFormat format = WeightFormat::kFp16;
  double error = 0;              // root of Σ(stored − w)² / Σw², where outliers count for less
  std::vector<uint16_t> scales;  // fp16: one, or one a row
  std::vector<uint16_t> table;   // fp16, ascending
};

class WeightAnalysis {
 public:
  explicit WeightAnalysis(int64_t cols) : cols_(cols), counts_(size_t(1) << 16) {}

  // Whole rows of finite fp16 numbers.
  void add(std::span<const uint16_t> halves);

  // The best code of this form that is known, with its error.
  WeightCode code(WeightFormat format) const;

 private:
  WeightCode tensor_code() const;
  WeightCode row_code() const;
  WeightCode table_code(WeightFormat format) const;
  double sum_of_squares() const;

  int64_t cols_;
  std::vector<uint64_t> counts_;  // of each fp16 pattern: all that one scale or one table needs to know
  std::vector<uint16_t> row_scales_;
  double row_error_ = 0;  // Σ(stored − w)² with a scale a row
};

// Codes of a matrix as its record holds them: least significant bit first, across bytes.
class WeightEncoder {
 public:
  WeightEncoder(const WeightCode& code, int64_t cols);

  // The next whole rows. Appends the bytes that are complete.
  void encode(std::span<const uint16_t> halves, std::vector<std::byte>& bytes);

 private:
  const WeightCode& code_;
  int64_t cols_, row_ = 0;
  std::vector<uint8_t> nearest_;  // by fp16 pattern: its table entry
  uint32_t pending_ = 0;
  int pending_bits_ = 0;
};

}  // namespace anedvd
