// The K quantisers against the blocks that ggml's reference chooses (tools/quant/make_k_quant_fixtures.py): as near to the floats, or nearer.
#include "tensor/quantize_k.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tensor/quantize.h"

namespace anedvd {
namespace {

constexpr DType kTypes[] = {DType::kQ4_K, DType::kQ5_K, DType::kQ6_K};

std::vector<float> read_back(DType dtype, const std::vector<std::byte>& blocks) {
  const QuantFormat& format = format_of(dtype);
  const size_t count = blocks.size() / size_t(format.block_bytes);
  std::vector<float> values(count * size_t(format.block_elements));
  format.dequantize(blocks.data(), int64_t(count), values.data());
  return values;
}

std::vector<float> round_trip(DType dtype, const std::vector<float>& values) {
  std::vector<std::byte> blocks(values.size() / 256 * size_t(format_of(dtype).block_bytes));
  const auto done = quantize_row(dtype, values, blocks.data());
  EXPECT_TRUE(done) << (done ? "" : done.error().message);
  return read_back(dtype, blocks);
}

// Mean square of the differences over the mean square of the values, in one block.
double relative_error(const float* values, const float* back) {
  double error = 0, power = 0;
  for (int i = 0; i < 256; ++i) {
    error += (double(back[i]) - values[i]) * (double(back[i]) - values[i]);
    power += double(values[i]) * values[i];
  }
  return error / power;
}

TEST(QuantizeK, IsAsNearToTheValuesAsTheReference) {
  std::ifstream stream(ANEDVD_TEST_DATA "/quant/quantize_k.bin", std::ios::binary);
  const std::string file{std::istreambuf_iterator<char>(stream), {}};
  ASSERT_GE(file.size(), 12u);
  ASSERT_EQ(file.substr(0, 4), "AQK1");
  const auto u32_at = [&](size_t at) {
    uint32_t value = 0;
    std::memcpy(&value, file.data() + at, sizeof value);
    return value;
  };
  std::vector<float> values(u32_at(4));
  size_t at = 12 + values.size() * sizeof(float);
  std::memcpy(values.data(), file.data() + 12, values.size() * sizeof(float));
  for (uint32_t left = u32_at(8); left > 0; --left) {
    const auto dtype = DType(u32_at(at));
    std::vector<std::byte> theirs(u32_at(at + 4));
    ASSERT_LE(at + 8 + theirs.size(), file.size());
    std::memcpy(theirs.data(), file.data() + at + 8, theirs.size());
    at += 8 + theirs.size();
    const std::vector<float> ours = round_trip(dtype, values), reference = read_back(dtype, theirs);
    double sum_ours = 0, sum_theirs = 0;
    for (size_t block = 0; block < values.size() / 256; ++block) {
      const double error = relative_error(&values[block * 256], &ours[block * 256]);
      const double reference_error = relative_error(&values[block * 256], &reference[block * 256]);
      // Both minimise a weighted error, so that single blocks may be a little worse by the plain one.
      EXPECT_LE(error, 1.1 * reference_error + 1e-7) << format_of(dtype).name << " block " << block;
      sum_ours += error;
      sum_theirs += reference_error;
    }
    EXPECT_LE(sum_ours, 1.02 * sum_theirs) << format_of(dtype).name;
  }
  EXPECT_EQ(at, file.size());
}

TEST(QuantizeK, KeepsZerosAndWhatItCanHoldExactly) {
  for (const DType dtype : kTypes) {
    for (const float value : round_trip(dtype, std::vector<float>(256))) EXPECT_EQ(value, 0);
    // Whole multiples of one step: every value is a code; scales are rounded, so that they come back within a quarter of a step.
    const int levels = dtype == DType::kQ4_K ? 16 : dtype == DType::kQ5_K ? 32 : 64;
    std::vector<float> values(256);
    for (int i = 0; i < 256; ++i) values[size_t(i)] = float(i % levels - levels / 2) * 0.125f;
    const auto back = round_trip(dtype, values);
    for (size_t i = 0; i < 256; ++i) EXPECT_NEAR(back[i], values[i], 0.125 / 4) << format_of(dtype).name << " " << i;
  }
}

TEST(QuantizeK, TinyAndVaryingBlocksStayFinite) {
  for (const DType dtype : kTypes) {
    for (const float unit : {std::numeric_limits<float>::denorm_min(), 1e-30f, 1e-12f, 1e-6f, 1e3f}) {
      std::vector<float> values(256);
      for (size_t i = 0; i < 256; ++i) values[i] = unit * std::sin(float(i));
      for (const float value : round_trip(dtype, values)) {
        EXPECT_TRUE(std::isfinite(value));
        EXPECT_LE(std::fabs(value), 2 * unit);
      }
    }
  }
}

TEST(QuantizeK, RefusesWhatABlockCannotHold) {
  for (const DType dtype : kTypes) {
    std::vector<std::byte> block(size_t(format_of(dtype).block_bytes));
    std::vector<float> values(256, 1.0f);
    values[200] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(quantize_row(dtype, values, block.data()).error().message.rfind("value 200 is ", 0), 0u);
    for (const float large : {3e9f, std::numeric_limits<float>::max()}) {
      values[200] = -large;
      const auto result = quantize_row(dtype, values, block.data());
      ASSERT_FALSE(result) << format_of(dtype).name << " " << large;
      EXPECT_EQ(result.error().code, ErrorCode::kNumeric);
    }
    EXPECT_EQ(quantize_row(dtype, std::vector<float>(128), block.data()).error().code, ErrorCode::kUsage);
  }
}

}  // namespace
}  // namespace anedvd
