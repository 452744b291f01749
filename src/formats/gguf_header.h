// The first 24 bytes of a GGUF file, and words for what else a file called .gguf turns out to be.
//
//   "GGUF" | version u32 | tensors u64 | metadata pairs u64        version 1 had 32-bit counts; a big-endian file has all three swapped
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "formats/gguf_cursor.h"

namespace anedvd {

struct GgufHeader {
  uint32_t version;  // 2 or 3: the same layout
  uint64_t tensor_count;
  uint64_t pair_count;  // both unchecked: claims until compared with the bytes that follow
};

// Reads the header at the start of the file. kBadFile: web page, LFS pointer, cut short, another format (the message tells which);
// kUnsupported: a version or byte order that anedvd does not read.
Result<GgufHeader> read_gguf_header(GgufCursor& cursor, std::string_view where);

}  // namespace anedvd
