// Writing the halves that scale a block.
#pragma once

#include <cstring>

#include "base/half.h"
#include "tensor/quant/blocks.h"

namespace anedvd {

// False: the value is beyond the largest half (or no number).
inline bool store_half(float value, StoredHalf& half) {
  const uint16_t word = float_to_half(value);
  std::memcpy(half.bytes, &word, sizeof word);
  return (word & 0x7c00u) != 0x7c00u;
}

}  // namespace anedvd
