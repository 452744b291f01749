// Unpacks the 16-bit words of iq_tables.inc into entries, at compile time.
#include "tensor/quant/iq_grids.h"

#include <cstddef>

namespace anedvd {
namespace {

#include "tensor/quant/iq_tables.inc"

// Entry i, value j = levels[field j of packed[i]]; a word holds `Values` fields of equal width.
template <size_t Values, size_t Entries, size_t Levels>
constexpr auto expand(const uint16_t (&packed)[Entries], const int8_t (&levels)[Levels]) {
  constexpr unsigned kBits = 16 / Values;
  std::array<std::array<int8_t, Values>, Entries> grid{};
  for (size_t i = 0; i < Entries; ++i) {
    for (size_t j = 0; j < Values; ++j) grid[i][j] = levels[(packed[i] >> (kBits * j)) & ((1u << kBits) - 1)];
  }
  return grid;
}

// ggml/src/ggml-common.h: the distinct bytes of iq1s_grid, iq2*_grid, iq3xxs_grid and iq3s_grid.
constexpr int8_t kIq1Levels[] = {-1, 0, 1};
constexpr int8_t kIq2Levels[] = {8, 25, 43};
constexpr int8_t kIq3XxsLevels[] = {4, 12, 20, 28, 36, 44, 52, 62};
constexpr int8_t kIq3SLevels[] = {1, 3, 5, 7, 9, 11, 13, 15};

}  // namespace

constexpr std::array<GridEntry8, 2048> kIq1Grid = expand<8>(kIq1Packed, kIq1Levels);
constexpr std::array<GridEntry8, 256> kIq2XxsGrid = expand<8>(kIq2XxsPacked, kIq2Levels);
constexpr std::array<GridEntry8, 512> kIq2XsGrid = expand<8>(kIq2XsPacked, kIq2Levels);
constexpr std::array<GridEntry8, 1024> kIq2SGrid = expand<8>(kIq2SPacked, kIq2Levels);
constexpr std::array<GridEntry4, 256> kIq3XxsGrid = expand<4>(kIq3XxsPacked, kIq3XxsLevels);
constexpr std::array<GridEntry4, 512> kIq3SGrid = expand<4>(kIq3SPacked, kIq3SLevels);

}  // namespace anedvd
