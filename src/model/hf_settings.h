// The settings that nearly every family has, read from a Hugging Face folder's config.json: old spellings and new ones.
//
// Where two releases of transformers disagree about a key, both are read; what is absent or null has the class's default. Whether the head
// is tied is told by the tensors, not by `tie_word_embeddings`: a stored lm_head.weight is used (transformers 5 does so too when its
// numbers differ), and without one the embedding is the head.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "formats/tensor_source.h"
#include "model/rope_scaling.h"
#include "model/spec.h"

namespace anedvd {

// What a configuration class of transformers assumes where config.json says nothing.
struct HfDefaults {
  double norm_eps = 1e-6;
  double rope_theta = 10000;
  int context = 2048;
  std::optional<Activation> activation = {};  // given: config.json is not asked (early Gemma files name the wrong one)
  // What config.json may leave out (Gemma 3's multimodal releases do).
  std::optional<int> heads = {}, kv_heads = {}, head_dim = {};
};

// Sizes, heads, norm, context and rotation by the usual keys; one rotation for all layers; rows of q and k half-split.
// Longrope is set up for sessions within the original context, and `context` says so; a family that offers more builds its own.
// Errors name the file and the key (kBadFile, kUnsupported, kNumeric): also weights packed by another quantiser, and biases that the
// settings promise but the tensors lack.
Result<ModelSpec> read_usual_hf_settings(const TensorSource& source, const HfDefaults& defaults = {});

// The rotation that config.json describes for a layer type ("sliding_attention"), or for all layers ("": full_attention's, where each type has
// its own). `context`: max_position_embeddings. Reads `rope_parameters` (flat, or one object a layer type), else `rope_scaling` and `rope_theta`.
// `dynamic` becomes plain rotation, with a warning.
Result<RopeSettings> read_hf_rope(const TensorSource& source, int head_dim, int context,
                                  std::string_view layer_type = "", double default_theta = 10000);

// "silu", "gelu_pytorch_tanh" … as `hidden_activation` or `hidden_act` names it. kUnsupported names an unknown one.
Result<Activation> read_hf_activation(const TensorSource& source);

// `model_type` of a folder, `general.architecture` of a GGUF file. kBadFile: the key is missing.
Result<std::string_view> source_architecture(const TensorSource& source);

}  // namespace anedvd
