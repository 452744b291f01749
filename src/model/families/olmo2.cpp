// OLMo 2 and OLMo 3: no norm before a block but one behind it, and norms over the whole of q and k. OLMo 3 has a window on three layers of four,
// whose rotation is not scaled.
#include "model/families/families.h"
#include "model/usual_settings.h"

namespace anedvd {
namespace {

constexpr std::string_view kGgufNames[] = {"olmo2"};
constexpr std::string_view kHfNames[] = {"olmo2", "olmo3"};
constexpr int kPattern = 4;

Result<> read_windows(const TensorSource& source, ModelSpec& spec) {
  const int layers = int(spec.layers.size());
  const int head_dim = spec.layers[0].head_dim;
  int window = 0;
  std::vector<bool> sliding;
  RopeSpec plain;
  if (is_gguf(source)) {
    const GgufSettings settings(source);
    ANEDVD_TRY(window, settings.count("attention.sliding_window"));
    if (window == 0) return {};
    ANEDVD_TRY(const auto flags, settings.flags("attention.sliding_window_pattern", layers));
    for (int i = 0; i < layers; ++i) sliding.push_back((i + 1) % kPattern != 0);
    if (flags) sliding = *flags;
    ANEDVD_TRY(plain, settings.rope(head_dim, {.scaled = false, .has_tensor = false}));
  } else {
    if (spec.architecture != "olmo3") return {};
    ANEDVD_TRY(window, hf_count(source, "sliding_window", 4096));
    ANEDVD_TRY(sliding, hf_sliding_layers(source, spec.layers.size(), kPattern));
    ANEDVD_TRY(const RopeSettings full, read_hf_rope(source, head_dim, spec.context, "full_attention", 500000));
    ANEDVD_TRY(RopeSpec scaled, make_rope(full, spec.context, source.path().string()));
    ANEDVD_TRY(RopeSettings local, read_hf_rope(source, head_dim, spec.context, "sliding_attention", 500000));
    local.scaling = RopeScaling::kNone;
    ANEDVD_TRY(plain, make_rope(local, spec.context, source.path().string()));
    spec.ropes = {std::move(scaled)};
  }
  spec.ropes.push_back(std::move(plain));
  for (size_t i = 0; i < spec.layers.size(); ++i)
    if (sliding[i]) spec.layers[i].rope = 1;
  set_windows(spec, sliding, window);
  return {};
}

Result<ModelSpec> read(const TensorSource& source) {
  ANEDVD_TRY(ModelSpec spec, read_usual_settings(source, "olmo2", {.norm_eps = 1e-5, .rope_theta = 500000}));
  for (LayerSpec& layer : spec.layers) {
    layer.pre_norm = false;
    layer.sandwich_norm = true;
    layer.qk_norm = QkNorm::kWhole;
  }
  ANEDVD_TRY_VOID(read_windows(source, spec));
  return spec;
}

}  // namespace

const Family& olmo2_family() {
  static const Family kFamily = {"olmo2", kGgufNames, kHfNames, {}, read};
  return kFamily;
}

}  // namespace anedvd
