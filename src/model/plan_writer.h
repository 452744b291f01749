// The pen of plan_builder.cpp: appends steps, values and weights to a plan and finds the tensors that roles mean.
#pragma once

#include <string>

#include "device/plan.h"
#include "formats/tensor_source.h"
#include "model/family.h"
#include "model/spec.h"

namespace anedvd {

class PlanWriter {
 public:
  PlanWriter(const ModelSpec& spec, const Family& family, const TensorSource& source)
      : spec_(spec), family_(family), source_(source) {}

  // Steps that follow belong to this layer; −1: to none.
  void enter_layer(int layer) { layer_ = layer; }
  Plan& plan() { return plan_; }
  int dim(ValueId value) const { return plan_.values[size_t(value)].dim; }

  // The stored name of the role's tensor in this layer, with ".weight", nothing, or the "_blocks" of split MXFP4 behind it, as the file has it.
  std::string tensor(Role role, int expert = -1) const;
  bool has(Role role, int expert = -1) const;
  // The tensor's name with ".weight" replaced; the fused stacks of Hugging Face say "_bias" instead of ".bias".
  std::string bias_name(Role role) const;
  bool has_bias(Role role) const { return source_.find(bias_name(role)) != nullptr; }

  ValueId emit(Op op, int out_dim, std::string out_name);
  WeightId weight(WeightRef ref);
  ValueId unary(OpKind kind, ValueId in, float param = 0);
  ValueId binary(OpKind kind, ValueId a, ValueId b);
  // RMSNorm; `group` > 0: over each head apart, one weight for all.
  ValueId norm(Role role, ValueId in, int group = 0);
  ValueId norm_without_weight(ValueId in, int group = 0);
  // All rows of the role's tensor, with its bias if there is one. `head_dim` > 0: rows of q or k, whose order the spec knows.
  ValueId linear(Role role, ValueId in, int rows, const char* out_name, int head_dim = 0);
  // Rows [first, first + rows) of a fused tensor.
  ValueId part_of_linear(Role role, ValueId in, int first, int rows, const char* out_name, int head_dim = 0);

 private:
  const ModelSpec& spec_;
  const Family& family_;
  const TensorSource& source_;
  Plan plan_;
  int layer_ = -1;
};

}  // namespace anedvd
