// Writes a model's spec as the list of steps that devices run.
#pragma once

#include "base/result.h"
#include "device/plan.h"
#include "formats/tensor_source.h"
#include "model/family.h"
#include "model/spec.h"

namespace anedvd {

// Tensor shapes are checked when weights are loaded; presence decides about biases and a separate head.
Result<Plan> build_plan(const ModelSpec& spec, const Family& family, const TensorSource& source);

}  // namespace anedvd
