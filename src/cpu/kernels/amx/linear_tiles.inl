// Linear kernels of many columns on a matrix unit with tiles (x86's AMX), for whichever vector and tiles were included before. Fewer than 16 columns,
// and what is left of a multiple of 16, go through linear.inl.
//
// A panel's chunk layout is the unit's own: four inputs of 16 outputs in a row of 64 bytes (pack.h). So one panel serves here too; a strip of it is
// unpacked to signed bytes, which stay in the nearest cache while all columns pass:
//
//   A  16 columns × 32 inputs, straight from the quantised activations      B  8 rows × 16 outputs × 4 inputs, from the strip
//   C  16 columns × 16 outputs: the exact sums of one block                 totals: 16 vectors of floats, in registers along the strip
//
// A tile row holds 64 inputs, but scales change every 32 and the sums of two blocks must stay apart. Rows of A stay half filled then, and B has half its
// rows. The alternative, whole rows with zeros on one half of B, multiplies as little and loads twice as much. For types with a scale every 16 inputs it
// is a quarter, twice. What remains of the unit's rate is 16 cycles for 8,192 products; the vectors behind it (convert, multiply, add: three a column)
// need 24 on two ports and loads 28, where the same work takes dot products 64 and the same vectors behind them: counted by instructions, not measured.
//
// Every output lane sums its blocks in the order of linear.inl, from the same integers: the bits are those of every other level.
#pragma once

