// Attention of a few queries over one chunk of one KV head, and the merge of the chunks.
//
// Chunks begin at fixed positions and each query's sums run over positions in ascending order, so a query's bits depend on its own position and the
// cache alone: not on the other queries of the tile, the step or the thread.
#pragma once

namespace anedvd {
namespace {

constexpr int kPagePositions = 16;

// Scores of kQueries queries at the 16 positions of one K block. Even and odd dimensions are summed apart: two chains hide the latency.
// kFetch asks for what comes next meanwhile, the values of the same block and the keys of the next but one: they lie where the processor's own prefetch
// does not follow (a block of each layer and head in a page).
template <int kQueries, bool kFetch>
inline void score_page(const AttentionChunkArgs& args, int page, int last_page, const float* const (&q)[kQueries],
                       F32x16 (&score)[kQueries]) {
  const uint16_t* k = args.pages[page];
  const uint16_t* v = k + int64_t(args.padded_dim) * kPagePositions;
  const uint16_t* later = args.pages[page + 2 < last_page ? page + 2 : page];
  F32x16 even[kQueries], odd[kQueries];
  for (int i = 0; i < kQueries; ++i) even[i] = odd[i] = f_set(0);
  int d = 0;
  for (; d + 2 <= args.head_dim; d += 2) {
    if (kFetch) prefetch(v + d * kPagePositions);
    if (kFetch) prefetch(later + d * kPagePositions);
    const F32x16 first = f_load_half(k + d * kPagePositions), second = f_load_half(k + (d + 1) * kPagePositions);
    for (int i = 0; i < kQueries; ++i) {
      even[i] = f_fma(first, f_set(q[i][d]), even[i]);
      odd[i] = f_fma(second, f_set(q[i][d + 1]), odd[i]);
    }
  }
  if (d < args.head_dim) {
    const F32x16 first = f_load_half(k + d * kPagePositions);
    for (int i = 0; i < kQueries; ++i) even[i] = f_fma(first, f_set(q[i][d]), even[i]);
  }
  for (int i = 0; i < kQueries; ++i) score[i] = f_add(even[i], odd[i]);
}

// Weighted values of kVectors × 16 dimensions from `first` on. kFetch asks for the keys of the next chunk meanwhile.
template <int kQueries, int kVectors, bool kFetch>
inline void weigh_values(const AttentionChunkArgs& args, const AttentionQuery* queries, int begin, int end, int first) {
  F32x16 sum[kQueries][kVectors];
  for (int i = 0; i < kQueries; ++i)
    for (int j = 0; j < kVectors; ++j) sum[i][j] = f_set(0);
  const int64_t k_words = int64_t(args.padded_dim) * kPagePositions;
  for (int position = begin; position < end; ++position) {
    const uint16_t* v =
        args.pages[position / kPagePositions] + k_words + (position % kPagePositions) * args.padded_dim + first;
    if (kFetch) {
      const uint16_t* next =
          args.next_pages[position / kPagePositions] + (v - args.pages[position / kPagePositions] - k_words);
      prefetch(next);
      if (kVectors > 2) prefetch(next + 2 * kLanes);
    }
    F32x16 value[kVectors];
    for (int j = 0; j < kVectors; ++j) value[j] = f_load_half(v + kLanes * j);
    for (int i = 0; i < kQueries; ++i) {
      const F32x16 weight = f_set(args.scores[i * kAttentionChunk + position]);
      for (int j = 0; j < kVectors; ++j) sum[i][j] = f_fma(value[j], weight, sum[i][j]);
    }
  }
  for (int i = 0; i < kQueries; ++i)
    for (int j = 0; j < kVectors; ++j) f_store(queries[i].partial + first + kLanes * j, sum[i][j]);
}

template <int kQueries, bool kFetch>
inline void attend(const AttentionChunkArgs& args, AttentionQuery* queries) {
  const float* q[kQueries];
  int begin = kAttentionChunk, end = 0;
  F32x16 largest[kQueries];
  const float kNone = -__builtin_inff();
  for (int i = 0; i < kQueries; ++i) {
    q[i] = queries[i].q;
    begin = queries[i].begin < begin ? queries[i].begin : begin;
    end = queries[i].end > end ? queries[i].end : end;
    largest[i] = f_set(kNone);
  }
  const int first_page = begin / kPagePositions, last_page = (end + kPagePositions - 1) / kPagePositions;
  for (int page = first_page; page < last_page; ++page) {
    F32x16 score[kQueries];
    score_page<kQueries, kFetch>(args, page, last_page, q, score);
    for (int i = 0; i < kQueries; ++i) {
      F32x16 s = f_mul(score[i], f_set(args.scale));
      if (args.softcap > 0) s = f_mul(f_set(args.softcap), f_tanh(f_mul(s, f_set(1.0f / args.softcap))));
      s = f_between(s, queries[i].begin - page * kPagePositions, queries[i].end - page * kPagePositions, kNone);
      largest[i] = f_max(largest[i], s);
      f_store(args.scores + i * kAttentionChunk + page * kPagePositions, s);
    }
  }
  for (int i = 0; i < kQueries; ++i) {
    const float peak = f_reduce_max(largest[i]);
    F32x16 sum = f_set(0);
    for (int page = first_page; page < last_page; ++page) {
      float* s = args.scores + i * kAttentionChunk + page * kPagePositions;
      F32x16 e = f_exp(f_sub(f_load(s), f_set(peak)));
      e = f_between(e, queries[i].begin - page * kPagePositions, queries[i].end - page * kPagePositions, 0.0f);
      sum = f_add(sum, e);
      f_store(s, e);
    }
    *queries[i].max = peak;
    *queries[i].sum = f_reduce_add(sum);
  }
  int d = 0;
  for (; d + 4 * kLanes <= args.padded_dim; d += 4 * kLanes)
    weigh_values<kQueries, 4, kFetch>(args, queries, begin, end, d);
  for (; d < args.padded_dim; d += kLanes) weigh_values<kQueries, 1, kFetch>(args, queries, begin, end, d);
}

template <bool kFetch>
inline void attend_some(const AttentionChunkArgs& args, AttentionQuery* queries, int count) {
  switch (count) {
    case 4: attend<4, kFetch>(args, queries); break;
    case 3: attend<3, kFetch>(args, queries); break;
    case 2: attend<2, kFetch>(args, queries); break;
    default: attend<1, kFetch>(args, queries); break;
  }
}

void attention_chunk(const AttentionChunkArgs& args) {
  for (int i = 0; i < args.query_count; i += 4) {
    const int count = args.query_count - i < 4 ? args.query_count - i : 4;
    // The first queries find the cache cold.
    i == 0 && args.next_pages ? attend_some<true>(args, args.queries, count)
                              : attend_some<false>(args, args.queries + i, count);
  }
}

// Σ weight·partial and Σ weight·sum over all chunks, divided: kVectors × 16 dimensions from `first` on.
template <int kVectors>
inline void merge_vectors(const float* records, int64_t stride, int chunks, int padded_dim, float peak, int first,
                          F32x16 (&result)[kVectors]) {
  F32x16 sum[kVectors], denominator = f_set(0);
  for (int j = 0; j < kVectors; ++j) sum[j] = f_set(0);
  for (int group = 0; group < chunks; group += kLanes) {
    const int count = chunks - group < kLanes ? chunks - group : kLanes;
    const float* record = records + group * stride;
    float weights[kLanes];
    for (int c = 0; c < kLanes; ++c) weights[c] = c < count ? record[c * stride + padded_dim] : peak;
    f_store(weights, f_exp(f_sub(f_load(weights), f_set(peak))));
    for (int c = 0; c < count; ++c, record += stride) {
      const F32x16 weight = f_set(weights[c]);
      for (int j = 0; j < kVectors; ++j) sum[j] = f_fma(weight, f_load(record + first + j * kLanes), sum[j]);
      denominator = f_fma(weight, f_set(record[padded_dim + 1]), denominator);
    }
  }
  for (int j = 0; j < kVectors; ++j) result[j] = f_div(sum[j], denominator);
}

void attention_merge(const float* records, int64_t stride, int chunks, int head_dim, int padded_dim, float* out) {
  float peak = records[padded_dim];
  for (int c = 1; c < chunks; ++c)
    peak = records[c * stride + padded_dim] > peak ? records[c * stride + padded_dim] : peak;
  int d = 0;
  for (; d + 4 * kLanes <= head_dim; d += 4 * kLanes) {
    F32x16 result[4];
    merge_vectors(records, stride, chunks, padded_dim, peak, d, result);
    for (int j = 0; j < 4; ++j) f_store(out + d + j * kLanes, result[j]);
  }
  for (; d < padded_dim; d += kLanes) {
    F32x16 result[1];
    merge_vectors(records, stride, chunks, padded_dim, peak, d, result);
    float lanes[kLanes];
    f_store(lanes, result[0]);
    for (int i = 0; i < kLanes && d + i < head_dim; ++i) out[d + i] = lanes[i];
  }
}

void append_kv(const float* k, const float* v, int head_dim, int padded_dim, int slot, uint16_t* page) {
  uint16_t* values = page + int64_t(padded_dim) * kPagePositions + int64_t(slot) * padded_dim;
  for (int d = 0; d < padded_dim; d += kLanes) {
    const int count = head_dim - d < kLanes ? head_dim - d : kLanes;
    uint16_t words[kLanes];
    f_store_half(words, count == kLanes ? f_load(k + d) : f_load_tail(k + d, count));
    for (int i = 0; i < count; ++i) page[(d + i) * kPagePositions + slot] = words[i];
    f_store_half(values + d, count == kLanes ? f_load(v + d) : f_load_tail(v + d, count));
  }
}

}  // namespace
}  // namespace anedvd
