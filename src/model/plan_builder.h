// Writes a model's spec as the list of steps that devices run.
#pragma once

#include "base/result.h"
#include "device/plan.h"
#include "formats/tensor_source.h"
#include "model/family.h"
#include "model/spec.h"

namespace anedvd {

// Tensor shapes are checked when weights are loaded; presence decides about biases, a separate head and fused matrices.
// `context`: tokens that a sequence may hold; longrope chooses its frequencies by it.
// kBadFile: a spec that no plan follows from (named), kNotFound: a tensor whose numbers the plan itself needs.
Result<Plan> build_plan(const ModelSpec& spec, const Family& family, const TensorSource& source, int context);

}  // namespace anedvd
