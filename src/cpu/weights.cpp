#include "cpu/weights.h"

#include "base/mapped_file.h"
#include "base/words.h"
#include "cpu/pack.h"
#include "cpu/panel_rows.h"

namespace anedvd {

constexpr int kReleasePanels = 32;  // 512 rows: some hundred kilobytes

// Gives back the file's pages that hold panels [first, last) of a linear.
void release_rows(const LinearWeights& linear, int first, int last) {
  const int64_t begin = int64_t(first) * kLanes, end = std::min(linear.ref.rows, int64_t(last) * kLanes);
  if (begin < end) MappedFile::release(linear.tensor->row(linear.ref.first_row + begin, end - begin));
}

Result<const TensorView*> find_tensor(const WeightRef& ref, const TensorFinder& find) {
  const TensorView* tensor = find(ref.tensor);
  if (tensor == nullptr) return fail(ErrorCode::kNotFound, "tensor \"{}\" is missing", visible(ref.tensor));
  const int64_t rows = ref.first_row + (ref.rows - 1) * ref.row_step + 1;
  if (tensor->cols() != ref.cols || tensor->rows() < rows)
    return fail(ErrorCode::kBadFile, "tensor \"{}\" has shape {}, expected [{}, {}]", visible(ref.tensor),
                shape_words(tensor->shape), rows, ref.cols);
  return tensor;
}

namespace {

// A norm's weight or a bias: one row of rows·cols numbers, in the weight's row order.
Result<std::vector<float>> read_vector(const WeightRef& ref, const TensorFinder& find) {
  const TensorView* tensor = find(ref.tensor);
  const int64_t count = ref.rows * ref.cols;
  if (tensor == nullptr) return fail(ErrorCode::kNotFound, "tensor \"{}\" is missing", visible(ref.tensor));
  const int64_t needed = ref.first_row + (count - 1) * ref.row_step + 1;
  if (tensor->elements() < needed)
    return fail(ErrorCode::kBadFile, "tensor \"{}\" has shape {}, expected {} numbers", visible(ref.tensor),
                shape_words(tensor->shape), needed);
  std::vector<float> stored(size_t(tensor->elements()));
  dequantize(*tensor, 0, tensor->rows(), stored);
  // Whole vectors are read from it: zeros up to the next multiple of 16.
  std::vector<float> values(size_t((count + kLanes - 1) / kLanes * kLanes), 0.0f);
  for (int64_t i = 0; i < count; ++i) values[size_t(i)] = stored[size_t(stored_row(ref, i))] + ref.add;
  return values;
}

}  // namespace

Result<Weights> Weights::find(const Plan& plan, const TensorFinder& find, bool exact) {
  Weights weights;
  ANEDVD_TRY_VOID(weights.find_all(plan, find, exact));
  return weights;
}

Result<> Weights::pack(std::span<const Phase> phases, SpinPool& pool) {
  std::vector<int64_t> arena_bytes(size_t(pool.threads()), 0);
  place(phases, pool.threads(), arena_bytes);
  const size_t first = arenas_.size();
  for (const int64_t bytes : arena_bytes) {
    ANEDVD_TRY(HugeBuffer arena, HugeBuffer::reserve(size_t(bytes)));
    packed_bytes_ += uint64_t(bytes);
    arenas_.push_back(std::move(arena));
  }
  // Each thread touches and fills what it will read.
  std::vector<Result<>> results(size_t(pool.threads()));
  pool.run([&](int thread) { results[size_t(thread)] = fill(phases, thread, arenas_[first + size_t(thread)].data()); });
  for (const Result<>& result : results) ANEDVD_TRY_VOID(result);
  return {};
}

Result<> Weights::find_all(const Plan& plan, const TensorFinder& find, bool exact) {
  linears_.resize(plan.ops.size());
  vectors_.resize(plan.weights.size());
  tables_.resize(plan.weights.size(), nullptr);
  const auto read = [&](WeightId id) -> Result<> {
    if (id < 0 || !vectors_[size_t(id)].empty()) return {};
    ANEDVD_TRY(vectors_[size_t(id)], read_vector(plan.weights[size_t(id)], find));
    return {};
  };
  for (const PlanAttention& attention : plan.attentions) ANEDVD_TRY_VOID(read(attention.sinks));
  for (const PlanMoe& moe : plan.moes)
    for (const WeightId id : {moe.gate_bias, moe.up_bias, moe.down_bias, moe.scale}) ANEDVD_TRY_VOID(read(id));
  for (size_t i = 0; i < plan.ops.size(); ++i) {
    const Op& op = plan.ops[i];
    if (op.kind == OpKind::kLinear) {
      LinearWeights& linear = linears_[i];
      linear.ref = plan.weights[size_t(op.weight)];
      ANEDVD_TRY(linear.tensor, find_tensor(linear.ref, find));
      if (!exact) linear.format = pack_format(linear.ref.pack_as.value_or(linear.tensor->dtype));
      linear.panels = int((linear.ref.rows + kLanes - 1) / kLanes);
      if (op.bias >= 0) {
        ANEDVD_TRY(linear.bias, read_vector(plan.weights[size_t(op.bias)], find));
      }
    } else if (op.kind == OpKind::kEmbed) {
      ANEDVD_TRY(tables_[size_t(op.weight)], find_tensor(plan.weights[size_t(op.weight)], find));
    } else {
      ANEDVD_TRY_VOID(read(op.weight));
      ANEDVD_TRY_VOID(read(op.bias));
    }
  }
  return {};
}

std::pair<int, int> Weights::panels_of(const LinearPhase& phase, int thread, int threads) const {
  int total = 0;
  for (int op : phase.linears) total += linears_[size_t(op)].panels;
  if (phase.gated) total /= 2;
  // A phase that quantises its output is shared out in whole blocks.
  const int unit = phase.quantises ? kBlock / kLanes : 1;
  const auto [first, last] = share_of(total / unit, thread, threads);
  return {first * unit, last * unit};
}

// Gives every thread its panels and their place in its arena, phase by phase. The panels of a phase's linears are one row of work, so that a small
// matrix (k, v) does not leave threads idle; a gate's panels are followed by the same panels of up, group by group, as they are read.
void Weights::place(std::span<const Phase> phases, int threads, std::vector<int64_t>& arena_bytes) {
  for (const Phase& phase : phases) {
    const auto* linear_phase = std::get_if<LinearPhase>(&phase);
    if (linear_phase == nullptr) continue;
    for (int thread = 0; thread < threads; ++thread) {
      const auto [first, last] = panels_of(*linear_phase, thread, threads);
      int begin = 0;  // the linear's first panel in the row of work
      int64_t group_bytes = 0;
      for (int op : linear_phase->linears) {
        LinearWeights& linear = linears_[size_t(op)];
        linear.ranges.resize(size_t(threads));
        PanelRange& range = linear.ranges[size_t(thread)];
        range.first = std::clamp(first - begin, 0, linear.panels);
        range.count = std::clamp(last - begin, 0, linear.panels) - range.first;
        if (!linear_phase->gated) begin += linear.panels;
        range.stride = linear.format ? packed_panel_bytes(*linear.format, linear.ref.cols) : 0;
        if (linear_phase->gated) {
          range.base = reinterpret_cast<std::byte*>(arena_bytes[size_t(thread)] + group_bytes);
          range.group = kGatePanels;
          group_bytes += range.stride * kGatePanels;
        } else {
          range.base = reinterpret_cast<std::byte*>(arena_bytes[size_t(thread)]);
          arena_bytes[size_t(thread)] += range.stride * range.count;
        }
      }
      if (linear_phase->gated) {
        const int count = linears_[size_t(linear_phase->linears[0])].ranges[size_t(thread)].count;
        for (int op : linear_phase->linears) linears_[size_t(op)].ranges[size_t(thread)].group_stride = group_bytes;
        arena_bytes[size_t(thread)] += group_bytes * ((count + kGatePanels - 1) / kGatePanels);
      }
    }
  }
}

Result<> Weights::fill(std::span<const Phase> phases, int thread, const std::byte* arena) {
  for (const Phase& phase : phases) {
    const auto* linear_phase = std::get_if<LinearPhase>(&phase);
    if (linear_phase == nullptr) continue;
    for (int op : linear_phase->linears) {
      LinearWeights& linear = linears_[size_t(op)];
      PanelRange& range = linear.ranges[size_t(thread)];
      if (!linear.format) continue;
      // Until here `base` held the offset in the arena.
      range.base = const_cast<std::byte*>(arena) + reinterpret_cast<intptr_t>(range.base);
      PanelRows panel_rows(*linear.tensor, linear.ref);
      for (int p = 0; p < range.count; ++p) {
        ANEDVD_TRY(const auto rows, panel_rows.read(range.first + p));
        pack_panel(*linear.format, rows, linear.ref.cols, range.panel(p));
        // The packed copy is the one that will be read: give the file's pages back, in pieces, so that a large matrix is not in memory twice.
        if (p + 1 == range.count || (p + 1) % kReleasePanels == 0)
          release_rows(linear, range.first + p / kReleasePanels * kReleasePanels, range.first + p + 1);
      }
    }
  }
  return {};
}

}  // namespace anedvd
