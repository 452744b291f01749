// Llama 1–3.x and what is stored like it: TinyLlama, SmolLM2; in GGUF also Mistral and Mixtral.
//
// GGUF: the converter reorders the rows of q and k so that rotation pairs are adjacent; Mistral's window is not in the file, so it is run with full
// attention, as everybody does; Mixtral is a Llama with experts, whose weights are divided by their sum.
#include "model/families/families.h"
#include "model/usual_settings.h"

namespace anedvd {
namespace {

constexpr std::string_view kNames[] = {"llama"};

Result<ModelSpec> read(const TensorSource& source) {
  ANEDVD_TRY(ModelSpec spec, read_usual_settings(source, "llama"));
  if (!is_gguf(source)) return spec;
  spec.adjacent_rope_rows = true;
  ANEDVD_TRY(const std::optional<MoeSpec> moe, GgufSettings(source).moe());
  for (LayerSpec& layer : spec.layers) layer.moe = moe;
  return spec;
}

}  // namespace

const Family& llama_family() {
  static const Family kFamily = {"llama", kNames, kNames, {}, read};
  return kFamily;
}

}  // namespace anedvd
