// The members of a zip archive, as Python wheels are (PKWARE APPNOTE 6.3.x, §4.3). Reads borrowed bytes.
//
// Refuses: ZIP64 (over 4 GB), archives in several parts, encryption, packing other than stored and deflate. Does not check CRC-32: whoever
// needs to know that the bytes are right compares a SHA-256.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/inflate.h"
#include "base/result.h"

namespace anedvd {

struct ZipMember {
  std::string name;  // as the archive spells it: may hold anything, never use it as a path
  uint64_t size = 0;
  std::span<const std::byte> packed;
  bool is_deflated = false;
};

// The members in the order of the archive's directory, at most 100,000. Errors: kBadFile, kUnsupported; no place in front (use fail_in).
Result<std::vector<ZipMember>> read_zip(std::span<const std::byte> archive);

// Hands the member's unpacked bytes to `sink`: exactly member.size of them, or an error.
Result<> unpack(const ZipMember& member, const ByteSink& sink);

}  // namespace anedvd
