// Gemma 2: four norms a layer, scores and logits capped by tanh, a window on every other layer.
#include "model/families/families.h"
#include "model/families/gemma.h"

namespace anedvd {
namespace {

constexpr std::string_view kNames[] = {"gemma2"};
constexpr size_t kLayersOf27b = 46;

constexpr TensorRole kTensors[] = {
    {Role::kFfnNorm, "blk.{}.ffn_norm", "model.layers.{}.pre_feedforward_layernorm"},
};

Result<ModelSpec> read(const TensorSource& source) {
  ANEDVD_TRY(ModelSpec spec,
             read_gemma_settings(source, "gemma2", {.context = 8192, .heads = 8, .kv_heads = 4, .head_dim = 256}));
  ANEDVD_TRY(const float scale, gemma_attention_scale(source, spec, kLayersOf27b));
  float softcap = 0;
  int window = 0;
  std::vector<bool> sliding;
  if (is_gguf(source)) {
    const GgufSettings settings(source);
    ANEDVD_TRY(softcap, settings.number("attn_logit_softcapping", 50));
    ANEDVD_TRY(spec.final_softcap, settings.number("final_logit_softcapping", 30));
    ANEDVD_TRY(window, settings.count("attention.sliding_window", 4096));
    for (size_t i = 0; i < spec.layers.size(); ++i) sliding.push_back(i % 2 == 0);
  } else {
    ANEDVD_TRY(const double attention_cap, hf_number(source, "attn_logit_softcapping", 50));
    ANEDVD_TRY(const double final_cap, hf_number(source, "final_logit_softcapping", 30));
    softcap = float(attention_cap);
    spec.final_softcap = float(final_cap);
    ANEDVD_TRY(window, hf_count(source, "sliding_window", 4096));
    ANEDVD_TRY(sliding, hf_sliding_layers(source, spec.layers.size(), 2));
  }
  for (LayerSpec& layer : spec.layers) {
    layer.sandwich_norm = true;
    layer.attention_scale = scale;
    layer.attention_softcap = softcap;
  }
  set_windows(spec, sliding, window);
  return spec;
}

}  // namespace

const Family& gemma2_family() {
  static const Family kFamily = {"gemma2", kNames, kNames, kTensors, read};
  return kFamily;
}

}  // namespace anedvd
