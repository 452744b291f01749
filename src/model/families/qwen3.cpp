// Qwen3: Qwen2 without biases, with a norm over each head of q and k.
#include "model/families/families.h"
#include "model/families/qwen.h"

namespace anedvd {
namespace {

constexpr std::string_view kNames[] = {"qwen3"};

Result<ModelSpec> read(const TensorSource& source) {
  ANEDVD_TRY(ModelSpec spec, read_qwen_settings(source, "qwen3"));
  for (LayerSpec& layer : spec.layers) layer.qk_norm = QkNorm::kPerHead;
  return spec;
}

}  // namespace

const Family& qwen3_family() {
  static const Family kFamily = {"qwen3", kNames, kNames, {}, read};
  return kFamily;
}

}  // namespace anedvd
