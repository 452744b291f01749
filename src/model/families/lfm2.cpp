// LFM2: some layers attend, the others are gated short convolutions; the last norm goes by the embedding's name.
#include "model/families/families.h"
#include "model/usual_settings.h"

namespace anedvd {
namespace {

constexpr std::string_view kNames[] = {"lfm2"};

constexpr TensorRole kTensors[] = {
    {Role::kOutputNorm, "token_embd_norm", "model.embedding_norm"},
    {Role::kAttentionNorm, "blk.{}.attn_norm", "model.layers.{}.operator_norm"},
    {Role::kAttentionOutput, "blk.{}.attn_output", "model.layers.{}.self_attn.out_proj"},
    {Role::kQueryNorm, "blk.{}.attn_q_norm", "model.layers.{}.self_attn.q_layernorm"},
    {Role::kKeyNorm, "blk.{}.attn_k_norm", "model.layers.{}.self_attn.k_layernorm"},
    {Role::kFfnNorm, "blk.{}.ffn_norm", "model.layers.{}.ffn_norm"},
    {Role::kGate, "blk.{}.ffn_gate", "model.layers.{}.feed_forward.w1"},
    {Role::kUp, "blk.{}.ffn_up", "model.layers.{}.feed_forward.w3"},
    {Role::kDown, "blk.{}.ffn_down", "model.layers.{}.feed_forward.w2"},
    {Role::kConvIn, "blk.{}.shortconv.in_proj", "model.layers.{}.conv.in_proj"},
    {Role::kConvKernel, "blk.{}.shortconv.conv", "model.layers.{}.conv.conv"},
    {Role::kConvOut, "blk.{}.shortconv.out_proj", "model.layers.{}.conv.out_proj"},
};

// config.json may give a width that stands for another: two thirds of it, times a factor, rounded up.
Result<int> read_hf_width(const TensorSource& source) {
  ANEDVD_TRY(int width, hf_count(source, "intermediate_size", source.config().integer("block_ff_dim"), 1));
  if (!hf_flag(source, "block_auto_adjust_ff_dim", true)) return width;
  width = int(2 * int64_t(width) / 3);
  ANEDVD_TRY(const double factor, hf_number(source, "block_ffn_dim_multiplier", 1));
  ANEDVD_TRY(const int multiple, hf_count(source, "block_multiple_of", 256, 1));
  const double scaled = factor * width;
  if (!(scaled >= 1 && scaled < 1 << 24))
    return fail(ErrorCode::kBadFile, "{}: the feed-forward width of config.json makes no sense; use another model",
                source.path().string());
  return (int(scaled) + multiple - 1) / multiple * multiple;
}

Result<ModelSpec> read(const TensorSource& source) {
  ANEDVD_TRY(ModelSpec spec,
             read_usual_settings(source, "lfm2", {.norm_eps = 1e-5, .rope_theta = 1e6, .context = 128000}));
  int kernel = 0;
  std::vector<bool> is_conv;
  if (is_gguf(source)) {
    ANEDVD_TRY(kernel, GgufSettings(source).size("shortconv.l_cache", 3));
    for (const LayerSpec& layer : spec.layers) is_conv.push_back(layer.kv_heads == 0);
  } else {
    ANEDVD_TRY(const double eps, hf_number(source, "norm_eps", 1e-5));
    spec.norm_eps = float(eps);
    ANEDVD_TRY(kernel, hf_count(source, "conv_L_cache", 3, 1));
    ANEDVD_TRY(const int width, read_hf_width(source));
    ANEDVD_TRY(const auto types, hf_layer_types(source, spec.layers.size()));
    if (types.empty())
      return fail(ErrorCode::kBadFile, "{}: config.json has no \"layer_types\"; fetch the folder again",
                  source.path().string());
    for (size_t i = 0; i < spec.layers.size(); ++i) {
      is_conv.push_back(types[i] == "conv");
      spec.layers[i].ffn_width = width;
    }
  }
  if (kernel > 64)
    return fail(ErrorCode::kBadFile, "{}: a convolution over {} positions makes no sense; use another model",
                source.path().string(), kernel);
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    spec.layers[i].qk_norm = QkNorm::kPerHead;
    if (is_conv[i]) spec.layers[i].conv_kernel = kernel;
  }
  return spec;
}

}  // namespace

const Family& lfm2_family() {
  static const Family kFamily = {"lfm2", kNames, kNames, kTensors, read};
  return kFamily;
}

}  // namespace anedvd
