#include "cpu/step_state.h"

#include <algorithm>

namespace anedvd {
namespace {

// Floats of the widest value, in whole blocks.
int64_t widest(const Plan& plan) {
  int64_t floats = 0;
  for (const Value& value : plan.values) floats = std::max<int64_t>(floats, value.dim);
  return (floats + kBlock - 1) / kBlock * kBlock;
}

}  // namespace

Result<BufferSet> make_buffers(const StepState& state, int columns) {
  BufferSet set;
  set.columns = columns;
  int64_t floats = 0;
  for (const int size : state.lowered.buffer_floats) {
    set.offset.push_back(floats);
    floats += int64_t(size) * columns;
  }
  const int64_t bytes_of_q = int64_t(columns) * widest(*state.plan), blocks = bytes_of_q / kBlock;
  const int64_t bytes = floats * 4 + 2 * (bytes_of_q + blocks * 8 + blocks * 8);
  ANEDVD_TRY(set.memory, HugeBuffer::reserve(size_t(bytes) + 64));
  float* at = set.memory.as<float>() + floats;
  for (QuantisedRows* rows : {&set.input, &set.inner}) {
    rows->scale = at;
    rows->sum = reinterpret_cast<int32_t*>(rows->scale + 2 * blocks);
    rows->q = reinterpret_cast<int8_t*>(rows->sum + 2 * blocks);
    at = reinterpret_cast<float*>(rows->q + bytes_of_q);
  }
  return set;
}

void reserve_scratch(StepState& state, int threads, int columns) {
  state.scratch.resize(size_t(threads));
  for (ThreadScratch& scratch : state.scratch) {
    scratch.rows.resize(size_t(widest(*state.plan)) + size_t(2 * kGatePanels * kLanes) * size_t(columns));
    scratch.scores.resize(size_t(kAttentionTile) * kAttentionChunk);
  }
}

void reserve_records(StepState& state) {
  // In steps of 8 chunks (1,024 positions), so that decoding does not grow them token by token.
  // One more than the chunks: a sink's record.
  const int chunks = (state.max_position + kAttentionChunk - 1) / kAttentionChunk + 1;
  if (chunks <= state.record_chunks && !state.records.empty()) return;
  state.record_chunks = (chunks + 7) / 8 * 8;
  int64_t largest = 0;
  for (const PlanAttention& attention : state.plan->attentions)
    largest = std::max(largest, attention.heads * record_floats(padded(attention.head_dim)));
  state.records.assign(size_t(largest * state.record_chunks * kRedundantColumns), 0.0f);
}

}  // namespace anedvd
