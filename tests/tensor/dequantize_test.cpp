// Every dequantiser against blocks and answers that tools/make_quant_fixtures.py took from the Python package `gguf`.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tensor/dtype.h"

namespace anedvd {
namespace {

// NAME.bin, laid out as the script says.
struct Header {
  uint32_t number = 0, values = 0, block_bytes = 0, blocks = 0, full = 0;
};

struct Fixture : Header {
  std::vector<std::byte> raw;
  std::vector<uint32_t> answers;  // [full, values], bits
  std::vector<uint64_t> digests;  // [blocks]
};

template <class T>
void take(const std::vector<char>& file, size_t& at, std::vector<T>& into, size_t count) {
  ASSERT_LE(at + count * sizeof(T), file.size());
  into.resize(count);
  std::memcpy(into.data(), file.data() + at, count * sizeof(T));
  at += count * sizeof(T);
}

void read_fixture(const std::string& name, Fixture& fixture) {
  const char* other = std::getenv("ANEDVD_QUANT_FIXTURES");
  const std::string path = (other ? std::string(other) : ANEDVD_TEST_DATA "/quant") + "/" + name + ".bin";
  std::ifstream stream(path, std::ios::binary);
  const std::vector<char> file{std::istreambuf_iterator<char>(stream), {}};
  ASSERT_GE(file.size(), 24u) << path;
  ASSERT_EQ(std::memcmp(file.data(), "AQD1", 4), 0) << path;
  std::memcpy(static_cast<Header*>(&fixture), file.data() + 4, sizeof(Header));
  size_t at = 24;
  take(file, at, fixture.raw, size_t(fixture.blocks) * fixture.block_bytes);
  take(file, at, fixture.answers, size_t(fixture.full) * fixture.values);
  take(file, at, fixture.digests, fixture.blocks);
  ASSERT_EQ(at, file.size()) << path;
}

// The bits of a float, every NaN the same.
uint32_t canonical_bits(float value) { return std::isnan(value) ? 0x7fc00000u : std::bit_cast<uint32_t>(value); }

uint64_t digest(const float* values, uint32_t count) {
  uint64_t state = 0xcbf29ce484222325u;
  for (uint32_t i = 0; i < count; ++i) state = (state ^ canonical_bits(values[i])) * 0x100000001b3u;
  return state;
}

class Dequantize : public testing::TestWithParam<QuantFormat> {};

TEST_P(Dequantize, EqualsTheReferenceBitForBit) {
  const QuantFormat& format = GetParam();
  Fixture fixture;
  ASSERT_NO_FATAL_FAILURE(read_fixture(std::string(format.name), fixture));
  ASSERT_EQ(fixture.number, uint32_t(format.dtype));
  ASSERT_EQ(fixture.values, uint32_t(format.block_elements));
  ASSERT_EQ(fixture.block_bytes, uint32_t(format.block_bytes));

  std::vector<float> got(size_t(fixture.blocks) * fixture.values);
  format.dequantize(fixture.raw.data(), fixture.blocks, got.data());
  for (size_t i = 0; i < fixture.answers.size(); ++i) {
    ASSERT_EQ(canonical_bits(got[i]), fixture.answers[i])
        << format.name << " block " << i / fixture.values << " index " << i % fixture.values << ": got " << got[i]
        << ", want " << std::bit_cast<float>(fixture.answers[i]);
  }
  for (uint32_t b = 0; b < fixture.blocks; ++b) {
    ASSERT_EQ(digest(&got[size_t(b) * fixture.values], fixture.values), fixture.digests[b])
        << format.name << " block " << b << " (only its digest is stored; --full makes a fixture that tells the index)";
  }
}

// Files may put a tensor at an odd address; a block read from there means the same.
TEST_P(Dequantize, NeedsNoAlignment) {
  const QuantFormat& format = GetParam();
  Fixture fixture;
  ASSERT_NO_FATAL_FAILURE(read_fixture(std::string(format.name), fixture));
  std::vector<std::byte> shifted(fixture.raw.size() + 1);
  std::ranges::copy(fixture.raw, shifted.begin() + 1);
  std::vector<float> got(size_t(fixture.blocks) * fixture.values);
  format.dequantize(shifted.data() + 1, fixture.blocks, got.data());
  for (uint32_t b = 0; b < fixture.blocks; ++b) {
    ASSERT_EQ(digest(&got[size_t(b) * fixture.values], fixture.values), fixture.digests[b])
        << format.name << " block " << b;
  }
}

TEST_P(Dequantize, OfNoBlocksWritesNothing) {
  float untouched = 42;
  GetParam().dequantize(nullptr, 0, &untouched);
  EXPECT_EQ(untouched, 42);
}

INSTANTIATE_TEST_SUITE_P(Types, Dequantize, testing::ValuesIn(all_formats().begin(), all_formats().end()),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace anedvd
