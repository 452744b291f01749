// Attention over the paged cache.
//
// Few columns: the cache is split by (KV head, chunk of 128 positions) over the threads; each part leaves a record (weighted values, largest score,
// sum) and the records are merged, in order, behind the barrier. Many columns: each item is a KV head and a block of columns of one sequence, which goes
// through all its chunks and merges by itself. Both do the same arithmetic in the same order, so they give the same bits.
#include <algorithm>

#include "cpu/step_state.h"

namespace anedvd {
namespace {

constexpr int kColumnBlock = 16;  // columns of one item when columns are many
constexpr int kChunkPages = kAttentionChunk / kPageTokens;

int sink_records(const PlanAttention& attention) { return attention.sinks >= 0 ? 1 : 0; }

class AttentionRunner {
 public:
  AttentionRunner(StepState& state, const Mode& mode, const Op& op, int thread, int threads)
      : state_(state),
        mode_(mode),
        op_(op),
        attention_(state.plan->attentions[size_t(op.spec)]),
        thread_(thread),
        threads_(threads),
        scratch_(state.scratch[size_t(thread)]),
        group_(attention_.heads / attention_.kv_heads),
        padded_(padded(attention_.head_dim)) {}

  // Keys and values of this thread's columns.
  void append_columns() {
    if (!attention_.appends) return;
    const auto [first, last] = share_of(mode_.columns, thread_, threads_);
    for (int c = first; c < last; ++c)
      for (int head = 0; head < attention_.kv_heads; ++head) append(c, head);
  }

  void attend_split_by_chunk() {
    // One item behind: while a chunk is worked on, the next one's keys are fetched.
    Item waiting;
    for (int first = 0; first < mode_.columns;) {
      const int last = end_of_slice(first);
      const int begin_chunk = visible_chunks(attention_, position(first)).first;
      const int end_chunk = visible_chunks(attention_, position(last - 1)).last;
      for (int head = 0; head < attention_.kv_heads; ++head)
        for (int chunk = begin_chunk; chunk < end_chunk; ++chunk) {
          if ((state_.columns[size_t(first)].slice + head + chunk) % threads_ != thread_) continue;
          const Item item{first, last, head, chunk};
          if (waiting.last > 0) attend_chunk_of_slice(waiting, item);
          waiting = item;
        }
      first = last;
    }
    if (waiting.last > 0) attend_chunk_of_slice(waiting, waiting);
  }

  void attend_by_block() {
    int item = 0;
    for (int first = 0; first < mode_.columns;) {
      const int last = end_of_slice(first);
      for (int block = first; block < last; block += kColumnBlock)
        for (int head = 0; head < attention_.kv_heads; ++head)
          if (item++ % threads_ == thread_) attend_block(block, std::min(last, block + kColumnBlock), head);
      first = last;
    }
  }

 private:
  // A chunk of one KV head that columns [first, last) of a sequence see.
  struct Item {
    int first = 0, last = 0, head = 0, chunk = 0;
  };

  int position(int column) const { return state_.columns[size_t(column)].position; }

  int end_of_slice(int first) const {
    int last = first;
    while (last < mode_.columns && state_.columns[size_t(last)].slice == state_.columns[size_t(first)].slice) ++last;
    return last;
  }

  uint16_t* head_page(int column, int page, int head) const {
    const Slice& slice = state_.slices[size_t(state_.columns[size_t(column)].slice)];
    return slice.kv.pages[size_t(page)] + state_.layout->head_offset(attention_.cache_layer, head);
  }

  void append(int column, int head) {
    const float* k = row_of(state_, mode_, op_.in[1], thread_, column) + head * attention_.head_dim;
    const float* v = row_of(state_, mode_, op_.in[2], thread_, column) + head * attention_.head_dim;
    const int at = position(column);
    state_.kernels->append_kv(k, v, attention_.head_dim, padded_, at % kPageTokens,
                              head_page(column, at / kPageTokens, head));
  }

  // Visible positions of `column` within a chunk; empty when begin ≥ end.
  std::pair<int, int> visible_in(int column, int chunk) const {
    const int at = position(column), base = chunk * kAttentionChunk;
    const int begin = attention_.window ? std::max(0, at - *attention_.window + 1 - base) : 0;
    return {begin, std::min(kAttentionChunk, at + 1 - base)};
  }

  void attend_chunk_of_slice(const Item& item, const Item& next) {
    const auto [first, last, head, chunk] = item;
    // The owner of a chunk writes what is new in it: nobody else reads it before the barrier.
    if (attention_.appends)
      for (int c = first; c < last; ++c)
        if (position(c) / kAttentionChunk == chunk) append(c, head);
    scratch_.queries.clear();
    for (int c = first; c < last; ++c) {
      add_queries(c, head, chunk, narrow_record(c, head, chunk), record_stride());
      if (position(c) / kAttentionChunk == chunk) put_sinks(head, narrow_record(c, head, chunk + 1));
    }
    scratch_.next_pages.clear();
    add_pages(next.last - 1, next.head, next.chunk, scratch_.next_pages);
    while (int(scratch_.next_pages.size()) < kChunkPages) scratch_.next_pages.push_back(scratch_.next_pages.back());
    run_chunk(last - 1, head, chunk, scratch_.next_pages.data());
  }

  // A sink is one more chunk: its logit is the largest score, its sum 1, its values 0. `record`: that of the KV head's first query head.
  void put_sinks(int kv_head, float* record) const {
    if (attention_.sinks < 0) return;
    const float* sinks = state_.weights.vector(attention_.sinks) + kv_head * group_;
    for (int g = 0; g < group_; ++g, record += records_of_head() * record_stride()) {
      std::fill(record, record + padded_, 0.0f);
      record[padded_] = sinks[g];
      record[padded_ + 1] = 1;
    }
  }

