#include "cpu/cpu_executable.h"

#include <algorithm>
#include <cstring>

#include "cpu/kernels/select.h"
#include "cpu/pack.h"
#include "cpu/step_state.h"

namespace anedvd {
namespace {

class CpuExecutable : public Executable {
 public:
  CpuExecutable(const Plan& plan, const KvLayout& layout, int threads, int max_columns)
      : plan_(plan), layout_(layout), pool_(threads), max_columns_(max_columns) {}

  Result<> prepare(const TensorFinder& find, bool exact) {
    state_.plan = &plan_;
    state_.layout = &layout_;
    state_.lowered = lower(plan_);
    find_head_input();
    ANEDVD_TRY(state_.kernels, select_kernels());
    ANEDVD_TRY(state_.weights, Weights::find(plan_, find, exact));
    quantise_in_gates(state_.lowered, plan_, [this](int op) {
      const std::optional<PackFormat>& format = state_.weights.linear(op).format;
      return format && !reads_floats(*format);
    });
    ANEDVD_TRY_VOID(state_.weights.pack(state_.lowered.phases, pool_));
    for (const PlanMoe& moe : plan_.moes) {
      ANEDVD_TRY(ExpertWeights experts, ExpertWeights::load(plan_, moe, find, exact, pool_.threads()));
      state_.experts.push_back(std::move(experts));
    }
    state_.moe.reserve(plan_, max_columns_);
    for (const PlanRope& rope : plan_.ropes) state_.ropes.emplace_back(rope);
    ANEDVD_TRY(state_.shared, make_buffers(state_, max_columns_));
    for (int thread = 0; thread < pool_.threads(); ++thread) {
      ANEDVD_TRY(BufferSet own, make_buffers(state_, std::min(max_columns_, kRedundantColumns)));
      state_.own.push_back(std::move(own));
    }
    reserve_scratch(state_, pool_.threads(), max_columns_);
    return {};
  }

  int max_columns() const override { return max_columns_; }
  const StepState& state() const { return state_; }

  Result<> run(std::span<const Slice> slices) override {
    take(slices);
    const TraceSpan span(trace_, 0, "step", "step", int(state_.columns.size()));
    pool_.run_on_free_cores([this](int thread) { step(thread); });
    const int wanted = int(state_.wanted.size());
    const Mode tail{wanted, wanted <= kRedundantColumns, true};
    if (wanted > 0 && head_input_ >= 0) hidden_ = row_of(state_, tail, head_input_, 0, 0);
    return {};
  }

  std::span<const float> logits(int i) const override {
    return {state_.logits.data() + int64_t(i) * padded(plan_.vocab), size_t(plan_.vocab)};
  }

  std::span<const float> hidden(int i) const override {
    if (head_input_ < 0) return {};
    return {hidden_ + int64_t(i) * row_stride(state_, head_input_), size_t(plan_.values[size_t(head_input_)].dim)};
  }

  void record(Trace* trace) override {
    if (trace != nullptr && phase_names_.empty())
      for (const Phase& phase : state_.lowered.phases) phase_names_.push_back(name_of(phase));
    trace_ = trace;
  }
  int trace_threads() const override { return pool_.threads(); }
  void limit_threads(int threads) override { pool_.limit(threads); }

 private:
  // For traces: what a phase does and the first of its weights.
  std::string name_of(const Phase& phase) const {
    const auto weight = [&](int op) {
      const WeightId id = plan_.ops[size_t(op)].weight;
      return id < 0 ? std::string() : " " + plan_.weights[size_t(id)].tensor;
    };
    if (const auto* linear = std::get_if<LinearPhase>(&phase))
      return (linear->gated ? "gate and up" : "linear") + weight(linear->linears[0]);
    if (std::holds_alternative<AttentionPhase>(phase)) return "attention";
    if (std::holds_alternative<ConvPhase>(phase)) return "short convolution";
    if (std::holds_alternative<MoePhase>(phase)) return "experts";
    return "columns";
  }

  void wait(int thread, int columns) {
    const TraceSpan span(trace_, thread, "wait", "wait", columns);
    pool_.barrier(thread);
  }

  // What the last linear reads stays where it is unless a step behind it has the same buffer.
  void find_head_input() {
    size_t head = plan_.ops.size();
    while (head > 0 && plan_.ops[head - 1].kind != OpKind::kLinear) --head;
    if (head == 0) return;
    const ValueId input = plan_.ops[head - 1].in[0];
    for (size_t i = head; i < plan_.ops.size(); ++i) {
      const ValueId out = plan_.ops[i].out;
      if (out != plan_.logits && state_.lowered.buffer[size_t(out)] == state_.lowered.buffer[size_t(input)]) return;
    }
    head_input_ = input;
  }

  // Lists the step's columns and makes room for what depends on them.
  void take(std::span<const Slice> slices) {
    state_.slices = slices;
    state_.columns.clear();
    state_.wanted.clear();
    state_.max_position = 0;
    for (int s = 0; s < int(slices.size()); ++s) {
      const Slice& slice = slices[size_t(s)];
      for (int i = 0; i < int(slice.tokens.size()); ++i) {
        const bool is_last = i + 1 == int(slice.tokens.size());
        if (slice.want_all_logits || (is_last && slice.want_last_logits))
          state_.wanted.push_back(int(state_.columns.size()));
        state_.columns.push_back({s, slice.first_position + i, slice.tokens[size_t(i)]});
        state_.max_position = std::max(state_.max_position, slice.first_position + i + 1);
      }
    }
    const int columns = int(state_.columns.size());
    ANEDVD_CHECK(columns > 0 && columns <= max_columns_, "{} columns in a step of at most {}", columns, max_columns_);
    for (RopeTable& rope : state_.ropes) rope.reserve(state_.max_position);
    const size_t logits = state_.wanted.size() * size_t(padded(plan_.vocab));
    if (state_.logits.size() < logits) state_.logits.resize(logits);
    if (columns <= kRedundantColumns) reserve_records(state_);
  }

