#include "tensor/view.h"

#include <cstring>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace anedvd {
namespace {

TensorView view_of(DType dtype, Shape shape, std::span<const std::byte> bytes = {}) {
  return TensorView{.name = "t", .dtype = dtype, .shape = std::move(shape), .bytes = bytes};
}

TEST(TensorView, CountsRowsOverAllLeadingDimensions) {
  const struct {
    Shape shape;
    int64_t rows, cols, elements;
  } cases[] = {
      {{7}, 1, 7, 7}, {{3, 5}, 3, 5, 15}, {{2, 3, 5}, 6, 5, 30}, {{4, 2, 3, 5}, 24, 5, 120}, {{1, 1, 1, 1}, 1, 1, 1},
  };
  for (const auto& c : cases) {
    const TensorView view = view_of(DType::kF32, c.shape);
    EXPECT_EQ(view.rows(), c.rows) << shape_words(c.shape);
    EXPECT_EQ(view.cols(), c.cols) << shape_words(c.shape);
    EXPECT_EQ(view.elements(), c.elements) << shape_words(c.shape);
  }
}

TEST(TensorView, RowBytesAreWholeBlocks) {
  EXPECT_EQ(view_of(DType::kF32, {2, 5}).row_bytes(), 20);
  EXPECT_EQ(view_of(DType::kQ4_0, {2, 96}).row_bytes(), 54);
  EXPECT_EQ(view_of(DType::kQ6_K, {2, 512}).row_bytes(), 420);
  // A vocabulary matrix beyond 2^31 elements.
  EXPECT_EQ(view_of(DType::kQ4_K, {262144, 16384}).elements(), int64_t(1) << 32);
  EXPECT_EQ(view_of(DType::kQ4_K, {262144, int64_t(1) << 40}).row_bytes(), (int64_t(1) << 32) * 144);
}

TEST(TensorView, RowsAreConsecutiveBytes) {
  std::vector<std::byte> bytes(3 * 34);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(i);
  const TensorView view = view_of(DType::kQ8_0, {3, 32}, bytes);
  EXPECT_EQ(view.row(1).size(), 34u);
  EXPECT_EQ(view.row(1).data(), bytes.data() + 34);
  EXPECT_EQ(view.row(1, 2).size(), 68u);
  EXPECT_EQ(view.row(3, 0).size(), 0u);
}

TEST(TensorView, DequantizesOnlyTheRowsAskedFor) {
  std::vector<float> values(4 * 3);
  std::iota(values.begin(), values.end(), 0.0f);
  const TensorView view = view_of(DType::kF32, {2, 2, 3}, std::as_bytes(std::span(values)));
  std::vector<float> out(6);
  dequantize(view, 1, 2, out);
  EXPECT_EQ(out, (std::vector<float>{3, 4, 5, 6, 7, 8}));
}

// Row 2 of a Q8_0 matrix: scale 0.5 (0x3800), codes 0 … 31.
TEST(TensorView, DequantizesARowOfBlocks) {
  std::vector<std::byte> bytes(3 * 34);
  bytes[2 * 34 + 1] = std::byte{0x38};
  for (size_t i = 0; i < 32; ++i) bytes[2 * 34 + 2 + i] = std::byte(i);
  std::vector<float> out(32);
  dequantize(view_of(DType::kQ8_0, {3, 32}, bytes), 2, 1, out);
  for (size_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], float(i) / 2) << i;
}

TEST(TensorViewDeathTest, AWrongOutputSizeAborts) {
  const std::vector<std::byte> bytes(16);
  std::vector<float> out(5);
  EXPECT_DEATH(dequantize(view_of(DType::kF32, {2, 2}, bytes), 0, 2, out), "5 floats for 2 rows of 2");
}

TEST(TensorView, ShapeInWords) {
  EXPECT_EQ(shape_words({2048, 1024}), "[2048, 1024]");
  EXPECT_EQ(shape_words({7}), "[7]");
}

}  // namespace
}  // namespace anedvd
