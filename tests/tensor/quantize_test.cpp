// quantize_row against bytes that tools/make_quant_fixtures.py took from the Python package `gguf`.
#include "tensor/quantize.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace anedvd {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::vector<char> read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

uint32_t u32_at(const std::vector<char>& file, size_t at) {
  uint32_t value = 0;
  if (at + sizeof value <= file.size()) std::memcpy(&value, &file[at], sizeof value);
  return value;
}

TEST(Quantize, EqualsTheReferenceByteForByte) {
  const auto file = read_file(ANEDVD_TEST_DATA "/quant/quantize.bin");
  ASSERT_GE(file.size(), 12u);
  ASSERT_EQ(std::memcmp(file.data(), "AQQ1", 4), 0);
  std::vector<float> values(u32_at(file, 4));
  size_t at = 12;
  ASSERT_LE(at + values.size() * sizeof(float), file.size());
  std::memcpy(values.data(), &file[at], values.size() * sizeof(float));
  at += values.size() * sizeof(float);

  for (uint32_t left = u32_at(file, 8); left > 0; --left) {
    const auto dtype = dtype_from_number(u32_at(file, at));
    ASSERT_TRUE(dtype);
    const QuantFormat& format = format_of(*dtype);
    const size_t bytes = u32_at(file, at + 4);
    at += 8;
    ASSERT_LE(at + bytes, file.size());
    ASSERT_EQ(bytes, values.size() / size_t(format.block_elements) * size_t(format.block_bytes)) << format.name;
    std::vector<std::byte> got(bytes);
    ASSERT_TRUE(quantize_row(*dtype, values, got.data())) << format.name;
    for (size_t i = 0; i < bytes; ++i, ++at) {
      ASSERT_EQ(uint8_t(got[i]), uint8_t(file[at]))
          << format.name << " block " << i / size_t(format.block_bytes) << " byte " << i % size_t(format.block_bytes);
    }
  }
  EXPECT_EQ(at, file.size());
}

// A value that a block can hold exactly survives; others move by at most one step of the block's scale.
TEST(Quantize, ReadsBackWithinOneStep) {
  const struct {
    DType dtype;
    float levels;  // over the range −1 … 1
  } cases[] = {{DType::kQ4_0, 16}, {DType::kQ4_1, 15}, {DType::kQ5_0, 32}, {DType::kQ5_1, 31}, {DType::kQ8_0, 254}};
  std::vector<float> values(64);
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(float(i)) * 0.999f;
  for (const auto& c : cases) {
    const QuantFormat& format = format_of(c.dtype);
    std::vector<std::byte> blocks(2 * size_t(format.block_bytes));
    ASSERT_TRUE(quantize_row(c.dtype, values, blocks.data()));
    std::vector<float> back(values.size());
    format.dequantize(blocks.data(), 2, back.data());
    for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(back[i], values[i], 2 / c.levels) << format.name << " " << i;
  }
}

// Scales below the smallest half become zero; the inverse of some of them is infinite and must not reach a cast.
TEST(Quantize, TinyBlocksBecomeZeros) {
  const std::vector<float> zeros(32);
  std::vector<float> values(32);
  for (size_t i = 0; i < 32; ++i) values[i] = (float(i) - 16) * std::numeric_limits<float>::denorm_min();
  for (const DType dtype : {DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1, DType::kQ8_0}) {
    const QuantFormat& format = format_of(dtype);
    std::vector<std::byte> block(size_t(format.block_bytes));
    std::vector<std::byte> zero_block(block.size());
    ASSERT_TRUE(quantize_row(dtype, values, block.data())) << format.name;
    ASSERT_TRUE(quantize_row(dtype, zeros, zero_block.data())) << format.name;
    for (size_t i = 4; i < block.size(); ++i) EXPECT_EQ(block[i], zero_block[i]) << format.name << " byte " << i;
    std::vector<float> back(32, 1.0f);
    format.dequantize(block.data(), 1, back.data());
    for (const float value : back) EXPECT_EQ(value, 0) << format.name;
  }
}

TEST(Quantize, RefusesWhatABlockCannotHold) {
  for (const DType dtype : {DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1, DType::kQ8_0}) {
    const QuantFormat& format = format_of(dtype);
    for (const float odd : {kNaN, kInfinity, -kInfinity}) {
      std::vector<float> values(64, 1.0f);
      values[37] = odd;
      std::vector<std::byte> blocks(2 * size_t(format.block_bytes));
      const auto result = quantize_row(dtype, values, blocks.data());
      ASSERT_FALSE(result) << format.name << " " << odd;
      EXPECT_EQ(result.error().code, ErrorCode::kNumeric);
      EXPECT_EQ(result.error().message.rfind("value 37 is ", 0), 0u) << result.error().message;
    }
    // Extremes of float: the difference overflows, and every scale is beyond a half.
    std::vector<float> values(32, std::numeric_limits<float>::max());
    values[1] = -std::numeric_limits<float>::max();
    std::vector<std::byte> block(size_t(format.block_bytes));
    const auto result = quantize_row(dtype, values, block.data());
    ASSERT_FALSE(result) << format.name;
    EXPECT_EQ(result.error().message, "values 0 to 31 are too large for " + std::string(format.name) + "; choose BF16");
  }
}

TEST(Quantize, RefusesPartsOfABlockAndTypesItDoesNotWrite) {
  const std::vector<float> values(33);
  std::vector<std::byte> blocks(1024);
  const auto part = quantize_row(DType::kQ8_0, values, blocks.data());
  ASSERT_FALSE(part);
  EXPECT_EQ(part.error().code, ErrorCode::kUsage);
  const auto unsupported = quantize_row(DType::kIQ2_XS, values, blocks.data());
  ASSERT_FALSE(unsupported);
  EXPECT_EQ(unsupported.error().code, ErrorCode::kUnsupported);
  EXPECT_FALSE(can_quantize(DType::kIQ2_XS));
  EXPECT_TRUE(can_quantize(DType::kQ5_1));
}

TEST(Quantize, PlainTypesKeepWhatIsNotFinite) {
  const std::vector<float> values = {kInfinity, -kInfinity, kNaN, -0.0f, 1e-45f};
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    std::vector<std::byte> bytes(values.size() * size_t(format_of(dtype).block_bytes));
    ASSERT_TRUE(quantize_row(dtype, values, bytes.data()));
    std::vector<float> back(values.size());
    format_of(dtype).dequantize(bytes.data(), int64_t(values.size()), back.data());
    EXPECT_EQ(back[0], kInfinity);
    EXPECT_EQ(back[1], -kInfinity);
    EXPECT_TRUE(std::isnan(back[2]));
    EXPECT_TRUE(std::signbit(back[3]));
  }
}

}  // namespace
}  // namespace anedvd
