// The file that a program reads its weights from.
//
//   [file header 64][record header 64][payload][zeros to 64][record header 64][payload]…
//
// A MIL offset names the record's header, not its payload: 64 for the first record. Every header holds its own payload's place in the file; a
// constant 128 there makes every tensor read the first one's data without an error (docs/ane.md#weight-file).
//
// The writer streams: it hashes and forgets what it is given. The reader looks at a mapped file and trusts nothing in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "ane/driver.h"
#include "base/result.h"

namespace anedvd {

// Numbers are coremltools' (MILBlob StorageFormat.hpp, BlobDataType).
enum class BlobType : uint32_t {
  kFp16 = 1,
  kFp32 = 2,
  kUint8 = 3,
  kInt8 = 4,
  kBf16 = 5,
  kInt16 = 6,
  kUint16 = 7,
  kInt4 = 8,
  kUint1 = 9,
  kUint2 = 10,
  kUint4 = 11,
  kUint3 = 12,
  kUint6 = 13,
  kInt32 = 14,
  kUint32 = 15,
  kFp8E4m3 = 16,
  kFp8E5m2 = 17,
};
constexpr uint32_t kLastBlobType = 17;

// Bits of one element.
int bits_of(BlobType type);

constexpr uint64_t kBlobAlignment = 64;

// Where the next record's header starts after a payload that ends at `end`.
constexpr uint64_t next_record(uint64_t end) { return (end + kBlobAlignment - 1) / kBlobAlignment * kBlobAlignment; }

// One writer a file.
class WeightFileWriter {
 public:
  // A new file in `folder` that only its owner may read, for exactly `records` records. Error: kIo.
  static Result<WeightFileWriter> create(const std::filesystem::path& folder, uint32_t records);

  WeightFileWriter(WeightFileWriter&&) noexcept;
  WeightFileWriter& operator=(WeightFileWriter&&) noexcept;
  ~WeightFileWriter();  // removes the file unless finish() handed it over

  // Starts a record of `elements` elements and returns its MIL offset. The one before must be complete.
  Result<uint64_t> begin(BlobType type, uint64_t elements);

  // More of the record's payload; the parts add up to exactly what begin() announced.
  Result<> append(std::span<const std::byte> bytes);

  // All records are complete. The file with its digest.
  Result<WeightFile> finish();

 private:
  struct State;
  explicit WeightFileWriter(std::unique_ptr<State> state);
  Result<> put(std::span<const std::byte> bytes);

  std::unique_ptr<State> state_;
};

struct BlobRecord {
  BlobType type = BlobType::kFp16;
  uint64_t elements = 0;
  std::span<const std::byte> payload;
};

// The record whose header lies at `offset`. Errors (kBadFile) name the field that is wrong.
Result<BlobRecord> read_blob_record(std::span<const std::byte> file, uint64_t offset);

// Weights as the chip takes them: rounded to nearest even, clamped to ±65504, since what an infinity does in a conv is anybody's guess.
// Error (kNumeric): a NaN. Both spans have one size.
Result<> to_weight_halves(std::span<const float> values, std::span<uint16_t> halves);

}  // namespace anedvd
