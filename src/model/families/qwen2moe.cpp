// Qwen2-MoE (Qwen1.5-MoE, Qwen2-57B-A14B): Qwen2 with routed experts whose weights are not divided by their sum, and a shared one behind a gate.
#include "model/families/families.h"
#include "model/families/qwen.h"

namespace anedvd {
namespace {

constexpr std::string_view kGgufNames[] = {"qwen2moe"};
constexpr std::string_view kHfNames[] = {"qwen2_moe"};

Result<ModelSpec> read(const TensorSource& source) {
  ANEDVD_TRY(ModelSpec spec, read_qwen_settings(source, "qwen2moe"));
  ANEDVD_TRY_VOID(read_qwen_experts(source, spec, false));
  int shared = 0;
  if (is_gguf(source)) {
    ANEDVD_TRY(shared, GgufSettings(source).count("expert_shared_feed_forward_length"));
  } else {
    ANEDVD_TRY(shared, hf_count(source, "shared_expert_intermediate_size", 5632));
  }
  for (LayerSpec& layer : spec.layers)
    if (layer.moe) layer.moe->shared_ffn_width = shared;
  return spec;
}

}  // namespace

const Family& qwen2moe_family() {
  static const Family kFamily = {"qwen2moe", kGgufNames, kHfNames, {}, read};
  return kFamily;
}

}  // namespace anedvd
