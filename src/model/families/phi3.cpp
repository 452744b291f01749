// Phi-3, Phi-3.5, Phi-4-mini: Llama with fused matrices (q, k, v; gate, up), longrope, partial rotation, and a window where the file has one.
#include "model/families/families.h"
#include "model/usual_settings.h"

namespace anedvd {
namespace {

constexpr std::string_view kNames[] = {"phi3"};

constexpr TensorRole kTensors[] = {
    // GGUF's "up" is gate rows, then up rows.
    {Role::kGateUp, "blk.{}.ffn_up", "model.layers.{}.mlp.gate_up_proj"},
};

// Both of longrope's rotations: the session's length decides.
Result<> read_longrope(const TensorSource& source, ModelSpec& spec) {
  const std::string where = source.path().string();
  ANEDVD_TRY(const int context, hf_count(source, "max_position_embeddings", 4096, 1));
  ANEDVD_TRY(const RopeSettings settings, read_hf_rope(source, spec.layers[0].head_dim, context));
  if (settings.scaling != RopeScaling::kLongrope) return {};
  spec.context = context;
  ANEDVD_TRY(RopeSpec rope, make_rope(settings, 0, where));
  ANEDVD_TRY(RopeSpec stretched, make_rope(settings, int64_t(settings.original_context) + 1, where));
  rope.long_inverse_frequency = std::move(stretched.inverse_frequency);
  rope.original_context = int(settings.original_context);
  spec.ropes = {std::move(rope)};
  return {};
}

Result<ModelSpec> read(const TensorSource& source) {
  ANEDVD_TRY(ModelSpec spec, read_usual_settings(source, "phi3", {.norm_eps = 1e-5, .context = 4096}));
  int window = 0;
  if (is_gguf(source)) {
    ANEDVD_TRY(window, GgufSettings(source).count("attention.sliding_window"));
  } else {
    ANEDVD_TRY_VOID(read_longrope(source, spec));
    ANEDVD_TRY(window, hf_count(source, "sliding_window", 0));
  }
  set_windows(spec, std::vector<bool>(spec.layers.size(), true), window);
  return spec;
}

}  // namespace

const Family& phi3_family() {
  static const Family kFamily = {"phi3", kNames, kNames, kTensors, read};
  return kFamily;
}

}  // namespace anedvd
