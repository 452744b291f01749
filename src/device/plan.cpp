#include "device/plan.h"

#include "base/result.h"

namespace anedvd {

const char* op_name(OpKind kind) {
  static constexpr const char* kNames[kOpKinds] = {"embed", "rms_norm", "linear",    "add",        "scale",
                                                   "silu",  "gelu",     "mul",       "softcap",    "rope",
                                                   "slice", "gate_by",  "attention", "short_conv", "moe"};
  return kNames[int(kind)];
}

int64_t stored_row(const WeightRef& weight, int64_t row) {
  if (weight.order == RowOrder::kAsStored) return weight.first_row + row * weight.row_step;
  const int64_t head = row / weight.head_dim, within = row % weight.head_dim, half = weight.head_dim / 2;
  const int64_t stored = within < half ? 2 * within : 2 * (within - half) + 1;
  return weight.first_row + head * weight.head_dim + stored;
}

namespace {

int inputs_of(const Plan& plan, const Op& op) {
  switch (op.kind) {
    case OpKind::kEmbed: return 0;
    case OpKind::kAdd:
    case OpKind::kMul:
    case OpKind::kGateBy:
    case OpKind::kMoe: return 2;
    case OpKind::kAttention: return plan.attentions[size_t(op.spec)].appends ? 3 : 1;
    default: return 1;
  }
}

// Whether the dimensions of the step's values agree.
bool dimensions_agree(const Plan& plan, const Op& op) {
  const auto dim = [&](int i) { return plan.values[size_t(op.in[size_t(i)])].dim; };
  const int out = plan.values[size_t(op.out)].dim;
  switch (op.kind) {
    case OpKind::kEmbed: return true;
    case OpKind::kLinear: {
      const WeightRef& weight = plan.weights[size_t(op.weight)];
      return weight.cols == dim(0) && weight.rows == out;
    }
    case OpKind::kAttention: {
      const PlanAttention& attention = plan.attentions[size_t(op.spec)];
      const int kv = attention.kv_heads * attention.head_dim;
      return dim(0) == attention.heads * attention.head_dim && out == dim(0) &&
             (!attention.appends || (dim(1) == kv && dim(2) == kv));
    }
    case OpKind::kSlice: return op.spec >= 0 && op.spec + out <= dim(0);
    case OpKind::kGateBy: return dim(0) == out && dim(1) == 1;
    case OpKind::kShortConv: return out == plan.convs[size_t(op.spec)].channels && dim(0) == 3 * out;
    case OpKind::kMoe: return dim(0) == out && dim(1) == plan.moes[size_t(op.spec)].experts;
    default: return dim(0) == out && (inputs_of(plan, op) < 2 || dim(1) == out);
  }
}

}  // namespace

void check_plan(const Plan& plan) {
  std::vector<bool> written(plan.values.size(), false);
  for (const Op& op : plan.ops) {
    for (int i = 0; i < inputs_of(plan, op); ++i) {
      const ValueId in = op.in[size_t(i)];
      ANEDVD_CHECK(in >= 0 && size_t(in) < plan.values.size() && written[size_t(in)], "{} reads value {} too early",
                   op_name(op.kind), in);
    }
    ANEDVD_CHECK(op.out >= 0 && size_t(op.out) < plan.values.size() && !written[size_t(op.out)],
                 "{} writes value {} twice", op_name(op.kind), op.out);
    written[size_t(op.out)] = true;
    ANEDVD_CHECK(dimensions_agree(plan, op), "{} of layer {}: dimensions", op_name(op.kind), op.layer);
  }
  ANEDVD_CHECK(plan.logits >= 0 && written[size_t(plan.logits)], "the plan writes no logits");
}

}  // namespace anedvd
