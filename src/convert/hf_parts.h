// The steps of hf_outline, one file each.
#pragma once

#include "base/result.h"
#include "convert/outline.h"
#include "convert/targets.h"
#include "formats/tensor_source.h"
#include "model/spec.h"

namespace anedvd {

struct HfModel {
  const TensorSource& source;
  const Family& family;
  const ModelSpec& spec;
  const Target& target;
};

// Sizes, heads, rotation, experts, caps: `{architecture}.…`. Adds the tensors that carry rotary divisors.
Result<> add_settings(const HfModel& model, Outline& outline);

// tokenizer.ggml.* and the chat template. Without a tokenizer.json a warning, and a file without vocabulary.
// kUnsupported: a tokenizer that GGUF has no name for.
Result<> add_vocabulary(const HfModel& model, GgufPairs& pairs);

// Every weight that the plan of this family reads, under its GGUF name.
Result<> add_tensors(const HfModel& model, Outline& outline);

// Reads the outline as if it were the finished file and compares what comes out with the folder's own settings. kUnsupported names the first
// difference: a setting that GGUF cannot express.
Result<> check_outline(const HfModel& model, const Outline& outline);

}  // namespace anedvd
