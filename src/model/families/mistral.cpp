// Mistral as a Hugging Face folder: Llama with a window on every layer where config.json has one (7B v0.1: 4096).
#include "model/families/families.h"
#include "model/usual_settings.h"

namespace anedvd {
namespace {

constexpr std::string_view kHfNames[] = {"mistral", "ministral"};

Result<ModelSpec> read(const TensorSource& source) {
  ANEDVD_TRY(ModelSpec spec, read_usual_settings(source, "mistral", {.context = 131072}));
  ANEDVD_TRY(const int window, hf_count(source, "sliding_window", 0));
  ANEDVD_TRY(std::vector<bool> sliding, hf_sliding_layers(source, spec.layers.size(), 0));
  if (!source.config().array_size("layer_types")) sliding.assign(spec.layers.size(), true);
  set_windows(spec, sliding, window);
  return spec;
}

}  // namespace

const Family& mistral_family() {
  static const Family kFamily = {"mistral", {}, kHfNames, {}, read};
  return kFamily;
}

}  // namespace anedvd
