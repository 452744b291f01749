// Codebooks and signs that the IQ1, IQ2 and IQ3 types share.
//
// These types do not code values one by one: an index chooses a whole entry of four or eight small magnitudes, and sign bits follow.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "tensor/quant/blocks.h"

namespace anedvd {

using GridEntry8 = std::array<int8_t, 8>;
using GridEntry4 = std::array<int8_t, 4>;

extern const std::array<GridEntry8, 2048> kIq1Grid;    // −1, 0, 1
extern const std::array<GridEntry8, 256> kIq2XxsGrid;  // 8, 25, 43
extern const std::array<GridEntry8, 512> kIq2XsGrid;
extern const std::array<GridEntry8, 1024> kIq2SGrid;
extern const std::array<GridEntry4, 256> kIq3XxsGrid;  // 4, 12, … 62
extern const std::array<GridEntry4, 512> kIq3SGrid;    // 1, 3, … 15

// Eight sign bits from the seven stored: the eighth makes the number of minus signs even.
constexpr int even_signs(int seven_bits) { return seven_bits | (std::popcount(unsigned(seven_bits)) & 1) << 7; }

// out[j] = ± scale · entry[j]; bit j of `signs` set means minus.
template <size_t N>
void write_signed(const std::array<int8_t, N>& entry, int signs, float scale, float* out) {
  for (size_t j = 0; j < N; ++j) out[j] = flip_sign(scale * float(entry[j]), uint32_t(signs) >> j & 1u);
}

}  // namespace anedvd
