// gpt-oss: biases everywhere, a window on every other layer, sinks in the softmax, experts with biases, a clamped gate and MXFP4 weights.
#include "model/families/families.h"
#include "model/usual_settings.h"

namespace anedvd {
namespace {

constexpr std::string_view kGgufNames[] = {"gpt-oss"};
constexpr std::string_view kHfNames[] = {"gpt_oss"};

constexpr TensorRole kTensors[] = {
    {Role::kFfnNorm, "blk.{}.post_attention_norm", "model.layers.{}.post_attention_layernorm"},
    {Role::kRouter, "blk.{}.ffn_gate_inp", "model.layers.{}.mlp.router"},
};

Result<ModelSpec> read(const TensorSource& source) {
  ANEDVD_TRY(ModelSpec spec,
             read_usual_settings(source, "gpt-oss", {.norm_eps = 1e-5, .rope_theta = 150000, .context = 131072}));
  spec.activation = Activation::kClampedSwiglu;
  int window = 0;
  std::vector<bool> sliding;
  std::optional<MoeSpec> moe;
  if (is_gguf(source)) {
    const GgufSettings settings(source);
    ANEDVD_TRY(moe, settings.moe());
    ANEDVD_TRY(window, settings.count("attention.sliding_window", 128));
    for (size_t i = 0; i < spec.layers.size(); ++i) sliding.push_back(i % 2 == 0);
  } else {
    ANEDVD_TRY(moe, hf_experts(source, spec.layers[0].ffn_width));
    ANEDVD_TRY(window, hf_count(source, "sliding_window", 128));
    ANEDVD_TRY(sliding, hf_sliding_layers(source, spec.layers.size(), 2));
    spec.transposed_experts = true;
  }
  if (!moe)
    return fail(ErrorCode::kBadFile, "{}: key \"gpt-oss.expert_count\" is missing; use another file",
                source.path().string());
  for (LayerSpec& layer : spec.layers) {
    layer.moe = moe;
    layer.sinks = true;
  }
  set_windows(spec, sliding, window);
  return spec;
}

}  // namespace

const Family& gpt_oss_family() {
  static const Family kFamily = {"gpt-oss", kGgufNames, kHfNames, kTensors, read};
  return kFamily;
}

}  // namespace anedvd
