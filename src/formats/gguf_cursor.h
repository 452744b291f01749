// Reads little-endian fields from the bytes of a GGUF file, front to back, and never past their end.
//
// Every read checks its length against the bytes that are left, so a count or length from the file is harmless until it has passed here.
// A read that does not fit returns nullopt, moves nothing, and remembers up to where it would have reached: `overrun` turns that into
// the error a person sees.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/checked_math.h"
#include "base/result.h"

namespace anedvd {

static_assert(std::endian::native == std::endian::little, "GGUF fields are read as they lie in memory");

// 2^50 bytes. No model comes near; an end beyond it is a broken length or shape, not a download that stopped.
constexpr uint64_t kNoFileIsThisLong = uint64_t(1) << 50;

class GgufCursor {
 public:
  explicit GgufCursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  uint64_t offset() const { return offset_; }
  uint64_t remaining() const { return bytes_.size() - offset_; }
  uint64_t size() const { return bytes_.size(); }

  // Whether `length` more bytes are there; nullopt (a sum or product that overflowed) never is. Remembers the overrun if not.
  bool fits(std::optional<uint64_t> length) {
    if (length && *length <= remaining()) return true;
    wanted_end_ = checked_add(offset_, length);
    return false;
  }

  // A plain number, little-endian.
  template <class T>
  std::optional<T> read() {
    if (!fits(sizeof(T))) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset_, sizeof(T));
    offset_ += sizeof(T);
    return value;
  }

  // The next `length` bytes, borrowed.
  std::optional<std::span<const std::byte>> take(std::optional<uint64_t> length) {
    if (!fits(length)) return std::nullopt;
    const auto taken = bytes_.subspan(offset_, *length);
    offset_ += *length;
    return taken;
  }

  // A string: 8 bytes of length, then its bytes. On failure the cursor may stand behind the length.
  std::optional<std::string_view> string() {
    const auto length = read<uint64_t>();
    if (!length) return std::nullopt;
    const auto taken = take(*length);
    if (!taken) return std::nullopt;
    return std::string_view(reinterpret_cast<const char*>(taken->data()), taken->size());
  }

  // The error for the read that just failed: `where: what reaches byte N but the file has M; …` (kBadFile).
  tl::unexpected<Error> overrun(std::string_view where, std::string_view what) const;

 private:
  std::span<const std::byte> bytes_;
  uint64_t offset_ = 0;
  std::optional<uint64_t> wanted_end_;  // nullopt: beyond 64 bits
};

// A number from a file for a message: commas in it, the whole range of 64 bits.
std::string number_words(uint64_t value);

}  // namespace anedvd
