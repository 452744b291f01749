// Gemma 1: Llama with scaled embeddings, tanh-GELU and norms whose factor is 1 + w. The converter stores the sum.
#include "model/families/gemma.h"

#include <cmath>

#include "model/families/families.h"

namespace anedvd {
namespace {

constexpr std::string_view kNames[] = {"gemma"};

Result<ModelSpec> read(const TensorSource& source) { return read_gemma_settings(source, "gemma", {.context = 8192}); }

}  // namespace

Result<ModelSpec> read_gemma_settings(const TensorSource& source, std::string_view family, HfDefaults defaults) {
  defaults.activation = Activation::kGeluTanh;  // early releases name another, and nobody computes it
  ANEDVD_TRY(ModelSpec spec, read_usual_settings(source, family, defaults));
  spec.activation = Activation::kGeluTanh;
  spec.embed_scale = float(std::sqrt(double(spec.hidden)));
  spec.norm_offset = is_gguf(source) ? 0.0f : 1.0f;
  return spec;
}

Result<float> gemma_attention_scale(const TensorSource& source, const ModelSpec& spec, size_t layers_of_27b) {
  const LayerSpec& layer = spec.layers[0];
  double scalar = layer.head_dim;
  if (!is_gguf(source)) {
    ANEDVD_TRY(scalar, hf_number(source, "query_pre_attn_scalar", 256));
    if (scalar <= 0)
      return fail(ErrorCode::kNumeric, "{}: \"query_pre_attn_scalar\" in config.json is not above 0; use another model",
                  source.path().string());
  } else if (spec.layers.size() == layers_of_27b) {
    scalar = double(spec.hidden) / layer.heads;
  }
  return float(1 / std::sqrt(scalar));
}

const Family& gemma_family() {
  static const Family kFamily = {"gemma", kNames, kNames, {}, read};
  return kFamily;
}

}  // namespace anedvd
