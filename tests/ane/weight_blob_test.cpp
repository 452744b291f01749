#include "ane/weight_blob.h"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "base/half.h"
#include "base/mapped_file.h"
#include "base/sha256.h"

namespace anedvd {
namespace {

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(std::byte(value));
  return bytes;
}

struct Written {
  WeightFile file;
  std::vector<uint64_t> offsets;
  std::vector<std::byte> bytes;
};

Written write(const std::vector<std::pair<BlobType, std::vector<std::byte>>>& records,
              const std::vector<uint64_t>& elements) {
  auto writer = WeightFileWriter::create(testing::TempDir(), uint32_t(records.size()));
  EXPECT_TRUE(writer) << writer.error().message;
  Written written;
  for (size_t i = 0; i < records.size(); ++i) {
    written.offsets.push_back(*writer->begin(records[i].first, elements[i]));
    EXPECT_TRUE(writer->append(records[i].second));
  }
  written.file = *writer->finish();
  const auto map = MappedFile::open(written.file.path());
  written.bytes.assign(map->bytes().begin(), map->bytes().end());
  return written;
}

template <class T>
T number_at(const std::vector<std::byte>& bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

TEST(WeightBlob, HeadersHoldWhatTheFormatSays) {
  const auto written =
      write({{BlobType::kFp16, bytes_of({1, 2, 3, 4, 5, 6})}, {BlobType::kInt8, bytes_of({7, 8, 9})}}, {3, 3});
  EXPECT_EQ(written.offsets, (std::vector<uint64_t>{64, 192}));
  EXPECT_EQ(number_at<uint32_t>(written.bytes, 0), 2u);  // records
  EXPECT_EQ(number_at<uint32_t>(written.bytes, 4), 2u);  // version
  EXPECT_EQ(number_at<uint32_t>(written.bytes, 64), 0xDEADBEEFu);
  EXPECT_EQ(number_at<uint32_t>(written.bytes, 68), 1u);
  EXPECT_EQ(number_at<uint64_t>(written.bytes, 72), 6u);
  EXPECT_EQ(number_at<uint64_t>(written.bytes, 80), 128u);
  EXPECT_EQ(number_at<uint32_t>(written.bytes, 192 + 4), 4u);  // int8, not "version 1"
  EXPECT_EQ(number_at<uint64_t>(written.bytes, 192 + 16), 256u);
  EXPECT_EQ(written.bytes.size(), 259u);
}

TEST(WeightBlob, EveryRecordHoldsItsOwnPayload) {
  const auto written = write({{BlobType::kFp16, bytes_of({1, 2})}, {BlobType::kFp16, bytes_of({3, 4})}}, {1, 1});
  for (size_t i = 0; i < 2; ++i) {
    const auto record = read_blob_record(written.bytes, written.offsets[i]);
    ASSERT_TRUE(record) << record.error().message;
    EXPECT_EQ(record->elements, 1u);
    EXPECT_EQ(record->payload[0], std::byte(2 * i + 1));
  }
}

// coremltools' own writer: uint3 1,2,3,4,5,6,7,0,1 is D1 58 1F 01, with 5 bits unused.
TEST(WeightBlob, UnusedBitsOfSmallTypesAreCounted) {
  const auto written = write({{BlobType::kUint3, bytes_of({0xd1, 0x58, 0x1f, 0x01})}}, {9});
  EXPECT_EQ(number_at<uint64_t>(written.bytes, 64 + 24), 5u);
  EXPECT_EQ(read_blob_record(written.bytes, 64)->elements, 9u);
}

TEST(WeightBlob, TheDigestIsThatOfTheFile) {
  const auto written = write({{BlobType::kFp16, std::vector<std::byte>(2 << 20)}}, {1 << 20});
  std::string hex;
  for (const std::byte byte : written.file.digest()) hex += fmt::format("{:02x}", int(byte));
  EXPECT_EQ(hex, sha256_of(written.bytes));
  EXPECT_EQ(written.file.bytes(), written.bytes.size());
}

TEST(WeightBlob, TheFileGoesWithItsOwner) {
  std::filesystem::path path;
  {
    const auto written = write({{BlobType::kFp16, bytes_of({1, 2})}}, {1});
    path = written.file.path();
    EXPECT_EQ(std::filesystem::status(path).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(WeightBlob, RecordsThatAreNoneAreRefused) {
  const auto good = write({{BlobType::kFp16, bytes_of({1, 2, 3, 4})}}, {2}).bytes;
  struct Case {
    const char* name;
    size_t at;
    uint8_t value;
    uint64_t offset;
  };
  for (const Case& c :
       {Case{"version", 4, 3, 64}, Case{"sentinel", 64, 0, 64}, Case{"type", 68, 99, 64}, Case{"size", 74, 1, 64},
        Case{"place", 81, 255, 64}, Case{"padding", 88, 8, 64}, Case{"offset 0", 0, 1, 0},
        Case{"offset 128", 0, 1, 128}, Case{"odd offset", 0, 1, 65}, Case{"far", 0, 1, 1ull << 62}}) {
    auto bytes = good;
    bytes[c.at] = std::byte(c.value);
    EXPECT_FALSE(read_blob_record(bytes, c.offset)) << c.name;
  }
  EXPECT_FALSE(read_blob_record(std::span(good).first(100), 64));
  EXPECT_TRUE(read_blob_record(good, 64));
}

TEST(WeightHalves, AreClampedAndNeverNaN) {
  const float values[] = {1e6f, -1e6f, HUGE_VALF, 0.1f};
  uint16_t halves[4];
  ASSERT_TRUE(to_weight_halves(values, halves));
  EXPECT_EQ(half_to_float(halves[0]), 65504);
  EXPECT_EQ(half_to_float(halves[1]), -65504);
  EXPECT_EQ(half_to_float(halves[2]), 65504);
  EXPECT_EQ(halves[3], float_to_half(0.1f));
  const float none[] = {NAN};
  const auto refused = to_weight_halves(none, std::span(halves).first(1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNumeric);
}

}  // namespace
}  // namespace anedvd
