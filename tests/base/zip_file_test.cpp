#include "base/zip_file.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

#include "base/mapped_file.h"
#include "base/sha256.h"

namespace anedvd {
namespace {

MappedFile fixture() {
  auto file = MappedFile::open(ANEDVD_TEST_DATA "/zip/mixed.zip");
  EXPECT_TRUE(file) << file.error().message;
  return std::move(*file);
}

Result<std::string> digest_of(const ZipMember& member) {
  Sha256 sum;
  uint64_t size = 0;
  ANEDVD_TRY_VOID(unpack(member, [&](std::span<const std::byte> bytes) -> Result<> {
    sum.add(bytes);
    size += bytes.size();
    return {};
  }));
  EXPECT_EQ(size, member.size) << member.name;
  return sum.finish();
}

// tools/make_zip_fixtures.py packs with Python's zlib at every strategy and names each member after its digest.
TEST(ZipFile, UnpacksWhatZlibPacked) {
  const MappedFile file = fixture();
  const auto members = read_zip(file.bytes());
  ASSERT_TRUE(members) << members.error().message;
  EXPECT_GT(members->size(), 50u);
  for (const ZipMember& member : *members) {
    const auto digest = digest_of(member);
    ASSERT_TRUE(digest) << member.name << " " << digest.error().message;
    EXPECT_EQ(*digest, member.name.substr(0, 64)) << member.name;
  }
}

TEST(ZipFile, RefusesEveryArchiveThatWasCutShort) {
  const MappedFile file = fixture();
  const auto whole = file.bytes();
  for (size_t size = 0; size < whole.size(); size += size < 100 || size + 400 > whole.size() ? 1 : 97)
    EXPECT_FALSE(read_zip(whole.first(size))) << size;
}

TEST(Inflate, RefusesAStreamCutShortAndOneThatUnpacksToMore) {
  const MappedFile file = fixture();
  const auto members = read_zip(file.bytes());
  ASSERT_TRUE(members);
  const ByteSink ignore = [](std::span<const std::byte>) -> Result<> { return {}; };
  for (const ZipMember& member : *members) {
    if (!member.is_deflated || member.size == 0) continue;
    const auto more = inflate(member.packed, member.size - 1, ignore);
    ASSERT_FALSE(more) << member.name;
    EXPECT_EQ(more.error().code, ErrorCode::kBadFile);
    for (size_t size = 0; size < member.packed.size(); size += 1 + member.packed.size() / 50)
      EXPECT_FALSE(inflate(member.packed.first(size), member.size, ignore)) << member.name << " to " << size;
  }
}

// Damage gives an error or other bytes, never a crash (run with the sanitizers) and never more than declared.
TEST(Inflate, SurvivesDamage) {
  const MappedFile file = fixture();
  const auto members = read_zip(file.bytes());
  ASSERT_TRUE(members);
  std::mt19937 rng(4);
  for (const ZipMember& member : *members) {
    if (!member.is_deflated || member.packed.size() < 4) continue;
    for (int round = 0; round < 20; ++round) {
      std::vector<std::byte> bytes(member.packed.begin(), member.packed.end());
      for (int i = 0; i < 3; ++i) bytes[rng() % bytes.size()] ^= std::byte(1u << rng() % 8);
      uint64_t unpacked = 0;
      (void)inflate(bytes, member.size, [&](std::span<const std::byte> piece) -> Result<> {
        unpacked += piece.size();
        return {};
      });
      EXPECT_LE(unpacked, member.size);
    }
  }
}

TEST(Inflate, HandsOnTheErrorOfItsSink) {
  const MappedFile file = fixture();
  const auto members = read_zip(file.bytes());
  ASSERT_TRUE(members);
  const auto result = unpack((*members)[8], [](std::span<const std::byte>) -> Result<> {
    return fail(ErrorCode::kIo, "disk: full; free some");
  });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "disk: full; free some");
}

}  // namespace
}  // namespace anedvd
