// Granite 3.x dense: Llama with four factors: on embeddings, on scores (in place of 1/√head), on what joins the residual, and one that divides logits.
#include "model/families/families.h"
#include "model/usual_settings.h"

namespace anedvd {
namespace {

constexpr std::string_view kNames[] = {"granite"};

Result<ModelSpec> read(const TensorSource& source) {
  ANEDVD_TRY(ModelSpec spec, read_usual_settings(source, "granite"));
  double embedding = 1, attention = 1, residual = 1, logits = 1;
  if (is_gguf(source)) {
    const GgufSettings settings(source);
    spec.adjacent_rope_rows = true;
    ANEDVD_TRY(embedding, settings.number("embedding_scale", 1));
    ANEDVD_TRY(attention, settings.number("attention.scale", double(spec.layers[0].attention_scale)));
    ANEDVD_TRY(residual, settings.number("residual_scale", 1));
    ANEDVD_TRY(logits, settings.number("logit_scale", 1));
  } else {
    ANEDVD_TRY(embedding, hf_number(source, "embedding_multiplier", 1));
    ANEDVD_TRY(attention, hf_number(source, "attention_multiplier", 1));
    ANEDVD_TRY(residual, hf_number(source, "residual_multiplier", 1));
    ANEDVD_TRY(logits, hf_number(source, "logits_scaling", 1));
  }
  if (logits == 0)
    return fail(ErrorCode::kNumeric, "{}: logits would be divided by 0; use another file", source.path().string());
  spec.embed_scale = float(embedding);
  spec.residual_scale = float(residual);
  spec.logit_scale = float(1 / logits);
  for (LayerSpec& layer : spec.layers) layer.attention_scale = float(attention);
  return spec;
}

}  // namespace

const Family& granite_family() {
  static const Family kFamily = {"granite", kNames, kNames, {}, read};
  return kFamily;
}

}  // namespace anedvd
