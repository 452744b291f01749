// Everything that anedvd knows of an architecture: how to read its settings and what its tensors are called.
//
// One family is one file in families/, listed in family.cpp. The order of a layer is plan_builder.cpp's, which asks the spec, never the name.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "formats/tensor_source.h"
#include "model/spec.h"

namespace anedvd {

// What a tensor is for. Layer roles hold a layer's index in their names as {}, those of single experts a second {}.
enum class Role {
  kEmbedding,
  kOutputNorm,
  kOutput,
  kAttentionNorm,
  kQkv,  // q, k and v rows in one tensor
  kQuery,
  kKey,
  kValue,
  kAttentionOutput,
  kQueryNorm,
  kKeyNorm,
  kSinks,
  kPostAttentionNorm,
  kFfnNorm,
  kGateUp,  // gate and up rows in one tensor
  kGate,
  kUp,
  kDown,
  kPostFfnNorm,
  // Mixtures of experts. Stacks hold expert after expert; a file has either those or one tensor an expert.
  kRouter,
  kExpertGateUp,  // stack: gate rows, then up rows of each expert
  kExpertGate,
  kExpertUp,
  kExpertDown,
  kOneExpertGate,
  kOneExpertUp,
  kOneExpertDown,
  kSharedRouter,
  kSharedGate,
  kSharedUp,
  kSharedDown,
  kRouterScale,     // Gemma 4: weight of the norm before the router
  kExpertScale,     // Gemma 4: a factor for each expert
  kPostDenseNorm,   // Gemma 4: after the dense FFN beside experts
  kExpertNorm,      // Gemma 4: before the experts
  kPostExpertNorm,  // Gemma 4: after the experts
  // Short convolutions.
  kConvIn,
  kConvKernel,
  kConvOut,
  // Per-layer inputs.
  kPerLayerEmbedding,
  kPerLayerModelProjection,
  kPerLayerModelNorm,
  kPerLayerGate,
  kPerLayerProjection,
  kPerLayerNorm,
};

struct TensorRole {
  Role role;
  std::string_view
      gguf;  // "blk.{}.attn_q": ".weight" and ".bias" follow, unless the file has the name as it is; "": no such tensor
  std::string_view hugging_face;
};

struct Family {
  std::string_view name;
  std::span<const std::string_view> gguf_names;  // general.architecture
  std::span<const std::string_view> hf_names;    // model_type
  std::span<const TensorRole> tensors;           // what differs from usual_tensors()
  // The tensors tell what the settings leave out (tied head, vocabulary). Errors name the key or tensor.
  Result<ModelSpec> (*read)(const TensorSource& source);
};

// The family of the file's architecture; an unknown one that has Llama's tensors is read like llama, with a warning.
// kUnsupported names the architecture and what it lacks.
Result<const Family*> find_family(const TensorSource& source);

// The stored name of a role's tensor without its ".weight", with the indices of layer and expert put in; "": the family has none.
std::string tensor_name(const Family& family, SourceKind kind, Role role, int layer = -1, int expert = -1);

// Tensor names that most families share.
std::span<const TensorRole> usual_tensors();

}  // namespace anedvd