namespace anedvd {
namespace {

constexpr int kTileRows = 16;  // columns that share a tile
constexpr int kStripBlocks =
    32;  // 16 KiB of quants and at most 8 of scales: half of the nearest cache. Whole super-blocks.
constexpr int kTileCount = 8;

// Rows of a tile and bytes of a row.
struct TileShape {
  int rows = 0, row_bytes = 0;
};

// Tiles are a type with these members; the numbers of tiles are constants, as in the instructions. The processor's are in x86_amx.cpp, those that plain
// loops stand for in the tests.
//
//   explicit Tiles(const TileShape (&shapes)[kTileCount]);     release();     zero<tile>();     load<tile>(from, stride);     store<tile>(to, stride);
//   multiply<c, a, b>();     C[m][n] += Σ_k Σ_j A[m][4k + j] · B[k][4n + j], signed bytes, sums of 32 bits

// Tiles of the product of one block: 0 and 1 the sums of its halves, 2 and 3 the columns, 4 and 5 the weights. With one scale only the even ones.
template <class L>
struct BlockShapes {
  static constexpr TileShape kSums{kTileRows, 64}, kColumns{kTileRows, kBlock / kHalves<L>},
      kWeights{kBlock / 4 / kHalves<L>, 64};
  static constexpr TileShape kAll[kTileCount] = {kSums, kSums, kColumns, kColumns, kWeights, kWeights, {}, {}};
};

// A part of one panel, unpacked.
template <class L>
struct Strip {
  alignas(64) uint8_t quants[kStripBlocks][kBlock / 4][64];  // signed: the bias is off
  alignas(64) float scales[kStripBlocks][kHalves<L> + BlockScales<L>::kMinima][kLanes];
};

template <class L, int kChunk>
inline void unpack_rows(const uint8_t* quants, uint8_t (&rows)[kBlock / 4][64]) {
  U8x64 low, high;
  unpack_chunk<L, kChunk>(quants, &low, &high);
  constexpr int kBias = kWide<L> ? 128 : L::kBias;
  b_store(rows[kChunk], b_subtract(low, kBias));
  b_store(rows[kChunk + 4], b_subtract(high, kBias));
}

// Blocks [first, first + count) of the panel at `panel`. first is a multiple of the super-block.
template <class L>
inline void unpack_strip(const uint8_t* panel, int first, int count, Strip<L>* strip) {
  for (int b = 0; b < count; ++b) {
    const uint8_t* head = panel + (first + b) / L::kSubBlocks * int64_t(kSuperBytes<L>);
    const uint8_t* block = head + L::kHead + (first + b) % L::kSubBlocks * int64_t(kBlockBytes<L>);
    for (int line = 0; line < kBlockBytes<L>; line += 64) prefetch(block + kPrefetchBytes + line);
    const uint8_t* quants = block + L::kScaleBytes;
    unpack_rows<L, 0>(quants, strip->quants[b]);
    unpack_rows<L, 1>(quants, strip->quants[b]);
    unpack_rows<L, 2>(quants, strip->quants[b]);
    unpack_rows<L, 3>(quants, strip->quants[b]);
    const BlockScales<L> scales = scales_of<L>(head, block);
    for (int half = 0; half < kHalves<L>; ++half) f_store(strip->scales[b][half], scales.scale[half]);
    for (int half = 0; half < scales.kMinima; ++half)
      f_store(strip->scales[b][kHalves<L> + half], scales.minimum[half]);
  }
}

// The sums of one block, by half, column and output.
template <class L>
using BlockSums = int32_t[kHalves<L>][kTileRows][kLanes];

// `stride`: from one column to the next. Columns that lie a multiple of 4 KiB apart share a set of the nearest cache and come from the next one.
template <class L, class Tiles>
inline void block_product(Tiles& tiles, const int8_t* q, int64_t stride, const uint8_t (&quants)[kBlock / 4][64],
                          BlockSums<L>& sums) {
  tiles.template zero<0>();
  tiles.template load<2>(q, stride);
  tiles.template load<4>(quants[0], 64);
  tiles.template multiply<0, 2, 4>();
  if constexpr (kHalves<L> == 2) {
    tiles.template zero<1>();
    tiles.template load<3>(q + kBlock / 2, stride);
    tiles.template load<5>(quants[kBlock / 8], 64);
    tiles.template multiply<1, 3, 5>();
    tiles.template store<1>(sums[1], 64);
  }
  tiles.template store<0>(sums[0], 64);
}

// Adds one block to the totals. `scale` and `sum` are column 0's of this block, `stride` is from one column's to the next.
template <class L>
inline void add_rows(F32x16 (&total)[kTileRows], const BlockSums<L>& sums,
                     const float (&stored)[kHalves<L> + BlockScales<L>::kMinima][kLanes], const float* scale,
                     const int32_t* sum, int64_t stride) {
  BlockScales<L> scales;
  for (int half = 0; half < kHalves<L>; ++half) scales.scale[half] = f_load(stored[half]);
  for (int half = 0; half < scales.kMinima; ++half) scales.minimum[half] = f_load(stored[kHalves<L> + half]);
#pragma GCC unroll 16
  for (int m = 0; m < kTileRows; ++m) {
    I32x16 of_column[kHalves<L>];
    for (int half = 0; half < kHalves<L>; ++half) of_column[half] = i_load(sums[half][m]);
    total[m] = add_block<L>(total[m], of_column, scales, scale + m * stride, sum + m * stride);
  }
}

// Adds a strip, which begins at block `first`, to the totals of 16 columns. They wait in args.out between strips: storing a float keeps its bits.
template <class L, class Tiles>
inline void add_strip(Tiles& tiles, const Strip<L>& strip, int first, int count, const LinearArgs& args, int panel,
                      int column) {
  const int64_t stride = int64_t(args.blocks) * kBlock, numbers = int64_t(args.blocks) * 2;
  const int8_t* q = args.q + column * stride + int64_t(first) * kBlock;
  const float* scale = args.scale + column * numbers + int64_t(first) * 2;
  const int32_t* sum = args.sum + column * numbers + int64_t(first) * 2;
  float* out = args.out + column * args.out_stride + int64_t(panel) * kLanes;
  F32x16 total[kTileRows];
#pragma GCC unroll 16
  for (int m = 0; m < kTileRows; ++m) total[m] = first == 0 ? f_set(0) : f_load(out + m * args.out_stride);
  // One block ahead: a product takes longer than the processor looks forward, and the vectors have the block before to do.
  alignas(64) BlockSums<L> sums[2];
  block_product<L>(tiles, q, stride, strip.quants[0], sums[0]);
  for (int b = 0; b < count; ++b) {
    if (b + 1 < count) block_product<L>(tiles, q + (b + 1) * kBlock, stride, strip.quants[b + 1], sums[(b + 1) % 2]);
    add_rows<L>(total, sums[b % 2], strip.scales[b], scale + 2 * b, sum + 2 * b, numbers);
  }
#pragma GCC unroll 16
  for (int m = 0; m < kTileRows; ++m) f_store(out + m * args.out_stride, total[m]);
}

// The same products from column `first` on.
inline LinearArgs columns_from(const LinearArgs& args, int first) {
  LinearArgs rest = args;
  rest.q += int64_t(first) * args.blocks * kBlock;
  rest.scale += int64_t(first) * args.blocks * 2;
  rest.sum += int64_t(first) * args.blocks * 2;
  rest.columns -= first;
  rest.out += first * args.out_stride;
  return rest;
}

template <class L, class Tiles>
void linear_tiles(const LinearArgs& args) {
  const int wide = args.columns - args.columns % kTileRows;
  if (wide > 0) {
    // Set up for one call: no thread keeps tiles while it waits, which would make its state larger for nothing.
    Tiles tiles(BlockShapes<L>::kAll);
    Strip<L> strip;
    for (int panel = 0; panel < args.panel_count; ++panel) {
      const uint8_t* packed = reinterpret_cast<const uint8_t*>(args.panels) + panel * args.panel_stride;
      for (int first = 0; first < args.blocks; first += kStripBlocks) {
        const int count = args.blocks - first < kStripBlocks ? args.blocks - first : kStripBlocks;
        unpack_strip(packed, first, count, &strip);
        for (int column = 0; column < wide; column += kTileRows)
          add_strip(tiles, strip, first, count, args, panel, column);
      }
    }
    tiles.release();
  }
  if (wide < args.columns) linear<L>(columns_from(args, wide));
}

// As dot_rate: whole tiles, four sums at a time. A product of two tiles is 256 dot products of 64 pairs.
template <class Tiles>
int32_t tile_dot_rate(int64_t n) {
  constexpr int kSums = 4, kDots = 256;
  constexpr TileShape kWhole{16, 64};
  constexpr TileShape kShapes[kTileCount] = {kWhole, kWhole, kWhole, kWhole, kWhole, kWhole, kWhole, kWhole};
  alignas(64) int8_t bytes[16][64];
  for (int i = 0; i < 16 * 64; ++i) bytes[i / 64][i % 64] = int8_t(i);
  alignas(64) int32_t sums[16][16];
  Tiles tiles(kShapes);
  tiles.template zero<0>();
  tiles.template zero<1>();
  tiles.template zero<2>();
  tiles.template zero<3>();
  tiles.template load<4>(bytes, 64);
  tiles.template load<5>(bytes, 64);
  tiles.template load<6>(bytes, 64);
  tiles.template load<7>(bytes, 64);
  for (int64_t i = 0; i < n; i += kSums * kDots) {
    tiles.template multiply<0, 4, 6>();
    tiles.template multiply<1, 4, 7>();
    tiles.template multiply<2, 5, 6>();
    tiles.template multiply<3, 5, 7>();
  }
  int32_t any = 0;
  tiles.template store<0>(sums, 64);
  any |= sums[1][1];
  tiles.template store<3>(sums, 64);
  tiles.release();
  return any | sums[1][1] | 1;
}

// The vector's table with the tiles' products in place of its own.
template <class Tiles>
constexpr KernelTable make_tile_table(const char* name, const char* words) {
  KernelTable table = make_table(name, words);
  table.linear[kPackQ4_0] = linear_tiles<LayoutQ4_0, Tiles>;
  table.linear[kPackQ4_1] = linear_tiles<LayoutQ4_1, Tiles>;
  table.linear[kPackQ5_0] = linear_tiles<LayoutQ5_0, Tiles>;
  table.linear[kPackQ5_1] = linear_tiles<LayoutQ5_1, Tiles>;
  table.linear[kPackQ8_0] = linear_tiles<LayoutQ8_0, Tiles>;
  table.linear[kPackQ4_K] = linear_tiles<LayoutQ4_K, Tiles>;
  table.linear[kPackQ5_K] = linear_tiles<LayoutQ5_K, Tiles>;
  table.linear[kPackQ6_K] = linear_tiles<LayoutQ6_K, Tiles>;
  table.linear[kPackIQ4_NL] = linear_tiles<LayoutIQ4_NL, Tiles>;
  table.linear[kPackMXFP4] = linear_tiles<LayoutMXFP4, Tiles>;
  table.linear[kPackQ3_K] = linear_tiles<LayoutQ3_K, Tiles>;
  table.linear[kPackQ2_K] = linear_tiles<LayoutQ2_K, Tiles>;
  table.linear[kPackIQ4_XS] = linear_tiles<LayoutIQ4_XS, Tiles>;
  table.dot_rate = tile_dot_rate<Tiles>;
  return table;
}

}  // namespace
}  // namespace anedvd
