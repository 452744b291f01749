// What the threads of one step share, and each thread's own buffers. Internal to the CPU device.
#pragma once

#include <vector>

#include "base/machine/huge_buffer.h"
#include "base/machine/spin_pool.h"
#include "cpu/expert_weights.h"
#include "cpu/kernels/kernel_table.h"
#include "cpu/phases.h"
#include "cpu/rope_table.h"
#include "cpu/weights.h"
#include "device/step.h"

namespace anedvd {

// Up to this many columns every thread does the column phases for itself. A column's norm and quantisation take 0.3 µs, a barrier 0.7 µs and more; three
// columns were measured equal either way, four 5 % faster shared.
constexpr int kRedundantColumns = 3;

// The int8 form of columns: see LinearArgs.
struct QuantisedRows {
  int8_t* q = nullptr;
  float* scale = nullptr;
  int32_t* sum = nullptr;
};

// One set of value buffers: the shared one, or a thread's private one.
struct BufferSet {
  HugeBuffer memory;
  std::vector<int64_t> offset;  // of each buffer, in floats
  int columns = 0;

  QuantisedRows input;  // of the next linear phase: [columns][widest]
  QuantisedRows inner;  // what a gate leaves for the linears behind it, in the shared set
};

// A thread's own buffers of a mixture of experts: what it computes of one expert, and the pairs (column, expert) in order.
struct MoeScratch {
  std::vector<int> first, next, pairs;  // pairs of expert e: [first[e], first[e + 1]), as column · used + rank
  std::vector<uint8_t> taken;
  std::vector<float> shares, gate, up, outer, row;
  std::vector<float> x;
  std::vector<int8_t> q;
  std::vector<float> scale;
  std::vector<int32_t> sum;
};

// What the threads share of a mixture of experts. Rows are pairs in the order of MoeScratch::pairs.
struct MoeBuffers {
  std::vector<int> chosen;    // [columns][used]
  std::vector<float> weight;  // the same
  std::vector<float> inner;   // [pairs][inner_floats]
  std::vector<int8_t> q;      // inner activations as int8: [pairs][width], scales and sums by block
  std::vector<float> scale;
  std::vector<int32_t> sum;

  void reserve(const Plan& plan, int columns);
};

// Floats of one pair's inner activations: whole blocks.
int64_t inner_floats(int ffn_width);

struct ThreadScratch {
  MoeScratch moe;
  std::vector<float> rows;     // a dequantised row; panels of a gate
  std::vector<float> scores;   // kAttentionTile × kAttentionChunk
  std::vector<float> records;  // partial results of the queries of one attention item
  std::vector<AttentionQuery> queries;
  std::vector<const uint16_t*> pages, next_pages;
};

struct Column {
  int slice = 0;
  int position = 0;
  int32_t token = 0;
};

// A partial result of attention: weighted values, then the largest score and the sum.
inline int64_t record_floats(int padded_dim) { return padded_dim + kLanes; }
inline int padded(int n) { return (n + kLanes - 1) / kLanes * kLanes; }

struct StepState {
  const Plan* plan = nullptr;
  const KvLayout* layout = nullptr;
  Lowered lowered;
  const KernelTable* kernels = nullptr;
  Weights weights;
  std::vector<ExpertWeights> experts;  // by index into Plan::moes
  std::vector<RopeTable> ropes;
  MoeBuffers moe;

  BufferSet shared;
  std::vector<BufferSet> own;          // by thread
  std::vector<ThreadScratch> scratch;  // by thread
  std::vector<float> logits;           // [wanted][padded vocab]
  std::vector<float> records;          // narrow attention: [column][head][chunk] records
  int record_chunks = 0;               // chunks that a query's part of `records` has room for

  // Where each value's rows are when they are somebody else's (host_ops.h); empty: in the buffers.
  std::span<float* const> outside;

  // This step.
  std::span<const Slice> slices;
  std::vector<Column> columns;
  std::vector<int> wanted;  // columns whose logits are wanted
  int max_position = 0;     // largest of the step, plus one
};

// Room for `columns` columns of every buffer and of the widest value as int8. kNoMemory.
Result<BufferSet> make_buffers(const StepState& state, int columns);

// Every thread's scratch, for steps of at most `columns` columns.
void reserve_scratch(StepState& state, int threads, int columns);

// Records for narrow attention up to the step's largest position.
void reserve_records(StepState& state);

// How a part of the step runs: which columns there are, and whether each thread does the column phases for itself.
struct Mode {
  int columns = 0;
  bool narrow = true;
  bool tail = false;  // columns are those of StepState::wanted
};

// Floats from one column of a value to the next.
inline int64_t row_stride(const StepState& state, ValueId value) {
  const bool is_packed = !state.outside.empty() || value == state.plan->logits;
  return is_packed ? padded(state.plan->values[size_t(value)].dim)
                   : state.lowered.buffer_floats[size_t(state.lowered.buffer[size_t(value)])];
}

// Where a thread finds a value's row in this mode.
inline float* row_of(StepState& state, const Mode& mode, ValueId value, int thread, int column) {
  if (!state.outside.empty()) return state.outside[size_t(value)] + column * row_stride(state, value);
  if (value == state.plan->logits) return state.logits.data() + int64_t(column) * padded(state.plan->vocab);
  const auto buffer = size_t(state.lowered.buffer[size_t(value)]);
  BufferSet& set = mode.narrow && state.lowered.from_columns[size_t(value)] ? state.own[size_t(thread)] : state.shared;
  return set.memory.as<float>() + set.offset[buffer] + int64_t(column) * state.lowered.buffer_floats[buffer];
}

// One thread's part of each kind of phase.
void run_columns(StepState& state, const Mode& mode, const ColumnPhase& phase, int thread, int threads);
void run_linear(StepState& state, const Mode& mode, const LinearPhase& phase, int thread, int threads);
// Waits at pool.barrier() itself between appending and attending when columns are many.
void run_attention(StepState& state, const Mode& mode, const Op& op, int thread, SpinPool& pool);
void run_conv(StepState& state, const Mode& mode, const Op& op, int thread, int threads);
// Waits at pool.barrier() itself behind routing and behind the inner activations.
void run_moe(StepState& state, const Mode& mode, const Op& op, int thread, SpinPool& pool);
// The first step of the column phase behind a narrow attention: merges the records of `column` into its row.
void merge_attention(StepState& state, const Mode& mode, const Op& op, int thread, int column);

// Chunks of 128 positions that a query at `position` sees: [first, last).
struct ChunkRange {
  int first = 0, last = 0;
};
ChunkRange visible_chunks(const PlanAttention& attention, int position);

}  // namespace anedvd
