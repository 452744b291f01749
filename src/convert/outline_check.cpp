// The outline, read as if it were the finished file: what its architecture makes of it must be what the folder says.
#include <algorithm>
#include <cmath>

#include "base/log.h"
#include "base/words.h"
#include "convert/hf_parts.h"

namespace anedvd {
namespace {

constexpr double kFloatNoise = 1e-5;  // settings become 32-bit floats, some of them by way of an inverse

// Settings from the outline's pairs, shapes from its tensors, data only where it holds the numbers itself.
class OutlineSource final : public TensorSource {
 public:
  static Result<OutlineSource> make(const Outline& outline, const std::filesystem::path& path) {
    OutlineSource source;
    source.path_ = path;
    GgufCursor cursor(std::as_bytes(std::span(outline.pairs.bytes())));
    ANEDVD_TRY(source.metadata_, GgufMetadata::read(cursor, outline.pairs.count(), path.string()));
    for (const OutTensor& tensor : outline.tensors)
      source.tensors_.push_back({tensor.name, DType::kF32, tensor.shape, std::as_bytes(std::span(tensor.values))});
    return source;
  }

  const TensorView* find(std::string_view name) const override {
    for (const TensorView& tensor : tensors_)
      if (tensor.name == name) return &tensor;
    return nullptr;
  }
  const std::vector<TensorView>& tensors() const override { return tensors_; }
  const ConfigView& config() const override { return metadata_; }
  SourceKind kind() const override { return SourceKind::kGguf; }
  const std::filesystem::path& path() const override { return path_; }
  uint64_t file_bytes() const override { return 0; }

 private:
  std::filesystem::path path_;
  GgufMetadata metadata_;
  std::vector<TensorView> tensors_;
};

bool same(double a, double b) {
  return a == b || std::fabs(a - b) <= kFloatNoise * std::max(std::fabs(a), std::fabs(b));
}

bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return std::ranges::equal(a, b, [](double x, double y) { return same(x, y); });
}

bool same_rope(const ModelSpec& a, const LayerSpec& x, const ModelSpec& b, const LayerSpec& y) {
  const bool turns = x.rope >= 0 && a.ropes[size_t(x.rope)].rotated > 0;
  if (turns != (y.rope >= 0 && b.ropes[size_t(y.rope)].rotated > 0)) return false;
  if (!turns) return true;
  const RopeSpec &r = a.ropes[size_t(x.rope)], &s = b.ropes[size_t(y.rope)];
  return r.rotated == s.rotated && same(r.inverse_frequency, s.inverse_frequency) && same(r.magnitude, s.magnitude) &&
         same(r.long_inverse_frequency, s.long_inverse_frequency);
}

bool same_window(const ModelSpec& spec, const LayerSpec& x, const LayerSpec& y) {
  const auto seen = [&](const LayerSpec& layer) { return std::min(layer.window.value_or(spec.context), spec.context); };
  return seen(x) == seen(y);
}

// A window that is left out by custom is no reason to refuse.
bool loses_window(const HfModel& model) {
  return model.target.drops_window && std::ranges::any_of(model.spec.layers, [&](const LayerSpec& layer) {
           return layer.window && *layer.window < model.spec.context;
         });
}

// The first thing of a layer that differs, "" if none does.
std::string_view layer_difference(const ModelSpec& a, const LayerSpec& x, const ModelSpec& b, const LayerSpec& y,
                                  bool compare_windows) {
  if (x.heads != y.heads || x.kv_heads != y.kv_heads || x.head_dim != y.head_dim) return "number or size of heads";
  if (!x.moe != !y.moe) return "being with or without experts";
  if (!x.moe && x.ffn_width != y.ffn_width) return "feed-forward width";
  if (compare_windows && !same_window(a, x, y)) return "attention window";
  if (!same_rope(a, x, b, y)) return "rotation";
  if (x.qk_norm != y.qk_norm || x.pre_norm != y.pre_norm || x.sandwich_norm != y.sandwich_norm) return "norms";
  if (!same(double(x.attention_scale), double(y.attention_scale))) return "attention scale";
  if (!same(double(x.attention_softcap), double(y.attention_softcap))) return "attention soft-cap";
  if (x.conv_kernel != y.conv_kernel || x.kv_from_layer != y.kv_from_layer || x.sinks != y.sinks) return "structure";
  if (x.moe && (x.moe->experts != y.moe->experts || x.moe->experts_used != y.moe->experts_used ||
                x.moe->ffn_width != y.moe->ffn_width || x.moe->shared_ffn_width != y.moe->shared_ffn_width))
    return "number or width of experts";
  if (x.moe && x.moe->renormalise != y.moe->renormalise) return "norm_topk_prob";
  return "";
}

std::string_view model_difference(const ModelSpec& a, const ModelSpec& b) {
  if (a.hidden != b.hidden || a.vocab != b.vocab || a.layers.size() != b.layers.size()) return "sizes";
  if (!same(double(a.norm_eps), double(b.norm_eps))) return "norm epsilon";
  if (a.activation != b.activation) return "activation";
  if (!same(double(a.embed_scale), double(b.embed_scale))) return "embedding scale";
  if (!same(double(a.residual_scale), double(b.residual_scale))) return "residual scale";
  if (!same(double(a.final_softcap), double(b.final_softcap))) return "final soft-cap";
  if (!same(double(a.logit_scale), double(b.logit_scale))) return "logit scale";
  if (a.tied_head != b.tied_head) return "tied head";
  return "";
}

}  // namespace

Result<> check_outline(const HfModel& model, const Outline& outline) {
  ANEDVD_TRY(const OutlineSource source, OutlineSource::make(outline, model.source.path()));
  ANEDVD_TRY(const ModelSpec back, model.target.gguf_family().read(source));
  const auto refuse = [&](std::string_view what) {
    return fail(ErrorCode::kUnsupported, "{}: GGUF's \"{}\" cannot say this model's {}; use the folder as it is",
                visible(model.source.path().string()), model.target.architecture, what);
  };
  if (const auto what = model_difference(model.spec, back); !what.empty()) return refuse(what);
  const bool loses = loses_window(model);
  if (loses)
    warn("{}: GGUF's \"{}\" has no key for the attention window of this model; the output attends to everything",
         visible(model.source.path().string()), model.target.architecture);
  for (size_t i = 0; i < back.layers.size(); ++i) {
    const auto what = layer_difference(model.spec, model.spec.layers[i], back, back.layers[i], !loses);
    if (!what.empty()) return refuse(fmt::format("{} of layer {}", what, i));
  }
  return {};
}

}  // namespace anedvd
