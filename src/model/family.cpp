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
constexpr FamilyFunction kFamilies[] = {
    llama_family,    mistral_family, mixtral_family, qwen2_family,   qwen3_family,  qwen2moe_family,
    qwen3moe_family, gemma_family,   gemma2_family,  gemma3_family,  gemma4_family, phi3_family,
    smollm3_family,  granite_family, olmo2_family,   gpt_oss_family, lfm2_family,
};

constexpr TensorRole kUsual[] = {
    {Role::kEmbedding, "token_embd", "model.embed_tokens"},
    {Role::kOutputNorm, "output_norm", "model.norm"},
    {Role::kOutput, "output", "lm_head"},
    {Role::kAttentionNorm, "blk.{}.attn_norm", "model.layers.{}.input_layernorm"},
    {Role::kQkv, "blk.{}.attn_qkv", "model.layers.{}.self_attn.qkv_proj"},
    {Role::kQuery, "blk.{}.attn_q", "model.layers.{}.self_attn.q_proj"},
    {Role::kKey, "blk.{}.attn_k", "model.layers.{}.self_attn.k_proj"},
    {Role::kValue, "blk.{}.attn_v", "model.layers.{}.self_attn.v_proj"},
    {Role::kAttentionOutput, "blk.{}.attn_output", "model.layers.{}.self_attn.o_proj"},
    {Role::kQueryNorm, "blk.{}.attn_q_norm", "model.layers.{}.self_attn.q_norm"},
    {Role::kKeyNorm, "blk.{}.attn_k_norm", "model.layers.{}.self_attn.k_norm"},
    {Role::kSinks, "blk.{}.attn_sinks", "model.layers.{}.self_attn.sinks"},
    {Role::kPostAttentionNorm, "blk.{}.post_attention_norm", "model.layers.{}.post_attention_layernorm"},
    {Role::kFfnNorm, "blk.{}.ffn_norm", "model.layers.{}.post_attention_layernorm"},
    {Role::kGateUp, "", "model.layers.{}.mlp.gate_up_proj"},
    {Role::kGate, "blk.{}.ffn_gate", "model.layers.{}.mlp.gate_proj"},
    {Role::kUp, "blk.{}.ffn_up", "model.layers.{}.mlp.up_proj"},
    {Role::kDown, "blk.{}.ffn_down", "model.layers.{}.mlp.down_proj"},
    {Role::kPostFfnNorm, "blk.{}.post_ffw_norm", "model.layers.{}.post_feedforward_layernorm"},
    {Role::kRouter, "blk.{}.ffn_gate_inp", "model.layers.{}.mlp.gate"},
    {Role::kExpertGateUp, "blk.{}.ffn_gate_up_exps", "model.layers.{}.mlp.experts.gate_up_proj"},
    {Role::kExpertGate, "blk.{}.ffn_gate_exps", "model.layers.{}.mlp.experts.gate_proj"},
    {Role::kExpertUp, "blk.{}.ffn_up_exps", "model.layers.{}.mlp.experts.up_proj"},
    {Role::kExpertDown, "blk.{}.ffn_down_exps", "model.layers.{}.mlp.experts.down_proj"},
    {Role::kOneExpertGate, "blk.{}.ffn_gate.{}", "model.layers.{}.mlp.experts.{}.gate_proj"},
    {Role::kOneExpertUp, "blk.{}.ffn_up.{}", "model.layers.{}.mlp.experts.{}.up_proj"},
    {Role::kOneExpertDown, "blk.{}.ffn_down.{}", "model.layers.{}.mlp.experts.{}.down_proj"},
    {Role::kSharedRouter, "blk.{}.ffn_gate_inp_shexp", "model.layers.{}.mlp.shared_expert_gate"},
    {Role::kSharedGate, "blk.{}.ffn_gate_shexp", "model.layers.{}.mlp.shared_expert.gate_proj"},
    {Role::kSharedUp, "blk.{}.ffn_up_shexp", "model.layers.{}.mlp.shared_expert.up_proj"},
    {Role::kSharedDown, "blk.{}.ffn_down_shexp", "model.layers.{}.mlp.shared_expert.down_proj"},
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

void put_index(std::string& name, int index) {
  if (const size_t at = name.find("{}"); at != std::string::npos) name.replace(at, 2, std::to_string(index));
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
                "{}: architecture \"{}\" is not one that anedvd knows, and it lacks Llama's tensor \"{}\"; use another "
                "model",
                file, visible(architecture), missing);
  warn("{}: architecture \"{}\" is unknown; reading it like llama, check the answers", file, visible(architecture));
  return &llama_family();
}

std::string tensor_name(const Family& family, SourceKind kind, Role role, int layer, int expert) {
  const auto has_role = [&](const TensorRole& row) { return row.role == role; };
  auto row = std::find_if(family.tensors.begin(), family.tensors.end(), has_role);
  if (row == family.tensors.end()) {
    const std::span<const TensorRole> usual = kUsual;
    row = std::find_if(usual.begin(), usual.end(), has_role);
    if (row == usual.end()) return "";
  }
  std::string name(kind == SourceKind::kGguf ? row->gguf : row->hugging_face);
  put_index(name, layer);
  put_index(name, expert);
  return name;
}

}  // namespace anedvd
