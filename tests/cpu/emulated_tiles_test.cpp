// linear_tiles.inl where no processor has tiles: over the scalar vector, with plain loops for them.
#include <cstdlib>

#include <gtest/gtest.h>

#include "cpu/tested_kernels.h"
#include "cpu/tile_state.h"
// The vector comes before what is built on it.
// clang-format off
#include "cpu/kernels/simd_scalar.h"
#include "cpu/kernels/table.inl"
#include "cpu/kernels/amx/linear_tiles.inl"
// clang-format on

namespace anedvd {
namespace {

class EmulatedTiles {
 public:
  explicit EmulatedTiles(const TileShape (&shapes)[kTileCount]) {
    for (int tile = 0; tile < kTileCount; ++tile)
      must(state_.configure(tile, shapes[tile].rows, shapes[tile].row_bytes));
  }
  void release() { state_.release(); }

  template <int kTile>
  void zero() {
    must(state_.is_usable(kTile));
    state_.zero(kTile);
  }
  template <int kTile>
  void load(const void* from, int64_t stride) {
    must(state_.is_usable(kTile));
    state_.load(kTile, from, stride);
  }
  template <int kTile>
  void store(void* to, int64_t stride) {
    must(state_.is_usable(kTile));
    state_.store(kTile, to, stride);
  }
  template <int kC, int kA, int kB>
  void multiply() {
    must(state_.multiply(kC, kA, kB));
  }

 private:
  // The processor stops a program here.
  static void must(bool right) {
    if (!right) std::abort();
  }

  TileState state_;
};

TEST(TileState, MultipliesAsTheManualSays) {
  TileState tiles;
  ASSERT_TRUE(tiles.configure(0, 1, 8));  // C: one row, two sums
  ASSERT_TRUE(tiles.configure(1, 1, 8));  // A: one row of eight bytes
  ASSERT_TRUE(tiles.configure(2, 2, 8));  // B: two rows of two groups of four
  const int8_t a[8] = {1, -2, 3, -4, 5, 6, -128, 127};
  const int8_t b[2][8] = {{1, 1, 1, 1, 2, 0, 0, -128}, {1, 2, -128, 1, 0, 0, 1, 1}};
  tiles.load(1, a, 8);
  tiles.load(2, b, 8);
  int32_t c[2] = {10, -10};
  tiles.load(0, c, 8);
  ASSERT_TRUE(tiles.multiply(0, 1, 2));
  tiles.store(0, c, 8);
  EXPECT_EQ(c[0], 10 + (1 - 2 + 3 - 4) + (5 + 12 + 128 * 128 + 127));
  EXPECT_EQ(c[1], -10 + (2 + 4 * 128) + (-128 + 127));
}

TEST(TileState, RefusesShapesThatDoNotFit) {
  TileState tiles;
  EXPECT_FALSE(tiles.configure(0, 17, 64));
  EXPECT_FALSE(tiles.configure(0, 16, 68));
  EXPECT_FALSE(tiles.configure(0, 0, 64));
  ASSERT_TRUE(tiles.configure(0, 16, 64));
  ASSERT_TRUE(tiles.configure(1, 16, 32));
  ASSERT_TRUE(tiles.configure(2, 8, 64));
  ASSERT_TRUE(tiles.configure(3, 16, 64));
  EXPECT_TRUE(tiles.multiply(0, 1, 2));
  EXPECT_FALSE(tiles.multiply(0, 1, 3));
  EXPECT_FALSE(tiles.multiply(0, 0, 2));
  EXPECT_FALSE(tiles.is_usable(4));
}

TEST(EmulatedTiles, CountTheirRate) { EXPECT_NE(emulated_tile_kernels()->dot_rate(2048), 0); }

}  // namespace

const KernelTable* emulated_tile_kernels() {
  static constexpr KernelTable kTable = make_tile_table<EmulatedTiles>("emulated_tiles", "emulated tiles");
  return &kTable;
}

}  // namespace anedvd
