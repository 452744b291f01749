// The eight 6-bit scales and eight 6-bit minima that Q4_K and Q5_K pack into 12 bytes.
//
//   bytes 0 … 3    scale i       in bits 0 … 5; bits 6, 7: the high bits of scale i + 4
//   bytes 4 … 7    minimum i     in bits 0 … 5; bits 6, 7: the high bits of minimum i + 4
//   bytes 8 … 11   scale i + 4   low nibble, minimum i + 4 high nibble: their low four bits
#pragma once

#include <cstdint>

namespace anedvd {

struct ScaleMin {
  int scale, minimum;  // 0 … 63
};

// Of group 0 … 7.
inline ScaleMin scale_min_of_group(const uint8_t (&packed)[12], int group) {
  if (group < 4) return {packed[group] & 63, packed[group + 4] & 63};
  const int low = packed[group + 4];
  return {(low & 15) | packed[group - 4] >> 6 << 4, low >> 4 | packed[group] >> 6 << 4};
}

}  // namespace anedvd
