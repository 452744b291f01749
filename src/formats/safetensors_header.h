// The header of a safetensors file, as it is written: nothing is believed yet.
//
//   [8 bytes: length N][N bytes of JSON][tensor data …]
//   JSON: {"NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, …, "__metadata__": {…}}
//
// Format: github.com/huggingface/safetensors, README. The JSON is read as a stream of events, so that no tree of hostile shape is built, that
// nesting costs no stack, and that a name which comes twice is seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace anedvd {

struct SafetensorsEntry {
  std::string name;
  std::string dtype;
  std::vector<uint64_t> shape;  // empty: one number
  uint64_t begin = 0, end = 0;  // from the start of the data
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in header order
  uint64_t data_start = 0;                // from the start of the file
};

// `where` names the file in errors. kBadFile: the length does not fit, no JSON of this form, numbers that are negative, fractional or no
// numbers, a tensor without one of its three fields, a name twice. Memory in proportion to the header.
Result<SafetensorsHeader> read_safetensors_header(std::span<const std::byte> file, std::string_view where);

}  // namespace anedvd