  void step(int thread) {
    const int threads = pool_.threads();
    Mode mode{int(state_.columns.size()), false, false};
    mode.narrow = mode.columns <= kRedundantColumns;
    const Op* attended = nullptr;  // a narrow attention whose records wait to be merged
    for (size_t i = 0; i < state_.lowered.phases.size(); ++i) {
      const Phase& phase = state_.lowered.phases[i];
      if (i == state_.lowered.tail) {
        if (state_.wanted.empty()) return;
        enter_tail(mode, attended, thread);
        attended = nullptr;
      }
      const auto traced = [&](const char* kind, auto&& work) {
        const std::string_view name = trace_ == nullptr ? std::string_view() : phase_names_[i];
        const TraceSpan span(trace_, thread, name, kind, mode.columns);
        work();
      };
      if (const auto* columns = std::get_if<ColumnPhase>(&phase)) {
        if (columns->only_narrow && !mode.narrow) continue;
        traced("columns", [&] {
          if (attended != nullptr)
            for (int c = 0; c < mode.columns; ++c) merge_attention(state_, mode, *attended, thread, c);
          attended = nullptr;
          run_columns(state_, mode, *columns, thread, threads);
        });
        const bool before_attention = i + 1 < state_.lowered.phases.size() &&
                                      std::holds_alternative<AttentionPhase>(state_.lowered.phases[i + 1]);
        // Attention appends with the same split of columns and has its own barrier.
        if (!mode.narrow && !before_attention) wait(thread, mode.columns);
      } else if (const auto* linear = std::get_if<LinearPhase>(&phase)) {
        traced("linear", [&] { run_linear(state_, mode, *linear, thread, threads); });
        wait(thread, mode.columns);
      } else if (const auto* conv = std::get_if<ConvPhase>(&phase)) {
        traced("convolution", [&] { run_conv(state_, mode, plan_.ops[size_t(conv->op)], thread, threads); });
        wait(thread, mode.columns);
      } else if (const auto* moe = std::get_if<MoePhase>(&phase)) {
        traced("experts", [&] { run_moe(state_, mode, plan_.ops[size_t(moe->op)], thread, pool_); });
        wait(thread, mode.columns);
      } else {
        const Op& op = plan_.ops[size_t(std::get<AttentionPhase>(phase).op)];
        traced("attention", [&] { run_attention(state_, mode, op, thread, pool_); });
        wait(thread, mode.columns);
        if (mode.narrow) attended = &op;
      }
    }
  }

  // From here on only the wanted columns go on: their rows move to the front.
  void enter_tail(Mode& mode, const Op* attended, int thread) {
    const Mode before = mode;
    if (attended != nullptr)
      for (int c = 0; c < before.columns; ++c) merge_attention(state_, before, *attended, thread, c);
    mode.columns = int(state_.wanted.size());
    mode.tail = true;
    mode.narrow = mode.columns <= kRedundantColumns;
    if (before.narrow && mode.columns == before.columns) return;
    bool moved_shared = false;
    for (const ValueId value : state_.lowered.live_at_tail) {
      const bool goes_private = mode.narrow && state_.lowered.from_columns[size_t(value)];
      moved_shared = moved_shared || !goes_private;
      if (goes_private || thread == 0) move_rows(before, mode, value, thread);
    }
    if (moved_shared) pool_.barrier(thread);
  }

  // Ascending: a row never overwrites one that is still to be read.
  void move_rows(const Mode& from, const Mode& to, ValueId value, int thread) {
    const auto bytes = size_t(plan_.values[size_t(value)].dim) * sizeof(float);
    for (int c = 0; c < to.columns; ++c) {
      const float* source = row_of(state_, from, value, thread, state_.wanted[size_t(c)]);
      float* target = row_of(state_, to, value, thread, c);
      if (source != target) std::memcpy(target, source, bytes);
    }
  }

  Plan plan_;
  KvLayout layout_;
  SpinPool pool_;
  int max_columns_;
  StepState state_;
  ValueId head_input_ = -1;  // the last linear's; −1: a later step writes over it
  const float* hidden_ = nullptr;
  Trace* trace_ = nullptr;
  std::vector<std::string> phase_names_;  // by phase, once somebody traced
};

}  // namespace

Result<CpuProgram> compile_for_cpu(const Plan& plan, const KvLayout& layout, const TensorFinder& find,
                                   const CpuOptions& options) {
  check_plan(plan);
  auto executable = std::make_unique<CpuExecutable>(plan, layout, options.threads, options.max_columns);
  ANEDVD_TRY_VOID(executable->prepare(find, options.exact));
  CpuProgram program;
  program.packed_bytes = executable->state().weights.packed_bytes();
  for (const ExpertWeights& experts : executable->state().experts) program.packed_bytes += experts.packed_bytes();
  program.simd = executable->state().kernels->words;
  program.executable = std::move(executable);
  return program;
}

}  // namespace anedvd
