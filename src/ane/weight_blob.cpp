#include "ane/weight_blob.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "base/checked_math.h"
#include "base/half.h"
#include "base/sha256.h"

namespace anedvd {
namespace {

constexpr uint32_t kVersion = 2;
constexpr uint32_t kSentinel = 0xDEADBEEF;
constexpr size_t kHeaderBytes = 64;
constexpr size_t kBufferBytes = size_t(1) << 20;

using Header = std::array<std::byte, kHeaderBytes>;

template <class T>
void put_number(Header& header, size_t at, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) header[at + i] = std::byte(value >> (8 * i));
}

template <class T>
T number_at(std::span<const std::byte> bytes, size_t at) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value = T(value | T(bytes[at + i]) << (8 * i));
  return value;
}

Digest digest_of_hex(const std::string& hex) {
  const auto nibble = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  Digest digest;
  for (size_t i = 0; i < digest.size(); ++i) digest[i] = std::byte(nibble(hex[2 * i]) << 4 | nibble(hex[2 * i + 1]));
  return digest;
}

}  // namespace

int bits_of(BlobType type) {
  switch (type) {
    case BlobType::kFp32:
    case BlobType::kInt32:
    case BlobType::kUint32: return 32;
    case BlobType::kFp16:
    case BlobType::kBf16:
    case BlobType::kInt16:
    case BlobType::kUint16: return 16;
    case BlobType::kUint6: return 6;
    case BlobType::kInt4:
    case BlobType::kUint4: return 4;
    case BlobType::kUint3: return 3;
    case BlobType::kUint2: return 2;
    case BlobType::kUint1: return 1;
    default: return 8;
  }
}

struct WeightFileWriter::State {
  std::filesystem::path path;
  int file = -1;
  uint64_t written = 0;  // bytes given to put()
  uint32_t records_left = 0;
  uint64_t payload_left = 0;  // of the record begun
  Sha256 sum;
  std::vector<std::byte> buffer;

  ~State() {
    if (file >= 0) close(file);
    if (!path.empty()) {
      std::error_code ignored;
      std::filesystem::remove(path, ignored);
    }
  }

  Result<> flush() {
    for (size_t at = 0; at < buffer.size();) {
      const ssize_t count = ::write(file, buffer.data() + at, buffer.size() - at);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0)
        return fail(ErrorCode::kIo, "{}: cannot write weights: {}; free some disk space", path.string(),
                    std::strerror(errno));
      at += size_t(count);
    }
    buffer.clear();
    return {};
  }
};

WeightFileWriter::WeightFileWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
WeightFileWriter::WeightFileWriter(WeightFileWriter&&) noexcept = default;
WeightFileWriter& WeightFileWriter::operator=(WeightFileWriter&&) noexcept = default;
WeightFileWriter::~WeightFileWriter() = default;

Result<WeightFileWriter> WeightFileWriter::create(const std::filesystem::path& folder, uint32_t records) {
  static std::atomic<uint32_t> counter = 0;  // names only: two files of one process never share one
  auto state = std::make_unique<State>();
  const auto path = folder / fmt::format("weights-{}-{}.bin", getpid(), counter++);
  state->file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (state->file < 0)
    return fail(ErrorCode::kIo, "{}: cannot create a weight file: {}", path.string(), std::strerror(errno));
  state->path = path;
  state->records_left = records;
  state->buffer.reserve(kBufferBytes);
  WeightFileWriter writer(std::move(state));
  Header header = {};
  put_number<uint32_t>(header, 0, records);
  put_number<uint32_t>(header, 4, kVersion);
  ANEDVD_TRY_VOID(writer.put(header));
  return writer;
}

Result<> WeightFileWriter::put(std::span<const std::byte> bytes) {
  state_->sum.add(bytes);
  state_->written += bytes.size();
  while (!bytes.empty()) {
    const size_t taken = std::min(bytes.size(), kBufferBytes - state_->buffer.size());
    state_->buffer.insert(state_->buffer.end(), bytes.begin(), bytes.begin() + ptrdiff_t(taken));
    bytes = bytes.subspan(taken);
    if (state_->buffer.size() == kBufferBytes) ANEDVD_TRY_VOID(state_->flush());
  }
  return {};
}

