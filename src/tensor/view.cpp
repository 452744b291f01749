#include "tensor/view.h"

#include <fmt/core.h>

#include "base/result.h"

namespace anedvd {

int64_t TensorView::rows() const {
  int64_t product = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) product *= shape[i];
  return product;
}

int64_t TensorView::row_bytes() const {
  const QuantFormat& format = format_of(dtype);
  return cols() / format.block_elements * format.block_bytes;
}

std::span<const std::byte> TensorView::row(int64_t first, int64_t count) const {
  return bytes.subspan(size_t(first * row_bytes()), size_t(count * row_bytes()));
}

std::string shape_words(const Shape& shape) {
  std::string words = "[";
  for (size_t i = 0; i < shape.size(); ++i) words += fmt::format("{}{}", i == 0 ? "" : ", ", shape[i]);
  return words + "]";
}

void dequantize(const TensorView& tensor, int64_t first_row, int64_t rows, std::span<float> out) {
  const QuantFormat& format = format_of(tensor.dtype);
  ANEDVD_CHECK(int64_t(out.size()) == rows * tensor.cols(), "{} floats for {} rows of {}", out.size(), rows,
               tensor.cols());
  format.dequantize(tensor.row(first_row, rows).data(), rows * tensor.cols() / format.block_elements, out.data());
}

}  // namespace anedvd
