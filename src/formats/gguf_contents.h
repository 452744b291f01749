// Everything one GGUF file says, read from its bytes: settings and tensor table, with each tensor's data found and checked.
//
//   [header][metadata pairs][tensor table][padding to the alignment][tensor data …]
//                            name, ne[], type, offset from the start of the data
//
// Tensors may share bytes (a writer may store tied weights once); only data outside of the file is refused.
// Format: github.com/ggml-org/ggml/blob/master/docs/gguf.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/gguf_metadata.h"
#include "tensor/view.h"

namespace anedvd {

struct GgufContents {
  uint32_t version = 0;
  uint64_t alignment = 32;
  GgufMetadata metadata;
  std::vector<TensorView> tensors;  // in table order; names are distinct
};

// Reads a whole file that lies in memory; the result borrows from `bytes`. `where` names the file in errors.
// kBadFile: broken or cut short; kUnsupported: well-formed, but a version, byte order or tensor type that anedvd does not read.
Result<GgufContents> read_gguf(std::span<const std::byte> bytes, std::string_view where);

}  // namespace anedvd
