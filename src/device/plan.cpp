#include "device/plan.h"

#include "base/result.h"

namespace anedvd {

const char* op_name(OpKind kind) {
  static constexpr const char* kNames[kOpKinds] = {"embed", "rms_norm", "linear",  "add",  "scale",    "silu",
                                                   "gelu",  "mul",      "softcap", "rope", "attention"};
  return kNames[int(kind)];
}

int64_t stored_row(const WeightRef& weight, int64_t row) {
  if (weight.order == RowOrder::kAsStored) return weight.first_row + row;
  const int64_t head = row / weight.head_dim, within = row % weight.head_dim, half = weight.head_dim / 2;
  const int64_t stored = within < half ? 2 * within : 2 * (within - half) + 1;
  return weight.first_row + head * weight.head_dim + stored;
}

namespace {

int inputs_of(OpKind kind) {
  switch (kind) {
    case OpKind::kEmbed: return 0;
    case OpKind::kAdd:
    case OpKind::kMul: return 2;
    case OpKind::kAttention: return 3;
    default: return 1;
  }
}

}  // namespace

void check_plan(const Plan& plan) {
  std::vector<bool> written(plan.values.size(), false);
  const auto dim = [&](ValueId id) { return plan.values[size_t(id)].dim; };
  for (const Op& op : plan.ops) {
    for (int i = 0; i < inputs_of(op.kind); ++i) {
      const ValueId in = op.in[size_t(i)];
      ANEDVD_CHECK(in >= 0 && size_t(in) < plan.values.size() && written[size_t(in)], "{} reads value {} too early",
                   op_name(op.kind), in);
    }
    ANEDVD_CHECK(op.out >= 0 && size_t(op.out) < plan.values.size() && !written[size_t(op.out)],
                 "{} writes value {} twice", op_name(op.kind), op.out);
    written[size_t(op.out)] = true;
    if (op.kind == OpKind::kLinear) {
      const WeightRef& weight = plan.weights[size_t(op.weight)];
      ANEDVD_CHECK(weight.cols == dim(op.in[0]) && weight.rows == dim(op.out), "{}: {}×{} between values of {} and {}",
                   weight.tensor, weight.rows, weight.cols, dim(op.in[0]), dim(op.out));
    } else if (op.kind == OpKind::kAttention) {
      const PlanAttention& attention = plan.attentions[size_t(op.spec)];
      ANEDVD_CHECK(dim(op.in[0]) == attention.heads * attention.head_dim && dim(op.out) == dim(op.in[0]) &&
                       dim(op.in[1]) == attention.kv_heads * attention.head_dim && dim(op.in[2]) == dim(op.in[1]),
                   "attention of layer {}: dimensions", op.layer);
    } else if (op.kind != OpKind::kEmbed) {
      for (int i = 0; i < inputs_of(op.kind); ++i)
        ANEDVD_CHECK(dim(op.in[size_t(i)]) == dim(op.out), "{} of layer {}: dimensions", op_name(op.kind), op.layer);
    }
  }
  ANEDVD_CHECK(plan.logits >= 0 && written[size_t(plan.logits)], "the plan writes no logits");
}

}  // namespace anedvd
