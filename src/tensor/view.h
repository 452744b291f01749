// A borrowed tensor: type, shape and bytes that live as long as the file they are mapped from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensor/dtype.h"

namespace anedvd {

// Row-major; the last dimension is contiguous. A matrix is [rows, cols] = [outputs, inputs]. (GGUF's `ne` lists them the other way round.)
using Shape = std::vector<int64_t>;  // 1 to 4 entries, each ≥ 1

struct TensorView {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  std::span<const std::byte> bytes;

  int64_t cols() const { return shape.back(); }
  int64_t rows() const;  // product of all dimensions but the last
  int64_t elements() const { return rows() * cols(); }
  int64_t row_bytes() const;  // cols is a whole number of blocks (checked when the file was opened)
  std::span<const std::byte> row(int64_t first, int64_t count = 1) const;
};

// "[2048, 1024]".
std::string shape_words(const Shape& shape);

// Rows first … first + rows − 1 as floats: the scalar truth that every kernel is tested against. out.size() = rows × cols.
void dequantize(const TensorView& tensor, int64_t first_row, int64_t rows, std::span<float> out);

}  // namespace anedvd
