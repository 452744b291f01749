// Llama 1–3.x and what is stored like it: TinyLlama, SmolLM2, Mistral.
//
// GGUF: the converter reorders the rows of q and k so that rotation pairs are adjacent; Mistral's window is not in the file, so it is run with full
// attention, as everybody does.
#include "model/families/families.h"
#include "model/read_settings.h"

namespace anedvd {
namespace {

constexpr std::string_view kNames[] = {"llama"};

Result<ModelSpec> read(const TensorSource& source) {
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
  static const Family kFamily = {"llama", kNames, usual_tensors(), read};
  return kFamily;
}

}  // namespace anedvd
