// The settings that nearly every family has, read from a GGUF file with their usual defaults and checked for sense.
#pragma once

#include "base/result.h"
#include "formats/tensor_source.h"
#include "model/family.h"
#include "model/spec.h"

namespace anedvd {

// Sizes, heads, norms, context and rotation by `{architecture}.…` keys. Errors name the file and the key (kBadFile, kUnsupported).
// Rope scaling of kind linear, yarn and rope_freqs tensors included.
Result<ModelSpec> read_usual_settings(const TensorSource& source);

}  // namespace anedvd
