// Unpacks a raw DEFLATE stream (RFC 1951), as zip members hold it.
//
// Streams: the unpacked bytes go to `sink` in pieces, so the memory stays at a few hundred KB whatever the size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "base/result.h"

namespace anedvd {

// Receives unpacked bytes in order; its error ends the work and is handed on.
using ByteSink = std::function<Result<>(std::span<const std::byte>)>;

// Unpacks `packed` to its last block and returns the count of unpacked bytes. kBadFile for a stream that breaks the format, ends early or
// unpacks to more than max_bytes. The message has no place in front: use fail_in.
Result<uint64_t> inflate(std::span<const std::byte> packed, uint64_t max_bytes, const ByteSink& sink);

}  // namespace anedvd
