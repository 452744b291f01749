#include <cstring>

#include "cpu/step_state.h"

namespace anedvd {
namespace {

void normalise(const KernelTable& kernels, const Op& op, const float* weight, const float* x, int dim, float* out) {
  const int group = op.group == 0 ? dim : op.group;
  for (int first = 0; first < dim; first += group) kernels.rms_norm(x + first, weight, op.param, group, out + first);
}

void rotate(const StepState& state, const Op& op, int position, int dim, const float* x, float* out) {
  const RopeTable& rope = state.ropes[size_t(op.spec)];
  state.kernels->rope(x, rope.cosine(position), rope.sine(position), rope.pairs(), op.group, dim / op.group, out);
}

void run_op(StepState& state, const Mode& mode, const Op& op, int thread, int column) {
  const Plan& plan = *state.plan;
  const KernelTable& kernels = *state.kernels;
  const int dim = plan.values[size_t(op.out)].dim;
  const auto in = [&](int i) -> const float* { return row_of(state, mode, op.in[size_t(i)], thread, column); };
  float* out = row_of(state, mode, op.out, thread, column);
  switch (op.kind) {
    case OpKind::kEmbed: {
      const TensorView& table = state.weights.table(op.weight);
      dequantize(table, state.columns[size_t(column)].token, 1, {out, size_t(dim)});
      if (op.param != 1.0f) kernels.scale(out, op.param, dim, out);
      break;
    }
    case OpKind::kRmsNorm:
      normalise(kernels, op, op.weight >= 0 ? state.weights.vector(op.weight) : nullptr, in(0), dim, out);
      break;
    case OpKind::kAdd: kernels.add(in(0), in(1), dim, out); break;
    case OpKind::kMul: kernels.mul(in(0), in(1), dim, out); break;
    case OpKind::kScale: kernels.scale(in(0), op.param, dim, out); break;
    case OpKind::kSilu: kernels.silu(in(0), dim, out); break;
    case OpKind::kGeluTanh: kernels.gelu(in(0), dim, out); break;
    case OpKind::kSoftCap: kernels.softcap(in(0), op.param, dim, out); break;
    case OpKind::kSlice: std::memcpy(out, in(0) + op.spec, size_t(dim) * sizeof(float)); break;
    case OpKind::kGateBy: {
      // sigmoid(x) is the softmax of (x, 0).
      const float pair[2] = {in(1)[0], 0};
      float share[2];
      kernels.softmax(pair, 2, share);
      kernels.scale(in(0), share[0], dim, out);
      break;
    }
    case OpKind::kRope: rotate(state, op, state.columns[size_t(column)].position, dim, in(0), out); break;
    case OpKind::kLinear:
    case OpKind::kAttention:
    case OpKind::kShortConv:
    case OpKind::kMoe: ANEDVD_CHECK(false, "{} is no column step", op_name(op.kind));
  }
}

}  // namespace

void run_columns(StepState& state, const Mode& mode, const ColumnPhase& phase, int thread, int threads) {
  const auto [first, last] =
      mode.narrow ? std::pair<int, int>{0, mode.columns} : share_of(mode.columns, thread, threads);
  BufferSet& set = mode.narrow ? state.own[size_t(thread)] : state.shared;
  for (int column = first; column < last; ++column) {
    for (const int op : phase.ops) run_op(state, mode, state.plan->ops[size_t(op)], thread, column);
    if (phase.quantized < 0) continue;
    const int64_t dim = state.plan->values[size_t(phase.quantized)].dim;
    if (dim % kBlock != 0) continue;  // only linears that read floats take such an input
    const int64_t blocks = dim / kBlock;
    state.kernels->quantize(row_of(state, mode, phase.quantized, thread, column), dim, set.input.q + column * dim,
                            set.input.scale + column * blocks * 2, set.input.sum + column * blocks * 2);
  }
}

}  // namespace anedvd