Result<uint64_t> WeightFileWriter::begin(BlobType type, uint64_t elements) {
  ANEDVD_CHECK(state_->payload_left == 0 && state_->records_left > 0, "a weight record begun before the last ended");
  const Header zeros = {};
  const uint64_t start = next_record(state_->written);
  ANEDVD_TRY_VOID(put(std::span(zeros).first(size_t(start - state_->written))));
  const uint64_t bits = elements * uint64_t(bits_of(type)), bytes = (bits + 7) / 8;
  Header header = {};
  put_number<uint32_t>(header, 0, kSentinel);
  put_number<uint32_t>(header, 4, uint32_t(type));
  put_number<uint64_t>(header, 8, bytes);
  put_number<uint64_t>(header, 16, start + kHeaderBytes);
  put_number<uint64_t>(header, 24, bytes * 8 - bits);
  ANEDVD_TRY_VOID(put(header));
  --state_->records_left;
  state_->payload_left = bytes;
  return start;
}

Result<> WeightFileWriter::append(std::span<const std::byte> bytes) {
  ANEDVD_CHECK(bytes.size() <= state_->payload_left, "{} bytes too many in a weight record",
               bytes.size() - state_->payload_left);
  state_->payload_left -= bytes.size();
  return put(bytes);
}

Result<WeightFile> WeightFileWriter::finish() {
  ANEDVD_CHECK(state_->payload_left == 0 && state_->records_left == 0, "a weight file ended too early");
  ANEDVD_TRY_VOID(state_->flush());
  if (::close(std::exchange(state_->file, -1)) != 0)
    return fail(ErrorCode::kIo, "{}: cannot write weights: {}", state_->path.string(), std::strerror(errno));
  const Digest digest = digest_of_hex(state_->sum.finish());
  return WeightFile(std::exchange(state_->path, {}), digest, state_->written);
}

Result<BlobRecord> read_blob_record(std::span<const std::byte> file, uint64_t offset) {
  const auto wrong = [&](const std::string& what) {
    return fail(ErrorCode::kBadFile, "weight record at {}: {}", offset, what);
  };
  if (file.size() < kHeaderBytes) return wrong(fmt::format("the file has only {} bytes", file.size()));
  if (const auto version = number_at<uint32_t>(file, 4); version != kVersion)
    return wrong(fmt::format("file version {}, not {}", version, kVersion));
  if (offset < kHeaderBytes || offset % kBlobAlignment != 0) return wrong("no record starts there");
  const auto header_end = checked_add(offset, kHeaderBytes);
  if (!header_end || *header_end > file.size()) return wrong(fmt::format("past the file's {} bytes", file.size()));
  const auto header = file.subspan(size_t(offset), kHeaderBytes);
  if (number_at<uint32_t>(header, 0) != kSentinel) return wrong("no sentinel 0xDEADBEEF");
  const auto code = number_at<uint32_t>(header, 4);
  if (code == 0 || code > kLastBlobType) return wrong(fmt::format("element type {}", code));
  const auto bytes = number_at<uint64_t>(header, 8), place = number_at<uint64_t>(header, 16);
  const auto padding = number_at<uint64_t>(header, 24);
  const auto end = checked_add(place, bytes);
  if (!end || *end > file.size()) return wrong(fmt::format("{} bytes at {}, past the file's end", bytes, place));
  const auto bits = checked_mul(bytes, 8);
  if (!bits || padding > *bits || padding > 7) return wrong(fmt::format("{} bits of padding", padding));
  const auto type = BlobType(code);
  return BlobRecord{type, (*bits - padding) / uint64_t(bits_of(type)), file.subspan(size_t(place), size_t(bytes))};
}

Result<> to_weight_halves(std::span<const float> values, std::span<uint16_t> halves) {
  constexpr float kLargest = 65504;
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) return fail(ErrorCode::kNumeric, "weight {} is not a number", i);
    halves[i] = float_to_half(std::clamp(values[i], -kLargest, kLargest));
  }
  return {};
}

}  // namespace anedvd
