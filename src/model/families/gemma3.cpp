// Gemma 3 (text): Gemma 2's layer without the cap on scores, norms over each head of q and k, and two rotations: a fast one for the layers with a
// window, a slow and possibly scaled one for every sixth layer, which sees everything.
#include "model/families/families.h"
#include "model/families/gemma.h"

namespace anedvd {
namespace {

constexpr std::string_view kGgufNames[] = {"gemma3"};
constexpr std::string_view kHfNames[] = {"gemma3_text", "gemma3"};
constexpr size_t kLayersOf27b = 62;
constexpr int kPattern = 6;
// Older files (the 270M's) have no key for the windowed layers' base.
constexpr GgufRopeKeys kLocalRope = {
    .base = "rope.freq_base_swa", .default_base = 10000, .scaled = false, .has_tensor = false};
constexpr GgufRopeKeys kGlobalRope = {.default_base = 1000000};

constexpr TensorRole kTensors[] = {
    {Role::kFfnNorm, "blk.{}.ffn_norm", "model.layers.{}.pre_feedforward_layernorm"},
};

// config.json before transformers 5 has the fast rotation's base apart, and its scaling means the slow one.
Result<RopeSpec> read_local_hf_rope(const TensorSource& source, const ModelSpec& spec) {
  const int head_dim = spec.layers[0].head_dim;
  RopeSettings settings;
  if (source.config().has("rope_parameters.sliding_attention")) {
    ANEDVD_TRY(settings, read_hf_rope(source, head_dim, spec.context, "sliding_attention"));
  } else {
    settings.rotated = head_dim;
    ANEDVD_TRY(settings.base, hf_number(source, "rope_local_base_freq", 10000));
  }
  return make_rope(settings, spec.context, source.path().string());
}

Result<> read_ropes(const TensorSource& source, ModelSpec& spec) {
  const int head_dim = spec.layers[0].head_dim;
  if (is_gguf(source)) {
    const GgufSettings settings(source);
    ANEDVD_TRY(RopeSpec global, settings.rope(head_dim, kGlobalRope));
    ANEDVD_TRY(RopeSpec local, settings.rope(head_dim, kLocalRope));
    spec.ropes = {std::move(global), std::move(local)};
    return {};
  }
  ANEDVD_TRY(const RopeSettings settings, read_hf_rope(source, head_dim, spec.context, "full_attention", 1000000));
  ANEDVD_TRY(RopeSpec global, make_rope(settings, spec.context, source.path().string()));
  ANEDVD_TRY(RopeSpec local, read_local_hf_rope(source, spec));
  spec.ropes = {std::move(global), std::move(local)};
  return {};
}

Result<ModelSpec> read(const TensorSource& source) {
  ANEDVD_TRY(
      ModelSpec spec,
      read_gemma_settings(source, "gemma3",
                          {.rope_theta = 1000000, .context = 131072, .heads = 8, .kv_heads = 4, .head_dim = 256}));
  ANEDVD_TRY_VOID(read_ropes(source, spec));
  ANEDVD_TRY(const float scale, gemma_attention_scale(source, spec, kLayersOf27b));
  int window = 0;
  std::vector<bool> sliding;
  if (is_gguf(source)) {
    const GgufSettings settings(source);
    ANEDVD_TRY(window, settings.count("attention.sliding_window"));
    ANEDVD_TRY(spec.final_softcap, settings.number("final_logit_softcapping", 0));
    ANEDVD_TRY(const auto flags, settings.flags("attention.sliding_window_pattern", int(spec.layers.size())));
    for (size_t i = 0; i < spec.layers.size(); ++i) sliding.push_back((i + 1) % kPattern != 0);
    if (flags) sliding = *flags;
  } else {
    ANEDVD_TRY(window, hf_count(source, "sliding_window", 0));
    ANEDVD_TRY(const double final_cap, hf_number(source, "final_logit_softcapping", 0));
    spec.final_softcap = float(final_cap);
    ANEDVD_TRY(const int pattern, hf_count(source, "sliding_window_pattern", kPattern));
    ANEDVD_TRY(sliding, hf_sliding_layers(source, spec.layers.size(), pattern));
  }
  if (window == 0) sliding.assign(sliding.size(), false);
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    LayerSpec& layer = spec.layers[i];
    layer.sandwich_norm = true;
    layer.qk_norm = QkNorm::kPerHead;
    layer.attention_scale = scale;
    layer.rope = sliding[i] ? 1 : 0;
  }
  set_windows(spec, sliding, window);
  return spec;
}

}  // namespace

const Family& gemma3_family() {
  static const Family kFamily = {"gemma3", kGgufNames, kHfNames, kTensors, read};
  return kFamily;
}

}  // namespace anedvd
