// What a model takes in memory on each device, before its weights are loaded.
//
//   cpu  the file's tensors as they are stored, or as --quant makes them
//   ane  programs hold their matrices as fp16, whatever the file has; what stays on the host is as in the file
//
// Both without the cache, and estimates: buffers and what a system keeps besides are not in them.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "device/plan.h"
#include "formats/tensor_source.h"

namespace anedvd {

// Bytes of the plan's weights when the Neural Engine gets all that it can take.
// Programs beyond the count that one process can load go to the host, as they do when the model is loaded.
Result<uint64_t> ane_weight_bytes(const Plan& plan, const TensorSource& source);

// The same for a model that no plan was made of yet. Errors: kUnsupported (a family, a tensor), kNotFound.
Result<uint64_t> ane_weight_bytes(const TensorSource& source, int context);

}  // namespace anedvd
