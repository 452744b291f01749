// SmolLM3: Llama with no rotation on some layers (GGUF: every fourth).
#include "model/families/families.h"
#include "model/usual_settings.h"

namespace anedvd {
namespace {

constexpr std::string_view kNames[] = {"smollm3"};
constexpr int kInterval = 4;

Result<ModelSpec> read(const TensorSource& source) {
  ANEDVD_TRY(ModelSpec spec, read_usual_settings(source, "smollm3", {.rope_theta = 2000000, .context = 32768}));
  spec.adjacent_rope_rows = is_gguf(source);
  std::vector<int64_t> rotated;  // config.json: 1 rotates, 0 does not
  int interval = kInterval;
  if (!is_gguf(source)) {
    ANEDVD_TRY(interval, hf_count(source, "no_rope_layer_interval", kInterval, 1));
    if (source.config().array_size("no_rope_layers")) {
      ANEDVD_TRY(rotated, source.config().integers("no_rope_layers"));
      if (rotated.size() < spec.layers.size())
        return fail(ErrorCode::kBadFile,
                    "{}: \"no_rope_layers\" in config.json has {} entries for {} layers; use another model",
                    source.path().string(), rotated.size(), spec.layers.size());
    }
    if (hf_flag(source, "use_sliding_window", false)) {
      ANEDVD_TRY(const int window, hf_count(source, "sliding_window", 0));
      ANEDVD_TRY(const auto sliding, hf_sliding_layers(source, spec.layers.size(), 0));
      set_windows(spec, sliding, window);
    }
  }
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    const bool rotates = rotated.empty() ? (i + 1) % size_t(interval) != 0 : rotated[i] != 0;
    if (!rotates) spec.layers[i].rope = -1;
  }
  return spec;
}

}  // namespace

const Family& smollm3_family() {
  static const Family kFamily = {"smollm3", kNames, kNames, {}, read};
  return kFamily;
}

}  // namespace anedvd
