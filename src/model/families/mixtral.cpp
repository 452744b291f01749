// Mixtral as a Hugging Face folder: Mistral with experts (GGUF files call it `llama`).
#include "model/families/families.h"
#include "model/usual_settings.h"

namespace anedvd {
namespace {

constexpr std::string_view kHfNames[] = {"mixtral"};

constexpr TensorRole kTensors[] = {
    {Role::kRouter, "", "model.layers.{}.block_sparse_moe.gate"},
    {Role::kExpertGateUp, "", "model.layers.{}.block_sparse_moe.experts.gate_up_proj"},
    {Role::kExpertDown, "", "model.layers.{}.block_sparse_moe.experts.down_proj"},
    {Role::kOneExpertGate, "", "model.layers.{}.block_sparse_moe.experts.{}.w1"},
    {Role::kOneExpertUp, "", "model.layers.{}.block_sparse_moe.experts.{}.w3"},
    {Role::kOneExpertDown, "", "model.layers.{}.block_sparse_moe.experts.{}.w2"},
};

Result<ModelSpec> read(const TensorSource& source) {
  ANEDVD_TRY(ModelSpec spec,
             read_usual_settings(source, "mixtral", {.norm_eps = 1e-5, .rope_theta = 1e6, .context = 131072}));
  ANEDVD_TRY(const MoeSpec moe, hf_experts(source, spec.layers[0].ffn_width));
  ANEDVD_TRY(const int window, hf_count(source, "sliding_window", 0));
  for (LayerSpec& layer : spec.layers) layer.moe = moe;
  set_windows(spec, std::vector<bool>(spec.layers.size(), true), window);
  return spec;
}

}  // namespace

const Family& mixtral_family() {
  static const Family kFamily = {"mixtral", {}, kHfNames, kTensors, read};
  return kFamily;
}

}  // namespace anedvd
