// Qwen3-MoE: Qwen3 with routed experts.
#include "model/families/families.h"
#include "model/families/qwen.h"

namespace anedvd {
namespace {

constexpr std::string_view kGgufNames[] = {"qwen3moe"};
constexpr std::string_view kHfNames[] = {"qwen3_moe"};

Result<ModelSpec> read(const TensorSource& source) {
  ANEDVD_TRY(ModelSpec spec, read_qwen_settings(source, "qwen3moe"));
  for (LayerSpec& layer : spec.layers) layer.qk_norm = QkNorm::kPerHead;
  ANEDVD_TRY_VOID(read_qwen_experts(source, spec, true));
  return spec;
}

}  // namespace

const Family& qwen3moe_family() {
  static const Family kFamily = {"qwen3moe", kGgufNames, kHfNames, {}, read};
  return kFamily;
}

}  // namespace anedvd
