// The inner loops of the CPU device, one table of function pointers a SIMD level.
//
// Every level gives the same bits. Integer dot products are exact; every float operation is done lane by lane in an order that this page fixes
// (16 lanes, fused multiply-add where it says fma, reductions by halves). So a machine, a thread count or a batch size never changes an answer.
//
// This header is all that a kernel's translation unit shares with the program: no standard library beyond the integer types, because an inline
// function compiled there for AVX-512 could be picked by the linker for everybody.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anedvd {

constexpr int kLanes = 16;  // output rows in a panel; floats in a vector
constexpr int kBlock = 32;  // inputs that share a scale
// Bytes from the weights in use to those being fetched. 2.5 KiB was measured too short for one stream, 8 KiB enough.
constexpr int64_t kPrefetchBytes = 8192;
constexpr int kAttentionChunk = 128;  // positions that one pass of attention covers; its borders are fixed by position
constexpr int kAttentionTile = 4;     // queries that one pass reads keys and values for

// Packed weights: see pack.h for the bytes.
enum PackFormat : int {
  kPackQ4_0,
  kPackQ4_1,
  kPackQ5_0,
  kPackQ5_1,
  kPackQ8_0,
  kPackQ4_K,
  kPackQ5_K,
  kPackQ6_K,
  kPackIQ4_NL,
  kPackMXFP4,
  kPackQ3_K,
  kPackQ2_K,
  kPackIQ4_XS,
  kPackF16,
  kPackBF16,
  kPackF32,
  kPackFormats
};

// y[m][16·p + lane] = Σ_k w[16·p + lane, k] · x[m, k] for panels p and columns m.
struct LinearArgs {
  const std::byte* panels;  // the first panel
  int64_t panel_stride;     // bytes from one to the next
  int panel_count;
  int inputs;
  int blocks;       // inputs / 32
  const int8_t* q;  // [columns][blocks·32]
  const float*
      scale;  // [columns][blocks][2]: the block's scale, then scale · Σ q of the whole block, which minima multiply
  const int32_t* sum;  // [columns][blocks][2]: Σ q of each half of the block
  const float* x;      // [columns][x_stride]: what the float formats read in place of q, scale and sum
  int64_t x_stride;
  int columns;
  float* out;  // [columns][out_stride]; 16·panel_count floats are written in each
  int64_t out_stride;
};

// One query head at one column against one chunk of one KV head's cache.
struct AttentionQuery {
  const float* q;  // [head_dim]
  float* partial;  // [padded_dim] unnormalised weighted values
  float* max;      // largest score
  float* sum;      // Σ exp(score − max)
  int begin, end;  // visible positions of the chunk, 0 ≤ begin < end ≤ 128
};

struct AttentionChunkArgs {
  const uint16_t* const*
      pages;  // for each 16 positions: this head's K block [head_dim… padded][16], then V block [16][padded_dim]
  const uint16_t* const*
      next_pages;  // 8 pages whose K blocks are wanted soon, for the cache's sake; null: nothing is fetched ahead
  int head_dim, padded_dim;  // padded to 16
  float scale, softcap;      // softcap 0: none
  AttentionQuery* queries;
  int query_count;
  float* scores;  // scratch, kAttentionTile · kAttentionChunk floats
};

// Vectors of n floats have room up to the next multiple of 16; what is read there does not matter, and anything may be written there.
struct KernelTable {
  const char* name;   // as ANEDVD_SIMD takes it
  const char* words;  // as a person reads it

  void (*linear[kPackFormats])(const LinearArgs&);

  // Blocks of 32: scale = max|x| / 127, q = round to nearest even of x · (127 / max|x|), sum = Σ q of each half.
  // Layouts as LinearArgs has them. n % 32 == 0.
  void (*quantize)(const float* x, int64_t n, int8_t* q, float* scale, int32_t* sum);

  // Σ a·b in 4 × 16 lanes by fma. n is exact: nothing beyond is read.
  float (*dot)(const float* a, const float* b, int64_t n);

  void (*rms_norm)(const float* x, const float* weight, float eps, int n, float* out);  // weight may be null
  void (*add)(const float* a, const float* b, int n, float* out);
  void (*mul)(const float* a, const float* b, int n, float* out);
  void (*scale)(const float* x, float factor, int n, float* out);
  void (*silu)(const float* x, int n, float* out);
  void (*gelu)(const float* x, int n, float* out);
  void (*softcap)(const float* x, float cap, int n, float* out);
  // gpt-oss's gate: g = min(gate, 7), u = clamp(up, ±7), out = (u + 1) · g · sigmoid(1.702 · g).
  void (*clamped_swiglu)(const float* gate, const float* up, int n, float* out);
  // exp(x − max) / Σ exp(x − max); n is exact: nothing beyond is read or written.
  void (*softmax)(const float* x, int n, float* out);

  // Half-split rotation of `heads` heads: pairs (i, i + pairs), i < pairs; the rest of a head is copied.
  void (*rope)(const float* x, const float* cosine, const float* sine, int pairs, int head_dim, int heads, float* out);

  // Writes one position of one head: K column `slot` of the block at `page`, V row `slot` after it.
  void (*append_kv)(const float* k, const float* v, int head_dim, int padded_dim, int slot, uint16_t* page);

  void (*attention_chunk)(const AttentionChunkArgs&);

  // out[head_dim] = Σ_c w_c·partial_c / Σ_c w_c·sum_c with w_c = exp(max_c − max), in order of c.
  // Chunk c's record: partial[padded_dim], then max, then sum, `stride` floats apart.
  void (*attention_merge)(const float* records, int64_t stride, int chunks, int head_dim, int padded_dim, float* out);

  // n or a few more byte dot products of 64 pairs each, all in registers: how fast the level multiplies. Returns what depends on each of them.
  int32_t (*dot_rate)(int64_t n);
};

// The levels of this build, null where the build has none. Only select.cpp asks.
const KernelTable* scalar_kernels();
const KernelTable* avx2_kernels();
const KernelTable* avx512_kernels();
const KernelTable* vnni_kernels();
const KernelTable* amx_kernels();
const KernelTable* neon_kernels();
const KernelTable* dotprod_kernels();
const KernelTable* i8mm_kernels();

}  // namespace anedvd
