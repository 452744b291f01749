// What the Gemma families share.
#pragma once

#include "model/usual_settings.h"

namespace anedvd {

// The usual settings with Gemma's: embeddings times √hidden, tanh-GELU, norm weights stored less 1 in Hugging Face folders.
// `heads`, `kv_heads` and `head_dim` are what config.json's class assumes where it says nothing.
Result<ModelSpec> read_gemma_settings(const TensorSource& source, std::string_view family, HfDefaults defaults);

// 1/√query_pre_attn_scalar of config.json. GGUF files have no key for it: 1/√head_dim, but 1/√(hidden/heads) for the 27B, which is known by its layers.
Result<float> gemma_attention_scale(const TensorSource& source, const ModelSpec& spec, size_t layers_of_27b);

}  // namespace anedvd
