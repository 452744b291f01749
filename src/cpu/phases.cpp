#include "cpu/phases.h"

#include <algorithm>

#include "base/result.h"
#include "cpu/kernels/kernel_table.h"

namespace anedvd {
namespace {

class Lowering {
 public:
  explicit Lowering(const Plan& plan) : plan_(plan), uses_(plan.values.size(), 0) {
    for (const Op& op : plan.ops)
      for (ValueId in : op.in)
        if (in >= 0) ++uses_[size_t(in)];
  }

  Lowered run() {
    for (size_t i = 0; i < plan_.ops.size();) {
      switch (plan_.ops[i].kind) {
        case OpKind::kLinear: i = take_linears(i); break;
        case OpKind::kAttention:
          flush_columns(-1);
          result_.phases.emplace_back(AttentionPhase{int(i)});
          end_of_cache_writes();
          ++i;
          break;
        case OpKind::kShortConv:
          flush_columns(-1);
          result_.phases.emplace_back(ConvPhase{int(i)});
          end_of_cache_writes();
          ++i;
          break;
        case OpKind::kMoe:
          quantize_for(plan_.ops[i].in[0]);
          result_.phases.emplace_back(MoePhase{int(i)});
          ++i;
          break;
        default: pending_.push_back(int(i++));
      }
    }
    if (!pending_.empty()) flush_columns(-1);
    allocate();
    return std::move(result_);
  }

 private:
  const Op& op(size_t i) const { return plan_.ops[i]; }

  void flush_columns(ValueId quantized) {
    result_.phases.emplace_back(ColumnPhase{pending_, quantized});
    pending_.clear();
    quantized_ = quantized;
  }

  // A value that was quantised last, for another reader, is there still.
  void quantize_for(ValueId input) {
    if (!pending_.empty() || quantized_ != input) flush_columns(input);
  }

  void end_of_cache_writes() {
    result_.tail = result_.phases.size();
    quantized_ = -1;
  }

  // The linears from i on that share an input, and the elementwise steps that can be fused. Returns the index behind them.
  size_t take_linears(size_t i) {
    LinearPhase phase;
    phase.input = op(i).in[0];
    for (; i < plan_.ops.size() && op(i).kind == OpKind::kLinear && op(i).in[0] == phase.input; ++i) {
      phase.linears.push_back(int(i));
      phase.outputs.push_back(op(i).out);
    }
    if (is_gate(i, phase)) {
      phase.gated = true;
      phase.activation = op(i).kind;
      phase.outputs = {op(i + 1).out};
      i += 2;
    }
    if (!phase.gated && phase.outputs.size() == 1)
      for (; i < plan_.ops.size() && is_elementwise_on(i, phase.outputs[0]); ++i) {
        phase.after.emplace_back(op(i).kind, op(i).param);
        phase.outputs = {op(i).out};
      }
    quantize_for(phase.input);
    result_.phases.emplace_back(std::move(phase));
    return i;
  }

  // act(gate) ⊙ up, both used nowhere else and of the same size.
  bool is_gate(size_t i, const LinearPhase& phase) const {
    if (phase.linears.size() != 2 || i + 1 >= plan_.ops.size()) return false;
    const Op& activation = op(i);
    const Op& product = op(i + 1);
    if (activation.kind != OpKind::kSilu && activation.kind != OpKind::kGeluTanh) return false;
    const ValueId gate = phase.outputs[0], up = phase.outputs[1];
    return activation.in[0] == gate && product.kind == OpKind::kMul && product.in[0] == activation.out &&
           product.in[1] == up && uses_[size_t(gate)] == 1 && uses_[size_t(up)] == 1 &&
           uses_[size_t(activation.out)] == 1;
  }

  bool is_elementwise_on(size_t i, ValueId value) const {
    return (op(i).kind == OpKind::kSoftCap || op(i).kind == OpKind::kScale) && op(i).in[0] == value &&
           uses_[size_t(value)] == 1;
  }

