// Everything that anedvd knows of an architecture: how to read its settings and what its tensors are called.
//
// One family is one file in families/, listed in family.cpp. The order of a layer is plan.cpp's, which asks the spec, never the name.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "formats/tensor_source.h"
#include "model/spec.h"

namespace anedvd {

// What a tensor is for. Layer roles hold a layer's index in their names as {}.
enum class Role {
  kEmbedding,
  kOutputNorm,
  kOutput,
  kRopeFrequencies,
  kAttentionNorm,
  kQuery,
  kKey,
  kValue,
  kAttentionOutput,
  kQueryNorm,
  kKeyNorm,
  kPostAttentionNorm,
  kFfnNorm,
  kGate,
  kUp,
  kDown,
  kPostFfnNorm,
};

struct TensorRole {
  Role role;
  std::string_view gguf;  // "blk.{}.attn_q": ".weight" and ".bias" follow
  std::string_view hugging_face;
};

struct Family {
  std::string_view name;
  std::span<const std::string_view> gguf_names;  // general.architecture
  std::span<const TensorRole> tensors;
  // The tensors tell what the settings leave out (tied head, vocabulary). Errors name the key or tensor.
  Result<ModelSpec> (*read)(const TensorSource& source);
  std::span<const std::string_view> hf_names = {};  // model_type of config.json (text_config's, where there is one)
};

// The family of the file's architecture; an unknown one that has Llama's tensors is read like llama, with a warning.
// kUnsupported names the architecture and what it lacks.
Result<const Family*> find_family(const TensorSource& source);

// The stored name of a role's tensor without its ".weight", with the layer's index put in.
std::string tensor_name(const Family& family, SourceKind kind, Role role, int layer = -1);

// Tensor names that most families share.
std::span<const TensorRole> usual_tensors();

}  // namespace anedvd
