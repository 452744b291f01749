#include "cpu/cpu_host_ops.h"

#include <algorithm>

#include "cpu/kernels/select.h"
#include "cpu/step_state.h"

namespace anedvd {
namespace {

class CpuHostOps : public HostOps {
 public:
  CpuHostOps(const Plan& plan, const KvLayout& layout, TensorFinder find, const CpuOptions& options)
      : plan_(plan), layout_(layout), find_(std::move(find)), options_(options), pool_(options.threads) {}

  Result<> make() {
    state_.plan = &plan_;
    state_.layout = &layout_;
    ANEDVD_TRY(state_.kernels, select_kernels());
    ANEDVD_TRY(state_.weights, Weights::find(plan_, find_, options_.exact));
    state_.experts.resize(plan_.moes.size());
    for (const PlanRope& rope : plan_.ropes) state_.ropes.emplace_back(rope);
    ANEDVD_TRY(state_.shared, make_buffers(state_, options_.max_columns));
    reserve_scratch(state_, pool_.threads(), options_.max_columns);
    for (size_t i = 0; i < plan_.ops.size(); ++i) phases_.push_back(phase_of(int(i)));
    is_ready_.assign(plan_.ops.size(), false);
    return {};
  }

  Result<> prepare(std::span<const int> ops) override {
    std::vector<Phase> fresh;
    for (const int index : ops) {
      if (is_ready_[size_t(index)]) continue;
      const Op& op = plan_.ops[size_t(index)];
      if (op.kind == OpKind::kLinear) fresh.push_back(phases_[size_t(index)]);
      if (op.kind == OpKind::kMoe) {
        ANEDVD_TRY(state_.experts[size_t(op.spec)],
                   ExpertWeights::load(plan_, plan_.moes[size_t(op.spec)], find_, options_.exact, pool_.threads()));
        has_experts_ = true;
      }
    }
    if (!fresh.empty()) ANEDVD_TRY_VOID(state_.weights.pack(fresh, pool_));
    if (has_experts_) state_.moe.reserve(plan_, options_.max_columns);
    for (const int index : ops) is_ready_[size_t(index)] = true;
    return {};
  }

  Result<> run(std::span<const int> ops, const HostStep& step, std::span<float* const> values) override {
    take(step, values);
    pool_.run_on_free_cores([&](int thread) { work(ops, thread); });
    return {};
  }

  void limit_threads(int threads) override { pool_.limit(threads); }

 private:
  // A step as the phase that runs it; a linear is alone in its phase.
  Phase phase_of(int index) const {
    const Op& op = plan_.ops[size_t(index)];
    switch (op.kind) {
      case OpKind::kLinear: {
        LinearPhase phase;
        phase.input = op.in[0];
        phase.linears = {index};
        phase.outputs = {op.out};
        return phase;
      }
      case OpKind::kAttention: return AttentionPhase{index};
      case OpKind::kShortConv: return ConvPhase{index};
      case OpKind::kMoe: return MoePhase{index};
      default: return ColumnPhase{{index}, -1};
    }
  }

  void take(const HostStep& step, std::span<float* const> values) {
    state_.outside = values;
    state_.slices = step.slices;
    state_.columns.clear();
    state_.max_position = 0;
    for (const HostColumn& column : step.columns) {
      state_.columns.push_back({column.slice, column.position, column.token});
      state_.max_position = std::max(state_.max_position, column.position + 1);
    }
    const int columns = int(state_.columns.size());
    ANEDVD_CHECK(columns > 0 && columns <= options_.max_columns, "{} columns in a step of at most {}", columns,
                 options_.max_columns);
    for (RopeTable& rope : state_.ropes) rope.reserve(state_.max_position);
    if (columns <= kRedundantColumns) reserve_records(state_);
  }

  // Threads share the columns of column steps, so those need no barrier between them; every other kind reads what others wrote.
  void work(std::span<const int> ops, int thread) {
    const Mode mode{int(state_.columns.size()), false, false};
    for (const int index : ops) {
      ANEDVD_CHECK(is_ready_[size_t(index)], "step {} was not prepared", index);
      const Phase& phase = phases_[size_t(index)];
      const Op& op = plan_.ops[size_t(index)];
      if (const auto* columns = std::get_if<ColumnPhase>(&phase)) {
        run_columns(state_, mode, *columns, thread, pool_.threads());
        continue;
      }
      if (const auto* linear = std::get_if<LinearPhase>(&phase)) {
        quantise(mode, linear->input, thread);
        pool_.barrier(thread);
        run_linear(state_, mode, *linear, thread, pool_.threads());
      } else if (std::holds_alternative<AttentionPhase>(phase)) {
        attend(mode, op, thread);
      } else if (std::holds_alternative<ConvPhase>(phase)) {
        pool_.barrier(thread);
        run_conv(state_, mode, op, thread, pool_.threads());
      } else {
        quantise(mode, op.in[0], thread);
        run_moe(state_, mode, op, thread, pool_);
      }
      pool_.barrier(thread);
    }
  }

  void quantise(const Mode& mode, ValueId value, int thread) {
    run_columns(state_, mode, {{}, value}, thread, pool_.threads());
  }

  // Few columns are split by chunks of the cache, many by heads and blocks of columns, as in the executable.
  void attend(const Mode& mode, const Op& op, int thread) {
    if (mode.columns > kRedundantColumns) {
      run_attention(state_, mode, op, thread, pool_);
      return;
    }
    pool_.barrier(thread);  // the owner of a chunk appends what others' columns computed
    const Mode narrow{mode.columns, true, false};
    run_attention(state_, narrow, op, thread, pool_);
    pool_.barrier(thread);
    const auto [first, last] = share_of(mode.columns, thread, pool_.threads());
    for (int column = first; column < last; ++column) merge_attention(state_, narrow, op, thread, column);
  }

  Plan plan_;
  KvLayout layout_;
  TensorFinder find_;
  CpuOptions options_;
  SpinPool pool_;
  StepState state_;
  std::vector<Phase> phases_;  // by op
  std::vector<bool> is_ready_;
  bool has_experts_ = false;
};

}  // namespace

Result<std::unique_ptr<HostOps>> make_host_ops(const Plan& plan, const KvLayout& layout, const TensorFinder& find,
                                               const CpuOptions& options) {
  check_plan(plan);
  auto made = std::make_unique<CpuHostOps>(plan, layout, find, options);
  ANEDVD_TRY_VOID(made->make());
  return made;
}

}  // namespace anedvd
