// Llama 1–3.x and what is stored like it: TinyLlama, SmolLM2, Mistral.
//
// Hugging Face: rows of q and k are half-split; Mistral's window holds for every layer.
// GGUF: the converter reorders the rows of q and k so that rotation pairs are adjacent; Mistral's window is not in the file, so it is run with full
// attention, as everybody does.
#include "model/families/families.h"
#include "model/hf_settings.h"
#include "model/read_settings.h"

namespace anedvd {
namespace {

constexpr std::string_view kNames[] = {"llama"};
constexpr std::string_view kHfNames[] = {"llama", "mistral"};

Result<ModelSpec> read_hf(const TensorSource& source) {
  ANEDVD_TRY(ModelSpec spec, read_usual_hf_settings(source));
  spec.family = "llama";
  if (spec.architecture != "mistral") return spec;
  const int64_t window = source.config().integer("sliding_window").value_or(spec.context);
  if (window < 1)
    return fail(ErrorCode::kBadFile, "{}: \"sliding_window\" in config.json is {}; use another model",
                source.path().string(), window);
  if (window < spec.context)
    for (LayerSpec& layer : spec.layers) layer.window = int(window);
  return spec;
}

Result<ModelSpec> read(const TensorSource& source) {
  if (source.kind() == SourceKind::kHuggingFace) return read_hf(source);
  ANEDVD_TRY(ModelSpec spec, read_usual_settings(source));
  if (source.config().integer(spec.architecture + ".expert_count").value_or(0) > 0)
    return fail(ErrorCode::kUnsupported, "{}: a mixture of experts, which anedvd does not run yet",
                source.path().string());
  spec.family = "llama";
  spec.adjacent_rope_rows = true;
  return spec;
}

}  // namespace

const Family& llama_family() {
  static const Family kFamily = {"llama", kNames, usual_tensors(), read, kHfNames};
  return kFamily;
}

}  // namespace anedvd
