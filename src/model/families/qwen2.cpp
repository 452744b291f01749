// Qwen2 and Qwen2.5: Llama with biases on q, k and v, and half-split rotation in GGUF too.
#include "model/families/families.h"
#include "model/families/qwen.h"

namespace anedvd {
namespace {

constexpr std::string_view kNames[] = {"qwen2"};

Result<ModelSpec> read(const TensorSource& source) { return read_qwen_settings(source, "qwen2"); }

}  // namespace

Result<ModelSpec> read_qwen_settings(const TensorSource& source, std::string_view family) {
  ANEDVD_TRY(ModelSpec spec, read_usual_settings(source, family, {.context = 32768}));
  if (is_gguf(source) || !hf_flag(source, "use_sliding_window", false)) return spec;
  ANEDVD_TRY(const int window, hf_count(source, "sliding_window", 4096));
  ANEDVD_TRY(std::vector<bool> sliding, hf_sliding_layers(source, spec.layers.size(), 0));
  if (!source.config().array_size("layer_types")) {
    ANEDVD_TRY(const int full_layers, hf_count(source, "max_window_layers", 28));
    for (size_t i = 0; i < sliding.size(); ++i) sliding[i] = int(i) >= full_layers;
  }
  set_windows(spec, sliding, window);
  return spec;
}

Result<> read_qwen_experts(const TensorSource& source, ModelSpec& spec, bool renormalise) {
  if (is_gguf(source)) {
    const GgufSettings settings(source);
    ANEDVD_TRY(std::optional<MoeSpec> moe, settings.moe());
    if (!moe)
      return fail(ErrorCode::kBadFile, "{}: key \"{}\" is missing; use another file", settings.file(),
                  settings.key("expert_count"));
    // Not in the file: fixed by architecture.
    moe->renormalise = renormalise;
    for (LayerSpec& layer : spec.layers) layer.moe = moe;
    return {};
  }
  ANEDVD_TRY(MoeSpec moe, hf_experts(source, 0));
  // False is the class's default even for Qwen3, whose releases say true.
  moe.renormalise = hf_flag(source, "norm_topk_prob", false);
  ANEDVD_TRY(const int every, hf_count(source, "decoder_sparse_step", 1, 1));
  std::vector<int64_t> dense;
  if (source.config().array_size("mlp_only_layers").value_or(0) > 0) {
    ANEDVD_TRY(dense, source.config().integers("mlp_only_layers"));
  }
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    const bool is_dense = std::find(dense.begin(), dense.end(), int64_t(i)) != dense.end();
    if (!is_dense && (i + 1) % size_t(every) == 0) spec.layers[i].moe = moe;
  }
  return {};
}

const Family& qwen2_family() {
  static const Family kFamily = {"qwen2", kNames, kNames, {}, read};
  return kFamily;
}

}  // namespace anedvd
