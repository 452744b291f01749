// Linear kernels over packed panels, for whichever level's vector was included before.
//
// One tile is kColumns columns × kPanels panels: its weights are loaded and unpacked once for all its columns. Each output lane sums its blocks in
// ascending order of k with one fused multiply-add a block, whatever the tile: a column's bits do not depend on its neighbours.
#pragma once

#include <type_traits>

namespace anedvd {
namespace {

// Codes of 4 bits that stand for uneven levels, plus 128 so that they are unsigned (ggml's kvalues_iq4nl; twice the OCP MX FP4 values).
alignas(16) constexpr uint8_t kIq4Levels[16] = {1,   24,  45,  63,  79,  93,  106, 118,
                                                129, 141, 153, 166, 181, 197, 217, 241};
alignas(16) constexpr uint8_t kFp4Levels[16] = {128, 129, 130, 131, 132, 134, 136, 140,
                                                128, 127, 126, 125, 124, 122, 120, 116};

// How the quants of one 16×32 block lie and what turns them into numbers. Layouts: pack.h.
enum class Extra { kNone, kFifthBit, kTopBits };
enum class Scale { kHalf, kBfloat, kByte, kSignedByte };

struct Q4Family {
  static constexpr int kHead = 0;                // bytes before the first block of a super-block
  static constexpr int kSubBlocks = 1;           // blocks of 32 that share it
  static constexpr int kScaleBytes = 32;         // bytes of scales and minima before the quants of a block
  static constexpr Scale kScale = Scale::kHalf;  // of a block; the byte kinds multiply the super-block's
  static constexpr bool kTwoScales = false;      // one for inputs 0…15, one for 16…31 (minima likewise)
  static constexpr bool kHasMin = false;
  static constexpr int kBias = 0;  // w = scale · (quant − bias)
  static constexpr Extra kExtra = Extra::kNone;
  static constexpr int kQuantBits = 4;  // 8: whole bytes, 0: only the extra bits, worth 16 each
  static constexpr const uint8_t* kLevels = nullptr;
};

template <class L>
constexpr int kQuantBytes = 64 * L::kQuantBits;
template <class L>
constexpr int kBlockBytes = L::kScaleBytes + kQuantBytes<L> +
                            (L::kExtra == Extra::kNone       ? 0
                             : L::kExtra == Extra::kFifthBit ? 64
                                                             : 128);
template <class L>
constexpr int kSuperBytes = L::kHead + L::kSubBlocks* kBlockBytes<L>;
// Quants that may exceed 63: they go through dot_q8, stored plus 128.
template <class L>
constexpr bool kWide = L::kQuantBits == 8 || L::kLevels != nullptr;

struct LayoutQ4_0 : Q4Family {
  static constexpr int kBias = 8;
};
struct LayoutQ4_1 : Q4Family {
  static constexpr int kScaleBytes = 64;
  static constexpr bool kHasMin = true;
};
struct LayoutQ5_0 : Q4Family {
  static constexpr int kBias = 16;
  static constexpr Extra kExtra = Extra::kFifthBit;
};
struct LayoutQ5_1 : LayoutQ4_1 {
  static constexpr Extra kExtra = Extra::kFifthBit;
};
struct LayoutQ8_0 : Q4Family {
  static constexpr int kQuantBits = 8;
};
struct LayoutIQ4_NL : Q4Family {
  static constexpr const uint8_t* kLevels = kIq4Levels;
};
struct LayoutMXFP4 : Q4Family {
  static constexpr Scale kScale = Scale::kBfloat;
  static constexpr const uint8_t* kLevels = kFp4Levels;
};
struct LayoutQ4_K : Q4Family {
  static constexpr int kHead = 64, kSubBlocks = 8;
  static constexpr Scale kScale = Scale::kByte;
  static constexpr bool kHasMin = true;
};
struct LayoutQ5_K : LayoutQ4_K {
  static constexpr Extra kExtra = Extra::kFifthBit;
};
struct LayoutQ6_K : Q4Family {
  static constexpr int kHead = 32, kSubBlocks = 8, kBias = 32;
  static constexpr Scale kScale = Scale::kSignedByte;
  static constexpr bool kTwoScales = true;
  static constexpr Extra kExtra = Extra::kTopBits;
};
struct LayoutQ3_K : Q4Family {
  static constexpr int kHead = 32, kSubBlocks = 8, kBias = 4;
  static constexpr Scale kScale = Scale::kSignedByte;
  static constexpr bool kTwoScales = true;
};
struct LayoutQ2_K : Q4Family {
  static constexpr int kHead = 64, kSubBlocks = 8, kScaleBytes = 64, kQuantBits = 0;
  static constexpr Scale kScale = Scale::kByte;
  static constexpr bool kTwoScales = true, kHasMin = true;
  static constexpr Extra kExtra = Extra::kTopBits;
};
struct LayoutIQ4_XS : Q4Family {
  static constexpr int kHead = 32, kSubBlocks = 8, kScaleBytes = 16;
  static constexpr Scale kScale = Scale::kSignedByte;
  static constexpr const uint8_t* kLevels = kIq4Levels;
};

inline const uint16_t* as_halfs(const uint8_t* p) { return reinterpret_cast<const uint16_t*>(p); }

// Scale of the 16 rows of a block, or of one half of its inputs; `head` is its super-block.
template <class L>
inline F32x16 scale_of(const uint8_t* head, const uint8_t* block, int half) {
  if constexpr (L::kScale == Scale::kHalf) {
    return f_load_half(as_halfs(block));
  } else if constexpr (L::kScale == Scale::kBfloat) {
    return f_load_bfloat(as_halfs(block));
  } else {
    const F32x16 d = f_load_half(as_halfs(head));
    const uint8_t* bytes = block + 16 * half;
    if constexpr (L::kScale == Scale::kSignedByte)
      return f_mul(d, f_from_i(i_load_s8(reinterpret_cast<const int8_t*>(bytes))));
    const F32x16 scale = f_mul(d, f_from_i(i_load_u8(bytes)));
    if constexpr (L::kQuantBits == 0) return f_mul(scale, f_set(1.0f / 16));
    return scale;
  }
}

// What the minimum adds to a weight: the file's own in the 32-value types, minus dmin · minimum in the K types.
template <class L>
inline F32x16 min_of(const uint8_t* head, const uint8_t* block, int half) {
  if constexpr (L::kScale == Scale::kHalf) return f_load_half(as_halfs(block + 32));
  const F32x16 dmin = f_load_half(as_halfs(head + 32));
  const uint8_t* bytes = block + (L::kTwoScales ? 32 : 16) + 16 * half;
  return f_sub(f_set(0), f_mul(dmin, f_from_i(i_load_u8(bytes))));
}

inline int32_t activation_word(const int8_t* q) {
  int32_t word;
  __builtin_memcpy(&word, q, 4);
  return word;
}

// From memory, for levels that have no instruction for it.
template <class Byte>
inline I32x16 dot_small(I32x16 acc, U8x64 w, const Byte* a) {
  return dot_small(acc, w, activation_word(a));
}
template <class Byte>
inline I32x16 dot_q8(I32x16 acc, U8x64 w, const Byte* a) {
  return dot_q8(acc, w, activation_word(a));
}

// The four chunks of nibbles: chunk c's low nibbles are k 4c…4c+3, its high nibbles k 16+4c…16+4c+3.
template <class L, int kChunk>
inline void unpack_chunk(const uint8_t* quants, U8x64* low, U8x64* high) {
  const uint8_t* extra = quants + kQuantBytes<L>;
  if constexpr (L::kQuantBits == 8) {
    *low = b_load(quants + 64 * kChunk);
    *high = b_load(quants + 64 * (kChunk + 4));
  } else if constexpr (L::kQuantBits == 4) {
    const U8x64 raw = b_load(quants + 64 * kChunk);
    *low = b_low(raw);
    *high = b_high(raw);
  } else {
    *low = *high = b_zero();
  }
  if constexpr (L::kLevels != nullptr) {
    *low = b_lookup(*low, L::kLevels);
    *high = b_lookup(*high, L::kLevels);
  }
  if constexpr (L::kExtra == Extra::kFifthBit) {
    uint64_t bits[2];
    __builtin_memcpy(&bits[0], extra + 8 * kChunk, 8);
    __builtin_memcpy(&bits[1], extra + 32 + 8 * kChunk, 8);
    *low = b_add_fifth(*low, bits[0]);
    *high = b_add_fifth(*high, bits[1]);
  } else if constexpr (L::kExtra == Extra::kTopBits) {
    *low = b_add_top<kChunk>(*low, b_load(extra));
    *high = b_add_top<kChunk>(*high, b_load(extra + 64));
  }
}

// Types with one scale a block need one sum of it: half the registers, so more columns share what is unpacked.
template <class L>
constexpr int kHalves = L::kTwoScales ? 2 : 1;

template <class L, int kChunk, int kColumns, int kPanels>
inline void add_chunk(const uint8_t* const (&quants)[kPanels], const int8_t* const (&q)[kColumns],
                      I32x16 (&sums)[kColumns][kPanels][kHalves<L>]) {
  for (int p = 0; p < kPanels; ++p) {
    U8x64 low, high;
    unpack_chunk<L, kChunk>(quants[p], &low, &high);
    for (int m = 0; m < kColumns; ++m) {
      const int8_t *a = q[m] + 4 * kChunk, *b = a + 16;
      I32x16& low_sum = sums[m][p][0];
      I32x16& high_sum = sums[m][p][kHalves<L> - 1];
      if constexpr (kWide<L>) {
        low_sum = dot_q8(low_sum, low, a);
        high_sum = dot_q8(high_sum, high, b);
      } else {
        low_sum = dot_small(low_sum, low, a);
        high_sum = dot_small(high_sum, high, b);
      }
    }
  }
}

// What the integer sums of a block are multiplied by, and what its minima add.
template <class L>
struct BlockScales {
  static constexpr int kMinima = L::kHasMin ? kHalves<L> : 0;
  F32x16 scale[kHalves<L>];
  F32x16 minimum[L::kHasMin ? kHalves<L> : 1];
};

template <class L>
inline BlockScales<L> scales_of(const uint8_t* head, const uint8_t* block) {
  BlockScales<L> scales;
  for (int half = 0; half < kHalves<L>; ++half) scales.scale[half] = scale_of<L>(head, block, half);
  for (int half = 0; half < scales.kMinima; ++half) scales.minimum[half] = min_of<L>(head, block, half);
  return scales;
}

// One column's total with one block more. `scale` and `sum` are the column's two of that block (LinearArgs). Every level and every tile adds in
// this order, so they all have the same bits.
template <class L>
inline F32x16 add_block(F32x16 total, const I32x16 (&sums)[kHalves<L>], const BlockScales<L>& block, const float* scale,
                        const int32_t* sum) {
  const F32x16 factor = f_set(scale[0]);
  for (int half = 0; half < kHalves<L>; ++half)
    total = f_fma(f_from_i(sums[half]), f_mul(block.scale[half], factor), total);
  for (int half = 0; half < block.kMinima; ++half)
    total = f_fma(block.minimum[half], f_set(L::kTwoScales ? scale[0] * float(sum[half]) : scale[1]), total);
  return total;
}

#if defined(__ARM_FEATURE_MATMUL_INT8)
// Two chunks of one panel are eight inputs of every output, low and high: what one instruction multiplies with eight inputs of two columns.
// Always inline, like what calls it: g++ 12 makes functions of some of them otherwise, and the sums go through memory.
template <class L, int kChunk, int kColumns, int kPairs>
[[gnu::always_inline]] inline void add_chunk_pair(const uint8_t* quants, const int8_t* const (&q)[kColumns],
                                                  PairSums (&sums)[kPairs][kHalves<L>]) {
  U8x64 low[2], high[2];
  unpack_chunk<L, kChunk>(quants, &low[0], &high[0]);
  unpack_chunk<L, kChunk + 1>(quants, &low[1], &high[1]);
  const OutputPairs low_pairs = pair_outputs<kWide<L>>(low[0], low[1]);
  const OutputPairs high_pairs = pair_outputs<kWide<L>>(high[0], high[1]);
  for (int i = 0; i < kPairs; ++i) {
    const int8_t* first = q[2 * i] + 4 * kChunk;
    const int8_t* second = q[2 * i + 1 < kColumns ? 2 * i + 1 : 2 * i] + 4 * kChunk;
    sums[i][0] = dot_pairs(sums[i][0], low_pairs, first, second);
    sums[i][kHalves<L> - 1] = dot_pairs(sums[i][kHalves<L> - 1], high_pairs, first + 16, second + 16);
  }
}

// block_sums by pairs of columns. The last of an odd number is its own partner.
template <class L, int kColumns, int kPanels>
[[gnu::always_inline]] inline void pair_sums(const uint8_t* const (&quants)[kPanels],
                                             const int8_t* const (&q)[kColumns], const int32_t* const (&sum)[kColumns],
                                             int64_t at, I32x16 (&sums)[kColumns][kPanels][kHalves<L>]) {
  constexpr int kPairs = (kColumns + 1) / 2;
  // The sums are signed (q8_start): wide quants have nothing to correct.
  constexpr int kBias = kWide<L> ? 0 : L::kBias;
  for (int p = 0; p < kPanels; ++p) {
    PairSums pairs[kPairs][kHalves<L>];
    for (int i = 0; i < kPairs; ++i) {
      const int32_t* first = sum[2 * i] + at;
      const int32_t* second = sum[2 * i + 1 < kColumns ? 2 * i + 1 : 2 * i] + at;
      if constexpr (L::kTwoScales) {
        for (int half = 0; half < 2; ++half) pairs[i][half] = pair_start(-kBias * first[half], -kBias * second[half]);
      } else {
        pairs[i][0] = pair_start(-kBias * (first[0] + first[1]), -kBias * (second[0] + second[1]));
      }
    }
    add_chunk_pair<L, 0>(quants[p], q, pairs);
    add_chunk_pair<L, 2>(quants[p], q, pairs);
    for (int i = 0; i < kPairs; ++i)
      for (int half = 0; half < kHalves<L>; ++half) {
        sums[2 * i][p][half] = column_of(pairs[i][half], 0);
        if (2 * i + 1 < kColumns) sums[2 * i + 1][p][half] = column_of(pairs[i][half], 1);
      }
  }
}
#endif

// The integer sums of a block of every column and panel. `at`: where a column's `sum` has this block's two.
template <class L, int kColumns, int kPanels>
[[gnu::always_inline]] inline void block_sums(const uint8_t* const (&quants)[kPanels],
                                              const int8_t* const (&q)[kColumns], const int32_t* const (&sum)[kColumns],
                                              int64_t at, I32x16 (&sums)[kColumns][kPanels][kHalves<L>]) {
#if defined(__ARM_FEATURE_MATMUL_INT8)
  if constexpr (kColumns > 1) return pair_sums<L>(quants, q, sum, at, sums);
#endif
  for (int m = 0; m < kColumns; ++m) {
    const int32_t low_total = sum[m][at], high_total = sum[m][at + 1];
    for (int p = 0; p < kPanels; ++p) {
      if constexpr (kWide<L>) {
        sums[m][p][0] = q8_start(low_total + high_total);
      } else if constexpr (L::kTwoScales) {
        sums[m][p][0] = i_set(-L::kBias * low_total);
        sums[m][p][1] = i_set(-L::kBias * high_total);
      } else {
        sums[m][p][0] = i_set(-L::kBias * (low_total + high_total));
      }
    }
  }
  add_chunk<L, 0>(quants, q, sums);
  add_chunk<L, 1>(quants, q, sums);
  add_chunk<L, 2>(quants, q, sums);
  add_chunk<L, 3>(quants, q, sums);
}

template <class L, int kColumns, int kPanels>
inline void linear_tile(const LinearArgs& args, int panel, int column, bool fetch_ahead) {
  const uint8_t* head[kPanels];
  for (int p = 0; p < kPanels; ++p)
    head[p] = reinterpret_cast<const uint8_t*>(args.panels) + (panel + p) * args.panel_stride;
  // Two panels are two streams: what the next pair will read lies two panels on.
  const int64_t ahead = kPanels == 1 ? kPrefetchBytes : kPanels * args.panel_stride;
  const int64_t columns_bytes = int64_t(args.blocks) * kBlock;
  const int8_t* q[kColumns];
  const float* scale[kColumns];
  const int32_t* sum[kColumns];
  F32x16 total[kColumns][kPanels];
  for (int m = 0; m < kColumns; ++m) {
    q[m] = args.q + (column + m) * columns_bytes;
    scale[m] = args.scale + int64_t(column + m) * args.blocks * 2;
    sum[m] = args.sum + int64_t(column + m) * args.blocks * 2;
    for (int p = 0; p < kPanels; ++p) total[m][p] = f_set(0);
  }
  for (int super = 0; super < args.blocks; super += L::kSubBlocks) {
    for (int sub = 0; sub < L::kSubBlocks; ++sub) {
      const uint8_t* block[kPanels];
      const uint8_t* quants[kPanels];
      for (int p = 0; p < kPanels; ++p) {
        block[p] = head[p] + L::kHead + sub * kBlockBytes<L>;
        quants[p] = block[p] + L::kScaleBytes;
        if (fetch_ahead)
          for (int line = 0; line < kBlockBytes<L>; line += 64) prefetch(block[p] + ahead + line);
      }
      I32x16 sums[kColumns][kPanels][kHalves<L>];
      const int64_t at = 2 * (super + sub);  // of the block in a column's scales and sums
      block_sums<L>(quants, q, sum, at, sums);
      for (int p = 0; p < kPanels; ++p) {
        const BlockScales<L> scales = scales_of<L>(head[p], block[p]);
        for (int m = 0; m < kColumns; ++m)
          total[m][p] = add_block<L>(total[m][p], sums[m][p], scales, scale[m] + at, sum[m] + at);
      }
      for (int m = 0; m < kColumns; ++m) q[m] += kBlock;
    }
    for (int p = 0; p < kPanels; ++p) head[p] += kSuperBytes<L>;
  }
  for (int m = 0; m < kColumns; ++m)
    for (int p = 0; p < kPanels; ++p)
      f_store(args.out + (column + m) * args.out_stride + int64_t(panel + p) * kLanes, total[m][p]);
}

template <class L, int kPanels>
inline void linear_columns(const LinearArgs& args, int panel) {
  int column = 0;
  // Two scales double the integer accumulators: half the columns then.
  constexpr int kColumnsAtOnce = L::kTwoScales && kTileColumns > 1 ? kTileColumns / 2 : kTileColumns;
  for (; column + kColumnsAtOnce <= args.columns; column += kColumnsAtOnce)
    linear_tile<L, kColumnsAtOnce, kPanels>(args, panel, column, column == 0);
  // What is left goes in as few passes as may be: each reads and unpacks the panel again.
  const auto rest = [&]<int kColumns>(std::integral_constant<int, kColumns>) {
    if constexpr (kColumns < kColumnsAtOnce)
      if (column + kColumns <= args.columns) {
        linear_tile<L, kColumns, kPanels>(args, panel, column, column == 0);
        column += kColumns;
      }
  };
  rest(std::integral_constant<int, 6>{});
  rest(std::integral_constant<int, 4>{});
  rest(std::integral_constant<int, 3>{});
  rest(std::integral_constant<int, 2>{});
  rest(std::integral_constant<int, 1>{});
}

template <class L>
void linear(const LinearArgs& args) {
  int panel = 0;
  // Several panels share the activation broadcasts, but each is a stream of weights of its own.
  if (kTilePanels > 1 && args.columns >= kTileColumns)
    for (; panel + kTilePanels <= args.panel_count; panel += kTilePanels) linear_columns<L, kTilePanels>(args, panel);
  for (; panel < args.panel_count; ++panel) linear_columns<L, 1>(args, panel);
}

int32_t dot_rate(int64_t n) {
  constexpr int kChains = 12;  // enough to hide the latency of any level's instruction
  I32x16 sums[kChains];
#pragma GCC unroll 12
  for (int i = 0; i < kChains; ++i) sums[i] = i_set(i);
  uint8_t bytes[64];
  for (int i = 0; i < 64; ++i) bytes[i] = uint8_t(i);
  const U8x64 quants = b_load(bytes);
  int32_t words[kChains] = {};
  for (int64_t i = 0; i < n; i += kChains) {
    asm volatile("" : "+m"(words));  // they may be others each time: nothing can be computed beforehand
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) sums[c] = dot_small(sums[c], quants, words[c]);
  }
#pragma GCC unroll 12
  for (int i = 1; i < kChains; ++i) sums[0] = i_add(sums[0], sums[i]);
  return i_reduce_add(sums[0]) | 1;
}

void quantize(const float* x, int64_t n, int8_t* q, float* scale, int32_t* sum) {
  for (int64_t b = 0; b < n / kBlock; ++b, x += kBlock, q += kBlock) {
    const F32x16 first = f_load(x), second = f_load(x + 16);
    const float largest = f_reduce_max(f_max(f_abs(first), f_abs(second)));
    const F32x16 inverse = f_set(largest > 0 ? 127.0f / largest : 0.0f);
    const I32x16 a = i_round(f_mul(first, inverse)), c = i_round(f_mul(second, inverse));
    sum[2 * b] = i_reduce_add(a);
    sum[2 * b + 1] = i_reduce_add(c);
    scale[2 * b] = largest / 127.0f;
    scale[2 * b + 1] = scale[2 * b] * float(sum[2 * b] + sum[2 * b + 1]);
    i_store_s8(q, a);
    i_store_s8(q + 16, c);
  }
}

}  // namespace
}  // namespace anedvd
