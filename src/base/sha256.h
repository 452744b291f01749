// SHA-256 (FIPS 180-4), for checking what was downloaded.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/result.h"

namespace anedvd {

class Sha256 {
 public:
  Sha256();

  void add(std::span<const std::byte> bytes);

  // The digest of all bytes added, as 64 lower-case hex digits. The object is spent afterwards.
  std::string finish();

 private:
  void compress(const std::byte* block);

  std::array<uint32_t, 8> state_;
  std::array<std::byte, 64> pending_;  // the first pending_size_ bytes wait for a whole block
  size_t pending_size_ = 0;
  uint64_t total_ = 0;  // bytes added
};

std::string sha256_of(std::span<const std::byte> bytes);

// Digest of a file's content. Errors: those of MappedFile::open.
Result<std::string> sha256_of_file(const std::filesystem::path& path);

}  // namespace anedvd
