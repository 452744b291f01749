#include "model/plan_writer.h"

#include "base/result.h"

namespace anedvd {

std::string PlanWriter::tensor(Role role, int expert) const {
  const std::string base = tensor_name(family_, source_.kind(), role, layer_, expert);
  for (const std::string_view end : {".weight", "", "_blocks"})
    if (source_.find(base + std::string(end)) != nullptr) return base + std::string(end);
  return base + ".weight";
}

bool PlanWriter::has(Role role, int expert) const {
  return !tensor_name(family_, source_.kind(), role, layer_, expert).empty() &&
         source_.find(tensor(role, expert)) != nullptr;
}

std::string PlanWriter::bias_name(Role role) const {
  const std::string base = tensor_name(family_, source_.kind(), role, layer_);
  const std::string fused = base + "_bias";
  return source_.find(fused) != nullptr ? fused : base + ".bias";
}

ValueId PlanWriter::emit(Op op, int out_dim, std::string out_name) {
  plan_.values.push_back({layer_ < 0 ? std::move(out_name) : fmt::format("{}.{}", layer_, out_name), out_dim});
  op.out = ValueId(plan_.values.size() - 1);
  op.layer = layer_;
  plan_.ops.push_back(op);
  return op.out;
}

WeightId PlanWriter::weight(WeightRef ref) {
  plan_.weights.push_back(std::move(ref));
  return WeightId(plan_.weights.size() - 1);
}

ValueId PlanWriter::unary(OpKind kind, ValueId in, float param) {
  return emit({.kind = kind, .in = {in, -1, -1}, .param = param}, dim(in), op_name(kind));
}

ValueId PlanWriter::binary(OpKind kind, ValueId a, ValueId b) {
  return emit({.kind = kind, .in = {a, b, -1}}, dim(a), op_name(kind));
}

ValueId PlanWriter::norm(Role role, ValueId in, int group) {
  const int size = group > 0 ? group : dim(in);
  const WeightId id = weight({.tensor = tensor(role), .rows = 1, .cols = size, .add = spec_.norm_offset});
  return emit({.kind = OpKind::kRmsNorm, .in = {in, -1, -1}, .weight = id, .param = spec_.norm_eps, .group = group},
              dim(in), "norm");
}

ValueId PlanWriter::norm_without_weight(ValueId in, int group) {
  return emit({.kind = OpKind::kRmsNorm, .in = {in, -1, -1}, .param = spec_.norm_eps, .group = group}, dim(in), "norm");
}

ValueId PlanWriter::linear(Role role, ValueId in, int rows, const char* out_name, int head_dim) {
  return part_of_linear(role, in, 0, rows, out_name, head_dim);
}

ValueId PlanWriter::part_of_linear(Role role, ValueId in, int first, int rows, const char* out_name, int head_dim) {
  WeightRef ref = {.tensor = tensor(role), .first_row = first, .rows = rows, .cols = dim(in)};
  if (head_dim > 0 && spec_.adjacent_rope_rows) {
    ref.order = RowOrder::kAdjacentToHalfSplit;
    ref.head_dim = head_dim;
  }
  Op op{.kind = OpKind::kLinear, .in = {in, -1, -1}};
  if (has_bias(role)) {
    WeightRef bias = ref;
    bias.tensor = bias_name(role);
    bias.cols = 1;
    op.bias = weight(std::move(bias));
  }
  op.weight = weight(std::move(ref));
  return emit(op, rows, out_name);
}

}  // namespace anedvd
