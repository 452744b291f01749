// What the eight tiles of AMX hold and what its instructions do to them, in plain loops (Intel's manual, volume 2, LDTILECFG to TILEZERO).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace anedvd {

class TileState {
 public:
  // False: such a shape is refused, by the processor with a fault.
  bool configure(int tile, int rows, int row_bytes) {
    if (rows < 0 || rows > 16 || row_bytes < 0 || row_bytes > 64 || row_bytes % 4 != 0) return false;
    if ((rows == 0) != (row_bytes == 0)) return false;  // a tile that is not used has neither
    tiles_[tile] = {rows, row_bytes, {}};
    return true;
  }
  void release() {
    for (Tile& tile : tiles_) tile = {};
  }
  bool is_usable(int tile) const { return tiles_[tile].rows > 0 && tiles_[tile].row_bytes > 0; }

  void zero(int tile) { std::memset(tiles_[tile].bytes, 0, sizeof tiles_[tile].bytes); }

  void load(int tile, const void* from, int64_t stride) {
    zero(tile);
    for (int row = 0; row < tiles_[tile].rows; ++row)
      std::memcpy(tiles_[tile].bytes[row], static_cast<const std::byte*>(from) + row * stride,
                  size_t(tiles_[tile].row_bytes));
  }

  void store(int tile, void* to, int64_t stride) const {
    for (int row = 0; row < tiles_[tile].rows; ++row)
      std::memcpy(static_cast<std::byte*>(to) + row * stride, tiles_[tile].bytes[row], size_t(tiles_[tile].row_bytes));
  }

  // C += A · B of signed bytes. False: the shapes do not fit, which the processor refuses too.
  bool multiply(int c, int a, int b) {
    Tile& sums = tiles_[c];
    const Tile& left = tiles_[a];
    const Tile& right = tiles_[b];
    if (c == a || c == b || a == b || sums.rows != left.rows || sums.row_bytes != right.row_bytes ||
        left.row_bytes != 4 * right.rows)
      return false;
    for (int m = 0; m < sums.rows; ++m)
      for (int n = 0; n < sums.row_bytes / 4; ++n) {
        int32_t sum = 0;
        std::memcpy(&sum, &sums.bytes[m][4 * n], 4);
        for (int k = 0; k < left.row_bytes; ++k)
          sum += int8_t(left.bytes[m][k]) * int8_t(right.bytes[k / 4][4 * n + k % 4]);
        std::memcpy(&sums.bytes[m][4 * n], &sum, 4);
      }
    return true;
  }

 private:
  struct Tile {
    int rows = 0, row_bytes = 0;
    uint8_t bytes[16][64] = {};
  };
  Tile tiles_[8];
};

}  // namespace anedvd
