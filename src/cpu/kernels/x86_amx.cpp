// The level of AMX tiles: everything but the products of 16 columns and more is AVX-512 VNNI's.
//
// The vector comes before what is built on it.
// clang-format off
#include "cpu/kernels/simd_avx512.h"
#include "cpu/kernels/table.inl"
#include "cpu/kernels/amx/linear_tiles.inl"
// clang-format on

namespace anedvd {
namespace {

// The instructions themselves, not the compiler's functions for them: those of g++ 12 do not say that memory is read, and stores to a tile's source may
// come too late. "memory" says it.
class HardwareTiles {
 public:
  explicit HardwareTiles(const TileShape (&shapes)[kTileCount]) {
    // Palette 1: eight tiles of 16 rows of 64 bytes at most. Bytes of a row as 16-bit words from byte 16 on, rows as bytes from 48 on.
    alignas(64) uint8_t config[64] = {1};
    for (int tile = 0; tile < kTileCount; ++tile) {
      config[16 + 2 * tile] = uint8_t(shapes[tile].row_bytes);
      config[48 + tile] = uint8_t(shapes[tile].rows);
    }
    asm volatile("ldtilecfg %0" : : "m"(config) : "memory");
  }
  void release() { asm volatile("tilerelease" : : : "memory"); }

  template <int kTile>
  void zero() {
    asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
  }
  template <int kTile>
  void load(const void* from, int64_t stride) {
    asm volatile("tileloadd (%1,%2,1), %%tmm%c0" : : "i"(kTile), "r"(from), "r"(stride) : "memory");
  }
  template <int kTile>
  void store(void* to, int64_t stride) {
    asm volatile("tilestored %%tmm%c0, (%1,%2,1)" : : "i"(kTile), "r"(to), "r"(stride) : "memory");
  }
  template <int kC, int kA, int kB>
  void multiply() {
    asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kC), "i"(kA), "i"(kB));
  }
};

}  // namespace

const KernelTable* amx_kernels() {
  static constexpr KernelTable kTable = make_tile_table<HardwareTiles>("amx", "AMX int8");
  return &kTable;
}

}  // namespace anedvd