  int64_t record_stride() const { return record_floats(padded_); }

  // Records of one column and head lie together, a chunk after the other, from the first that the column sees.
  float* narrow_record(int column, int kv_head, int chunk) const {
    const int64_t head = int64_t(column) * attention_.heads + kv_head * group_;
    const int local = chunk - visible_chunks(attention_, position(column)).first;
    return state_.records.data() + (head * state_.record_chunks + local) * record_stride();
  }

  // The query heads of one KV head at one column; their records are records_of_head() apart.
  void add_queries(int column, int kv_head, int chunk, float* record, int64_t stride) {
    const auto [begin, end] = visible_in(column, chunk);
    if (begin >= end) return;
    const float* q = row_of(state_, mode_, op_.in[0], thread_, column) + kv_head * group_ * attention_.head_dim;
    for (int g = 0; g < group_; ++g) {
      float* target = record + g * records_of_head() * stride;
      scratch_.queries.push_back(
          {q + g * attention_.head_dim, target, target + padded_, target + padded_ + 1, begin, end});
    }
  }

  int64_t records_of_head() const { return mode_.narrow ? state_.record_chunks : block_chunks_; }

  void add_pages(int last_column, int head, int chunk, std::vector<const uint16_t*>& pages) const {
    const int end_page = position(last_column) / kPageTokens + 1;
    for (int page = chunk * kChunkPages; page < std::min(end_page, (chunk + 1) * kChunkPages); ++page)
      pages.push_back(head_page(last_column, page, head));
  }

  void run_chunk(int last_column, int head, int chunk, const uint16_t* const* next_pages) {
    if (scratch_.queries.empty()) return;
    scratch_.pages.clear();
    add_pages(last_column, head, chunk, scratch_.pages);
    AttentionChunkArgs args;
    args.pages = scratch_.pages.data();
    args.next_pages = next_pages;
    args.head_dim = attention_.head_dim;
    args.padded_dim = padded_;
    args.scale = attention_.scale;
    args.softcap = attention_.softcap;
    args.queries = scratch_.queries.data();
    args.query_count = int(scratch_.queries.size());
    args.scores = scratch_.scores.data();
    state_.kernels->attention_chunk(args);
  }

  void attend_block(int first, int last, int head) {
    const int begin_chunk = visible_chunks(attention_, position(first)).first;
    const int end_chunk = visible_chunks(attention_, position(last - 1)).last;
    block_chunks_ = end_chunk - begin_chunk + sink_records(attention_);
    const int64_t per_column = int64_t(group_) * block_chunks_ * record_stride();
    const auto needed = size_t(per_column * (last - first));
    if (scratch_.records.size() < needed) scratch_.records.resize(needed);
    const auto record_of = [&](int column, int local) {
      return scratch_.records.data() + (column - first) * per_column + local * record_stride();
    };
    for (int chunk = begin_chunk; chunk < end_chunk; ++chunk) {
      scratch_.queries.clear();
      for (int c = first; c < last; ++c)
        add_queries(c, head, chunk, record_of(c, chunk - visible_chunks(attention_, position(c)).first),
                    record_stride());
      run_chunk(last - 1, head, chunk, nullptr);
    }
    for (int c = first; c < last; ++c) {
      const ChunkRange seen = visible_chunks(attention_, position(c));
      put_sinks(head, record_of(c, seen.last - seen.first));
      float* out = row_of(state_, mode_, op_.out, thread_, c) + head * group_ * attention_.head_dim;
      for (int g = 0; g < group_; ++g)
        state_.kernels->attention_merge(record_of(c, 0) + g * block_chunks_ * record_stride(), record_stride(),
                                        seen.last - seen.first + sink_records(attention_), attention_.head_dim, padded_,
                                        out + g * attention_.head_dim);
    }
  }

  StepState& state_;
  const Mode& mode_;
  const Op& op_;
  const PlanAttention& attention_;
  const int thread_, threads_;
  ThreadScratch& scratch_;
  const int group_;
  const int padded_;
  int64_t block_chunks_ = 0;
};

}  // namespace

ChunkRange visible_chunks(const PlanAttention& attention, int position) {
  const int first = attention.window ? std::max(0, position - *attention.window + 1) : 0;
  return {first / kAttentionChunk, position / kAttentionChunk + 1};
}

void run_attention(StepState& state, const Mode& mode, const Op& op, int thread, SpinPool& pool) {
  AttentionRunner runner(state, mode, op, thread, pool.threads());
  if (mode.narrow) {
    runner.attend_split_by_chunk();
  } else {
    runner.append_columns();
    pool.barrier(thread);
    runner.attend_by_block();
  }
}

void merge_attention(StepState& state, const Mode& mode, const Op& op, int thread, int column) {
  const PlanAttention& attention = state.plan->attentions[size_t(op.spec)];
  const int padded_dim = padded(attention.head_dim);
  const ChunkRange seen = visible_chunks(attention, state.columns[size_t(column)].position);
  float* out = row_of(state, mode, op.out, thread, column);
  for (int head = 0; head < attention.heads; ++head) {
    const float* records = state.records.data() +
                           (int64_t(column) * attention.heads + head) * state.record_chunks * record_floats(padded_dim);
    state.kernels->attention_merge(records, record_floats(padded_dim), seen.last - seen.first + sink_records(attention),
                                   attention.head_dim, padded_dim, out + head * attention.head_dim);
  }
}

}  // namespace anedvd
