#include <algorithm>

#include "base/machine/processor.h"
#include "cpu/step_state.h"

namespace anedvd {
namespace {

class LinearRunner {
 public:
  LinearRunner(StepState& state, const Mode& mode, const LinearPhase& phase, int thread, int threads)
      : state_(state),
        mode_(mode),
        phase_(phase),
        thread_(thread),
        input_(mode.narrow         ? state.own[size_t(thread)].input
               : phase.reads_inner ? state.shared.inner
                                   : state.shared.input),
        dim_(state.plan->values[size_t(phase.input)].dim),
        share_(state.weights.panels_of(phase, thread, threads)) {}

  void run() {
    if (phase_.gated) {
      run_gated();
      return;
    }
    int begin = 0;  // the linear's first panel among those of the phase
    for (size_t i = 0; i < phase_.linears.size(); ++i) {
      const LinearWeights& linear = state_.weights.linear(phase_.linears[i]);
      const ValueId value = phase_.outputs[i];
      const int64_t stride = row_stride(state_, value);
      const int first = share_.first - begin, last = share_.second - begin;
      for_each_piece(linear, first, last, [&](size_t r, int p, int count) {
        const PanelRange& range = linear.ranges[r];
        float* out = row_of(state_, mode_, value, thread_, 0) + int64_t(range.first + p) * kLanes;
        compute(linear, range, p, count, out, stride);
        finish(linear, range.first + p, count, out, stride);
      });
      begin += linear.panels;
    }
  }

 private:
  void run_gated() {
    const LinearWeights& gate = state_.weights.linear(phase_.linears[0]);
    const LinearWeights& up = state_.weights.linear(phase_.linears[1]);
    const bool quantises = phase_.quantises && !mode_.narrow;
    ThreadScratch& scratch = state_.scratch[size_t(thread_)];
    const int64_t stride = kGatePanels * kLanes;
    float* gate_out = scratch.rows.data() + scratch.rows.size() - size_t(2 * stride * state_.shared.columns);
    float* up_out = gate_out + stride * state_.shared.columns;
    float* out = row_of(state_, mode_, phase_.outputs[0], thread_, 0);
    const int64_t out_stride = row_stride(state_, phase_.outputs[0]);
    const auto compute_group = [&](size_t r, int p, int count) {
      const PanelRange& range = gate.ranges[r];
      // The other threads have read these lines: to have them back takes as long as the panels do.
      if (!quantises)
        for (int c = 0; c < mode_.columns; ++c)
          for (int i = 0; i < count; ++i)
            prefetch_for_write(out + c * out_stride + int64_t(range.first + p + i) * kLanes);
      compute(gate, range, p, count, gate_out, stride);
      add_bias(gate, range.first + p, count, gate_out, stride);
      compute(up, up.ranges[r], p, count, up_out, stride);
      add_bias(up, range.first + p, count, up_out, stride);
      for (int c = 0; c < mode_.columns; ++c) {
        float* g = gate_out + c * stride;
        if (phase_.activation == OpKind::kSilu) {
          state_.kernels->silu(g, count * kLanes, g);
        } else {
          state_.kernels->gelu(g, count * kLanes, g);
        }
        const int64_t first = int64_t(range.first + p) * kLanes;
        if (quantises) {
          state_.kernels->mul(g, up_out + c * stride, count * kLanes, g);
          quantise(g, c, first);
        } else {
          state_.kernels->mul(g, up_out + c * stride, count * kLanes, out + c * out_stride + first);
        }
      }
    };
    for_each_piece(gate, share_.first, share_.second, [&](size_t r, int p, int count) {
      for (const int end = p + count; p < end;) {
        const int panels = std::min(kGatePanels - p % kGatePanels, end - p);  // a group's panels lie side by side
        compute_group(r, p, panels);
        p += panels;
      }
    });
  }

  // One block of a gate's output: kGatePanels panels, for the ranges of such a phase are whole blocks.
  void quantise(const float* block, int column, int64_t first) {
    static_assert(kGatePanels * kLanes == kBlock);
    const int64_t dim = state_.plan->values[size_t(phase_.outputs[0])].dim, at = (column * dim + first) / kBlock;
    const QuantisedRows& inner = state_.shared.inner;
    state_.kernels->quantize(block, kBlock, inner.q + at * kBlock, inner.scale + 2 * at, inner.sum + 2 * at);
  }

  // Panels p … p + count − 1 of the thread's range, all columns, into out[column · stride].
  void compute(const LinearWeights& linear, const PanelRange& range, int p, int count, float* out, int64_t stride) {
    if (!linear.format) {
      compute_from_rows(linear, range.first + p, count, out, stride);
      return;
    }
    LinearArgs args;
    args.panels = range.panel(p);
    args.panel_stride = range.stride;
    args.panel_count = count;
    args.inputs = dim_;
    args.blocks = dim_ / kBlock;
    args.q = input_.q;
    args.scale = input_.scale;
    args.sum = input_.sum;
    args.x = row_of(state_, mode_, phase_.input, thread_, 0);
    args.x_stride = row_stride(state_, phase_.input);
    args.columns = mode_.columns;
    args.out = out;
    args.out_stride = stride;
    state_.kernels->linear[*linear.format](args);
  }

  // Rows dequantised one at a time: types without a packed form, and the exact mode.
  void compute_from_rows(const LinearWeights& linear, int first_panel, int count, float* out, int64_t stride) {
    float* row = state_.scratch[size_t(thread_)].rows.data();
    const int64_t first = int64_t(first_panel) * kLanes;
    const int64_t last = std::min(linear.ref.rows, first + int64_t(count) * kLanes);
    for (int64_t r = first; r < last; ++r) {
      dequantize(*linear.tensor, stored_row(linear.ref, r), 1, {row, size_t(dim_)});
      for (int c = 0; c < mode_.columns; ++c)
        out[c * stride + (r - first)] = state_.kernels->dot(row, row_of(state_, mode_, phase_.input, thread_, c), dim_);
    }
  }

  void add_bias(const LinearWeights& linear, int first_panel, int count, float* out, int64_t stride) {
    if (linear.bias.empty()) return;
    for (int c = 0; c < mode_.columns; ++c)
      state_.kernels->add(out + c * stride, linear.bias.data() + int64_t(first_panel) * kLanes, count * kLanes,
                          out + c * stride);
  }

  void finish(const LinearWeights& linear, int first_panel, int count, float* out, int64_t stride) {
    add_bias(linear, first_panel, count, out, stride);
    for (const auto& [kind, param] : phase_.after)
      for (int c = 0; c < mode_.columns; ++c) {
        float* row = out + c * stride;
        if (kind == OpKind::kSoftCap) {
          state_.kernels->softcap(row, param, count * kLanes, row);
        } else {
          state_.kernels->scale(row, param, count * kLanes, row);
        }
      }
  }

  StepState& state_;
  const Mode& mode_;
  const LinearPhase& phase_;
  const int thread_;
  const QuantisedRows& input_;
  const int dim_;
  const std::pair<int, int> share_;  // this thread's panels
};

}  // namespace

void run_linear(StepState& state, const Mode& mode, const LinearPhase& phase, int thread, int threads) {
  LinearRunner(state, mode, phase, thread, threads).run();
}

}  // namespace anedvd
