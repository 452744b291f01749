// The syntax of MIL in the two dialects that the compilers of different chips take. Knows types, constants and statements, no models.
//
//   terse      program(1.3), ios18:  fp16 c = const()[name = string("c"), val = fp16(0x1p-1)];
//   verbose    program(1.0), ios16:  tensor<fp16, []> c = const()[name = tensor<string, []>("c"), val = tensor<fp16, []>(0x1p-1)];
//
// Every operand is a named value and every label is unique in its function: that is what all known compilers accept (docs/ane.md#mil-text).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ane/model_attributes.h"

namespace anedvd {

enum class MilDialect { kTerse, kVerbose };
std::string_view dialect_name(MilDialect dialect);

// "tensor<fp16, [96, 64, 1, 1]>"
std::string tensor_type(std::span<const int64_t> shape, std::string_view element = "fp16");

// An argument and the value's name; several names make a tuple.
using Argument = std::pair<std::string_view, std::string>;

// Writes one function, statement by statement.
class MilFunction {
 public:
  MilFunction(MilDialect dialect, int64_t width) : dialect_(dialect), width_(width) {}

  // Constants. Each returns the value's name; scalars and strings are written once a function.
  std::string half(float value);  // exactly representable in fp16 (checked)
  std::string int32(int value);
  std::string boolean(bool value);
  std::string string(std::string_view value);
  std::string int32s(std::span<const int> values);

  // tensor<fp16, shape> from the weight file's record at `offset`; of another element type for operands of what follows.
  std::string weight(std::span<const int64_t> shape, uint64_t offset, std::string_view element = "fp16");

  // Dense fp16 weights that the chip expands from fewer bits (docs/ane.md#compressed-weights). The terse dialect only: nobody reports the
  // verbose one with them. Records at the offsets: signed bytes; codes of `bits` bits and fp16 numbers.
  // `scale` as an operand's text: one number, or a record of one a row. `scale_shape`: of the data's rank, each extent dividing the data's.
  // `groups`: tables, each of as many rows.
  std::string affine_weight(std::span<const int64_t> shape, uint64_t offset, float scale);
  std::string affine_weight(std::span<const int64_t> shape, uint64_t offset, const std::string& scale);
  std::string scaled_weight(std::span<const int64_t> shape, std::string_view element, uint64_t offset,
                            std::span<const int64_t> scale_shape, uint64_t scale_offset);
  std::string row_scaled_weight(std::span<const int64_t> shape, uint64_t offset, uint64_t scale_offset);
  std::string table_weight(std::span<const int64_t> shape, int bits, uint64_t offset, uint64_t table_offset,
                           int groups = 1);

  // type name = call[name = "name", attributes]: any other statement, written as it stands. Returns the name.
  std::string raw(std::string_view type, std::string_view call, std::string_view attributes = {},
                  std::string name = {});

  // type(BLOBFILE(…)): a record of the weight file as an operand.
  std::string blob(std::string_view type, uint64_t offset) const;

  // [1, channels, 1, width] = op(arguments); `columns` < 0: the function's width. Returns the value's name: `name` or a fresh one.
  std::string statement(std::string_view op, std::span<const Argument> arguments, int64_t channels,
                        std::string name = {}, int64_t columns = -1);

  // weight · x as a plain 1×1 convolution.
  std::string conv(const std::string& weight, const std::string& x, int64_t rows, std::string name = {});

  // The whole program text with this as its only function, "main".
  std::string program(std::span<const DeclaredTensor> inputs, std::span<const std::string> outputs) const;

  // This function alone, under another name, for a program of several.
  std::string function(std::string_view name, std::span<const DeclaredTensor> inputs,
                       std::span<const std::string> outputs) const;

 private:
  std::string fresh() { return "v" + std::to_string(next_++); }
  std::string scalar_type(std::string_view type) const;
  std::string literal(std::string_view type, std::string_view value) const;
  std::string constant(std::string_view type, std::string_view value);

  MilDialect dialect_;
  int64_t width_;
  int next_ = 0;
  std::string body_;
  std::vector<std::pair<std::string, std::string>> constants_;  // text after the name → name
};

// A program of these functions.
std::string mil_program(MilDialect dialect, std::span<const std::string> functions);

}  // namespace anedvd
