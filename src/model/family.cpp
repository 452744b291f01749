#include "model/family.h"

#include <algorithm>
#include <array>

#include "base/log.h"
#include "base/words.h"
#include "model/families/families.h"
#include "model/hf_settings.h"

namespace anedvd {
namespace {

using FamilyFunction = const Family& (*)();
constexpr FamilyFunction kFamilies[] = {llama_family};

constexpr TensorRole kUsual[] = {
    {Role::kEmbedding, "token_embd", "model.embed_tokens"},
    {Role::kOutputNorm, "output_norm", "model.norm"},
    {Role::kOutput, "output", "lm_head"},
    {Role::kRopeFrequencies, "rope_freqs", ""},
    {Role::kAttentionNorm, "blk.{}.attn_norm", "model.layers.{}.input_layernorm"},
    {Role::kQuery, "blk.{}.attn_q", "model.layers.{}.self_attn.q_proj"},
    {Role::kKey, "blk.{}.attn_k", "model.layers.{}.self_attn.k_proj"},
    {Role::kValue, "blk.{}.attn_v", "model.layers.{}.self_attn.v_proj"},
    {Role::kAttentionOutput, "blk.{}.attn_output", "model.layers.{}.self_attn.o_proj"},
    {Role::kQueryNorm, "blk.{}.attn_q_norm", "model.layers.{}.self_attn.q_norm"},
    {Role::kKeyNorm, "blk.{}.attn_k_norm", "model.layers.{}.self_attn.k_norm"},
    {Role::kFfnNorm, "blk.{}.ffn_norm", "model.layers.{}.post_attention_layernorm"},
    {Role::kGate, "blk.{}.ffn_gate", "model.layers.{}.mlp.gate_proj"},
    {Role::kUp, "blk.{}.ffn_up", "model.layers.{}.mlp.up_proj"},
    {Role::kDown, "blk.{}.ffn_down", "model.layers.{}.mlp.down_proj"},
};

// The first tensor of Llama's layout that the file lacks; "" if it has them all.
std::string first_missing_of_llama(const TensorSource& source) {
  constexpr Role kNeeded[] = {Role::kEmbedding, Role::kOutputNorm,      Role::kAttentionNorm, Role::kQuery, Role::kKey,
                              Role::kValue,     Role::kAttentionOutput, Role::kFfnNorm,       Role::kGate,  Role::kUp,
                              Role::kDown};
  for (const Role role : kNeeded) {
    const std::string name = tensor_name(llama_family(), source.kind(), role, 0) + ".weight";
    if (source.find(name) == nullptr) return name;
  }
  return "";
}

}  // namespace

std::span<const TensorRole> usual_tensors() { return kUsual; }

Result<const Family*> find_family(const TensorSource& source) {
  const std::string file = source.path().string();
  ANEDVD_TRY(const std::string_view architecture, source_architecture(source));
  for (const FamilyFunction function : kFamilies) {
    const Family& family = function();
    const auto names = source.kind() == SourceKind::kGguf ? family.gguf_names : family.hf_names;
    if (std::find(names.begin(), names.end(), architecture) != names.end()) return &family;
  }
  const std::string missing = first_missing_of_llama(source);
  if (!missing.empty())
    return fail(ErrorCode::kUnsupported,
                "{}: architecture \"{}\" is not one that anedvd knows, and it lacks Llama's tensor \"{}\"", file,
                visible(architecture), missing);
  warn("{}: architecture \"{}\" is unknown; reading it like llama, check the answers", file, visible(architecture));
  return &llama_family();
}

std::string tensor_name(const Family& family, SourceKind kind, Role role, int layer) {
  const auto row =
      std::find_if(family.tensors.begin(), family.tensors.end(), [&](const TensorRole& r) { return r.role == role; });
  ANEDVD_CHECK(row != family.tensors.end(), "{} has no tensor for role {}", family.name, int(role));
  std::string name(kind == SourceKind::kGguf ? row->gguf : row->hugging_face);
  if (const size_t at = name.find("{}"); at != std::string::npos) name.replace(at, 2, std::to_string(layer));
  return name;
}

}  // namespace anedvd
