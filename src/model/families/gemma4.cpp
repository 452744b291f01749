// Gemma 4 (text), dense, with per-layer inputs (E2B, E4B) and with experts (26B-A4B).
//
// Full layers have heads of another size than those with a window and turn only a quarter of their pairs ("proportional": pairs reach over the whole
// head, those that do not turn have frequency 0; GGUF says it by divisors of 1e30). The last layers may share keys and values of the last layer of
// their own kind that has some. The norm's factor is w in both containers, scores are not divided by √head, v is normed without a weight.
#include <algorithm>
#include <cmath>

#include "model/families/families.h"
#include "model/families/gemma.h"

namespace anedvd {
namespace {

constexpr std::string_view kGgufNames[] = {"gemma4"};
constexpr std::string_view kHfNames[] = {"gemma4_text", "gemma4"};
constexpr int kPattern = 6;

constexpr TensorRole kTensors[] = {
    {Role::kFfnNorm, "blk.{}.ffn_norm", "model.layers.{}.pre_feedforward_layernorm"},
    {Role::kRouter, "blk.{}.ffn_gate_inp", "model.layers.{}.router.proj"},
    {Role::kRouterScale, "blk.{}.ffn_gate_inp.scale", "model.layers.{}.router.scale"},
    {Role::kExpertScale, "blk.{}.ffn_down_exps.scale", "model.layers.{}.router.per_expert_scale"},
    {Role::kExpertGateUp, "blk.{}.ffn_gate_up_exps", "model.layers.{}.experts.gate_up_proj"},
    {Role::kExpertDown, "blk.{}.ffn_down_exps", "model.layers.{}.experts.down_proj"},
    {Role::kOneExpertGate, "", "model.layers.{}.experts.{}.gate_proj"},
    {Role::kOneExpertUp, "", "model.layers.{}.experts.{}.up_proj"},
    {Role::kOneExpertDown, "", "model.layers.{}.experts.{}.down_proj"},
    {Role::kPostDenseNorm, "blk.{}.post_ffw_norm_1", "model.layers.{}.post_feedforward_layernorm_1"},
    {Role::kExpertNorm, "blk.{}.pre_ffw_norm_2", "model.layers.{}.pre_feedforward_layernorm_2"},
    {Role::kPostExpertNorm, "blk.{}.post_ffw_norm_2", "model.layers.{}.post_feedforward_layernorm_2"},
    {Role::kPerLayerEmbedding, "per_layer_token_embd", "model.embed_tokens_per_layer"},
    {Role::kPerLayerModelProjection, "per_layer_model_proj", "model.per_layer_model_projection"},
    {Role::kPerLayerModelNorm, "per_layer_proj_norm", "model.per_layer_projection_norm"},
    {Role::kPerLayerGate, "blk.{}.inp_gate", "model.layers.{}.per_layer_input_gate"},
    {Role::kPerLayerProjection, "blk.{}.proj", "model.layers.{}.per_layer_projection"},
    {Role::kPerLayerNorm, "blk.{}.post_norm", "model.layers.{}.post_per_layer_input_norm"},
};

// What the two containers say in different words.
struct Details {
  int window = 0;
  std::vector<bool> sliding;
  int sliding_head = 0;
  int shared_layers = 0;
};

Result<Details> read_gguf(const TensorSource& source, ModelSpec& spec) {
  const GgufSettings settings(source);
  const int layers = int(spec.layers.size());
  Details d;
  ANEDVD_TRY(d.window, settings.count("attention.sliding_window"));
  for (int i = 0; i < layers; ++i) d.sliding.push_back((i + 1) % kPattern != 0);
  ANEDVD_TRY(const auto flags, settings.flags("attention.sliding_window_pattern", layers));
  if (flags) d.sliding = *flags;
  ANEDVD_TRY(d.sliding_head, settings.size("attention.key_length_swa", spec.layers[0].head_dim));
  ANEDVD_TRY(d.shared_layers, settings.count("attention.shared_kv_layers"));
  ANEDVD_TRY(spec.per_layer_inputs, settings.count("embedding_length_per_layer_input"));
  ANEDVD_TRY(spec.final_softcap, settings.number("final_logit_softcapping", 0));
  ANEDVD_TRY(const auto moe, settings.moe());
  for (LayerSpec& layer : spec.layers) layer.moe = moe;
  ANEDVD_TRY(RopeSpec full, settings.rope(spec.layers[0].head_dim, {.default_base = 1000000}));
  ANEDVD_TRY(RopeSpec local, settings.rope(d.sliding_head, {.base = "rope.freq_base_swa",
                                                            .rotated = "rope.dimension_count_swa",
                                                            .scaled = false,
                                                            .has_tensor = false}));
  spec.ropes = {std::move(full), std::move(local)};
  return d;
}

Result<RopeSpec> read_proportional(const TensorSource& source, int head_dim) {
  const std::string object = "rope_parameters.full_attention.";
  ANEDVD_TRY(const double base, hf_number(source, object + "rope_theta", 1000000));
  ANEDVD_TRY(const double part, hf_number(source, object + "partial_rotary_factor", 0.25));
  ANEDVD_TRY(const double factor, hf_number(source, object + "factor", 1));
  if (!(base > 0 && part >= 0 && part <= 1 && factor > 0))
    return fail(ErrorCode::kNumeric, "{}: the rotation of full layers in config.json makes no sense; use another model",
                source.path().string());
  RopeSpec rope;
  rope.rotated = head_dim / 2 * 2;
  rope.inverse_frequency = plain_frequencies(base, rope.rotated);
  for (size_t i = 0; i < rope.inverse_frequency.size(); ++i)
    rope.inverse_frequency[i] = i < size_t(part * head_dim / 2) ? rope.inverse_frequency[i] / factor : 0;
  return rope;
}

// Full layers' heads: by name, or layer by layer as transformers 5 writes it.
Result<> read_hf_heads(const TensorSource& source, ModelSpec& spec, const Details& d) {
  const bool key_is_value = hf_flag(source, "attention_k_eq_v", false);
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    LayerSpec& layer = spec.layers[i];
    int head_dim = d.sliding_head, kv_heads = layer.kv_heads;
    if (!d.sliding[i]) {
      ANEDVD_TRY(head_dim, hf_count(source, "global_head_dim", 512, 1));
      if (key_is_value) {
        ANEDVD_TRY(kv_heads, hf_count(source, "num_global_key_value_heads", kv_heads, 1));
      }
      layer.value_is_key = key_is_value;
    }
    const std::string own = fmt::format("per_layer_config.{}.", i);
    ANEDVD_TRY(layer.head_dim, hf_count(source, own + "head_dim", head_dim, 1));
    ANEDVD_TRY(layer.kv_heads, hf_count(source, own + "num_key_value_heads", kv_heads, 1));
    if (layer.heads % layer.kv_heads != 0 || layer.head_dim > 4096)
      return fail(ErrorCode::kBadFile, "{}: {} heads of {} over {} key-value heads make no sense; use another model",
                  source.path().string(), layer.heads, layer.head_dim, layer.kv_heads);
  }
  return {};
}

Result<Details> read_hf(const TensorSource& source, ModelSpec& spec) {
  Details d;
  ANEDVD_TRY(d.window, hf_count(source, "sliding_window", 512));
  ANEDVD_TRY(d.sliding, hf_sliding_layers(source, spec.layers.size(), kPattern));
  ANEDVD_TRY(d.sliding_head, hf_count(source, "head_dim", 256, 1));
  ANEDVD_TRY(d.shared_layers, hf_count(source, "num_kv_shared_layers", 0));
  ANEDVD_TRY_VOID(read_hf_heads(source, spec, d));
  const bool has_inputs = source.find("model.embed_tokens_per_layer.weight") != nullptr;
  ANEDVD_TRY(spec.per_layer_inputs, hf_count(source, "hidden_size_per_layer_input", has_inputs ? 256 : 0));
  ANEDVD_TRY(const double softcap, hf_number(source, "final_logit_softcapping", 0));
  spec.final_softcap = float(softcap);
  if (hf_flag(source, "enable_moe_block", false)) {
    ANEDVD_TRY(const MoeSpec moe, hf_experts(source, 0));
    for (LayerSpec& layer : spec.layers) layer.moe = moe;
  }
  if (hf_flag(source, "use_double_wide_mlp", false))
    for (size_t i = 0; i < spec.layers.size(); ++i)
      if (i + size_t(d.shared_layers) >= spec.layers.size()) spec.layers[i].ffn_width *= 2;
  const auto full = std::find(d.sliding.begin(), d.sliding.end(), false) - d.sliding.begin();
  const size_t a_full_layer = std::min(size_t(full), spec.layers.size() - 1);
  ANEDVD_TRY(RopeSpec global, read_proportional(source, spec.layers[a_full_layer].head_dim));
  ANEDVD_TRY(const RopeSettings settings, read_hf_rope(source, d.sliding_head, spec.context, "sliding_attention"));
  ANEDVD_TRY(RopeSpec local, make_rope(settings, spec.context, source.path().string()));
  spec.ropes = {std::move(global), std::move(local)};
  return d;
}

// The factor on the residual stream behind a layer; 1 without a tensor.
Result<float> read_output_scale(const TensorSource& source, size_t layer) {
  const std::string name = is_gguf(source) ? fmt::format("blk.{}.layer_output_scale.weight", layer)
                                           : fmt::format("model.layers.{}.layer_scalar", layer);
  const TensorView* tensor = source.find(name);
  if (tensor == nullptr) return 1.0f;
  if (tensor->elements() != 1)
    return fail(ErrorCode::kBadFile, "{}: tensor \"{}\" has shape {}, expected one number; use another file",
                source.path().string(), name, shape_words(tensor->shape));
  float value = 0;
  dequantize(*tensor, 0, 1, {&value, 1});
  if (!std::isfinite(value))
    return fail(ErrorCode::kNumeric, "{}: tensor \"{}\" is not a finite number; use another file",
                source.path().string(), name);
  return value;
}

// Sharing layers take the cache of the last layer of their kind that has one.
Result<> share_caches(const TensorSource& source, ModelSpec& spec, const Details& d) {
  const int layers = int(spec.layers.size()), own = layers - d.shared_layers;
  for (int i = own; i < layers; ++i) {
    int donor = own - 1;
    while (donor >= 0 && d.sliding[size_t(donor)] != d.sliding[size_t(i)]) --donor;
    if (own < 1 || donor < 0)
      return fail(ErrorCode::kBadFile,
                  "{}: layer {} shares keys and values, but no layer of its kind has some; use "
                  "another file",
                  source.path().string(), i);
    spec.layers[size_t(i)].kv_from_layer = donor;
    spec.layers[size_t(i)].kv_heads = spec.layers[size_t(donor)].kv_heads;
  }
  return {};
}

Result<ModelSpec> read(const TensorSource& source) {
  ANEDVD_TRY(ModelSpec spec,
             read_gemma_settings(source, "gemma4", {.context = 131072, .heads = 8, .kv_heads = 4, .head_dim = 256}));
  spec.norm_offset = 0;
  ANEDVD_TRY(const Details d, is_gguf(source) ? read_gguf(source, spec) : read_hf(source, spec));
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    LayerSpec& layer = spec.layers[i];
    layer.sandwich_norm = true;
    layer.qk_norm = QkNorm::kPerHead;
    layer.value_norm = true;
    layer.attention_scale = 1;
    layer.rope = d.sliding[i] ? 1 : 0;
    if (layer.moe) layer.moe->beside_dense = true;
    if (is_gguf(source)) {
      if (d.sliding[i]) layer.head_dim = d.sliding_head;
      layer.value_is_key = source.find(fmt::format("blk.{}.attn_v.weight", i)) == nullptr;
    }
    ANEDVD_TRY(layer.output_scale, read_output_scale(source, i));
  }
  if (d.shared_layers > int(spec.layers.size()))
    return fail(ErrorCode::kBadFile, "{}: {} of {} layers share keys and values; use another file",
                source.path().string(), d.shared_layers, spec.layers.size());
  ANEDVD_TRY_VOID(share_caches(source, spec, d));
  set_windows(spec, d.sliding, d.window);
  return spec;
}

}  // namespace

const Family& gemma4_family() {
  static const Family kFamily = {"gemma4", kGgufNames, kHfNames, kTensors, read};
  return kFamily;
}

}  // namespace anedvd