  // Buffers are reused once their value is dead. Time is counted in barriers: a column phase and the phase after it are one tick, since threads
  // with private columns run through both without waiting for each other.
  void allocate() {
    const size_t values = plan_.values.size();
    std::vector<int> born(values, -1), dies(values, -1);
    result_.from_columns.assign(values, false);
    int tick = 0;
    const auto use = [&](ValueId value) {
      if (value >= 0) dies[size_t(value)] = std::max(dies[size_t(value)], tick);
    };
    const auto define = [&](ValueId value, bool from_columns) {
      born[size_t(value)] = tick;
      dies[size_t(value)] = std::max(dies[size_t(value)], tick);
      result_.from_columns[size_t(value)] = from_columns;
    };
    int tail_tick = 0;
    for (size_t i = 0; i < result_.phases.size(); ++i) {
      if (i == result_.tail) tail_tick = tick;
      const Phase& phase = result_.phases[i];
      if (const auto* columns = std::get_if<ColumnPhase>(&phase)) {
        for (int index : columns->ops) {
          for (ValueId in : op(size_t(index)).in) use(in);
          define(op(size_t(index)).out, true);
        }
        use(columns->quantized);
        continue;
      }
      if (const auto* linear = std::get_if<LinearPhase>(&phase)) {
        use(linear->input);
        for (ValueId out : linear->outputs) define(out, false);
      } else if (const auto* attention = std::get_if<AttentionPhase>(&phase)) {
        take_op(op(size_t(attention->op)), true, use, define);
      } else if (const auto* conv = std::get_if<ConvPhase>(&phase)) {
        take_op(op(size_t(conv->op)), false, use, define);
      } else {
        take_op(op(size_t(std::get<MoePhase>(phase).op)), false, use, define);
      }
      ++tick;
    }
    place(born, dies);
    for (size_t v = 0; v < values; ++v)
      if (born[v] >= 0 && born[v] < tail_tick && dies[v] >= tail_tick) result_.live_at_tail.push_back(ValueId(v));
  }

  template <class Use, class Define>
  static void take_op(const Op& op, bool from_columns, Use use, Define define) {
    for (ValueId in : op.in) use(in);
    define(op.out, from_columns);
  }

  void place(const std::vector<int>& born, const std::vector<int>& dies) {
    result_.buffer.assign(born.size(), -1);
    std::vector<int> free_from;  // for each buffer: the first tick at which it is free
    for (size_t v = 0; v < born.size(); ++v) {
      if (born[v] < 0 || ValueId(v) == plan_.logits) continue;
      const int floats = (plan_.values[v].dim + kLanes - 1) / kLanes * kLanes;
      int chosen = -1;
      for (size_t b = 0; b < free_from.size(); ++b)
        if (free_from[b] <= born[v] && result_.buffer_floats[b] == floats) chosen = int(b);
      if (chosen < 0) {
        chosen = int(free_from.size());
        free_from.push_back(0);
        result_.buffer_floats.push_back(floats);
      }
      free_from[size_t(chosen)] = dies[v] + 1;
      result_.buffer[v] = chosen;
    }
  }

  const Plan& plan_;
  std::vector<int> uses_;
  std::vector<int> pending_;
  ValueId quantized_ = -1;  // the value whose int8 form the threads hold; −1: none
  Lowered result_;
};

}  // namespace

Lowered lower(const Plan& plan) { return Lowering(plan).run(); }

void quantise_in_gates(Lowered& lowered, const Plan& plan, const std::function<bool(int op)>& reads_int8) {
  std::vector<size_t> uses(plan.values.size(), 0);
  for (const Op& op : plan.ops)
    for (ValueId in : op.in)
      if (in >= 0) ++uses[size_t(in)];
  for (size_t i = 0; i + 2 < lowered.phases.size(); ++i) {
    auto* gate = std::get_if<LinearPhase>(&lowered.phases[i]);
    if (gate == nullptr || !gate->gated) continue;
    const ValueId product = gate->outputs[0];
    auto* columns = std::get_if<ColumnPhase>(&lowered.phases[i + 1]);
    auto* next = std::get_if<LinearPhase>(&lowered.phases[i + 2]);
    if (columns == nullptr || !columns->ops.empty() || columns->quantized != product || next == nullptr ||
        next->input != product || uses[size_t(product)] != next->linears.size() ||
        plan.values[size_t(product)].dim % kBlock != 0 || !std::ranges::all_of(next->linears, reads_int8))
      continue;
    gate->quantises = next->reads_inner = columns->only_narrow = true;
  }
}

}  // namespace anedvd
