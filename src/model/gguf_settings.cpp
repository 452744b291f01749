#include "model/gguf_settings.h"

#include <cmath>

#include "base/words.h"

namespace anedvd {
namespace {

constexpr int64_t kLargest = int64_t(1) << 24;  // no honest size of a dimension is near
constexpr int64_t kMostLayers = 1024;
constexpr int64_t kLargestHead = 4096;

}  // namespace

GgufSettings::GgufSettings(const TensorSource& source)
    : source_(source), config_(source.config()), architecture_(config_.string("general.architecture").value_or("")) {}

std::string GgufSettings::key(std::string_view name) const { return fmt::format("{}.{}", architecture_, name); }

Result<int> GgufSettings::within(std::string_view name, int64_t value, int64_t smallest) const {
  if (value >= smallest && value <= kLargest) return int(value);
  return fail(ErrorCode::kBadFile, "{}: key \"{}\" is {}, which makes no sense; use another file", file(),
              visible(key(name)), value);
}

Result<int> GgufSettings::size(std::string_view name, std::optional<int64_t> otherwise) const {
  const auto value = config_.integer(key(name));
  if (value) return within(name, *value, 1);
  if (otherwise && !config_.has(key(name))) return within(name, *otherwise, 1);
  return fail(ErrorCode::kBadFile, "{}: key \"{}\" is missing or not a whole number; use another file", file(),
              visible(key(name)));
}

Result<int> GgufSettings::count(std::string_view name, int64_t otherwise) const {
  return within(name, config_.integer(key(name)).value_or(otherwise), 0);
}

Result<float> GgufSettings::number(std::string_view name, double otherwise) const {
  const double value = config_.number(key(name)).value_or(otherwise);
  if (std::isfinite(float(value))) return float(value);
  return fail(ErrorCode::kNumeric, "{}: key \"{}\" is not a finite number; use another file", file(),
              visible(key(name)));
}

Result<std::vector<int>> GgufSettings::per_layer(std::string_view name, int layers, std::optional<int64_t> otherwise,
                                                 int64_t smallest) const {
  std::vector<int64_t> values;
  if (config_.array_size(key(name))) {
    ANEDVD_TRY(values, config_.integers(key(name)));
    if (int64_t(values.size()) != layers)
      return fail(ErrorCode::kBadFile, "{}: key \"{}\" has {} entries for {} layers; use another file", file(),
                  visible(key(name)), values.size(), layers);
  } else {
    const auto value = config_.integer(key(name));
    if (!value && !otherwise)
      return fail(ErrorCode::kBadFile, "{}: key \"{}\" is missing; use another file", file(), visible(key(name)));
    values.assign(size_t(layers), value ? *value : *otherwise);
  }
  std::vector<int> result;
  for (const int64_t value : values) {
    ANEDVD_TRY(const int checked, within(name, value, smallest));
    result.push_back(checked);
  }
  return result;
}

Result<std::optional<std::vector<bool>>> GgufSettings::flags(std::string_view name, int layers) const {
  if (!config_.array_size(key(name))) return std::optional<std::vector<bool>>();
  ANEDVD_TRY(const std::vector<int64_t> values, config_.integers(key(name)));
  if (int64_t(values.size()) < layers)
    return fail(ErrorCode::kBadFile, "{}: key \"{}\" has {} entries for {} layers; use another file", file(),
                visible(key(name)), values.size(), layers);
  std::vector<bool> result;
  for (int i = 0; i < layers; ++i) result.push_back(values[size_t(i)] != 0);
  return std::optional(std::move(result));
}

Result<ModelSpec> GgufSettings::read_usual() const {
  ModelSpec spec;
  spec.architecture = architecture_;
  spec.family = architecture_;
  spec.name = config_.string("general.name").value_or("");
  ANEDVD_TRY(const int layers, size("block_count"));
  if (layers > kMostLayers)
    return fail(ErrorCode::kBadFile, "{}: {} layers make no sense; use another file", file(), layers);
  ANEDVD_TRY(spec.hidden, size("embedding_length"));
  ANEDVD_TRY(spec.context, size("context_length"));
  ANEDVD_TRY(const std::vector<int> heads, per_layer("attention.head_count", layers));
  ANEDVD_TRY(spec.norm_eps, number("attention.layer_norm_rms_epsilon", 1e-5));
  if (spec.norm_eps < 0)
    return fail(ErrorCode::kNumeric, "{}: key \"{}\" is below 0; use another file", file(),
                key("attention.layer_norm_rms_epsilon"));
  const TensorView* embedding = source_.find("token_embd.weight");
  if (embedding == nullptr)
    return fail(ErrorCode::kBadFile, "{}: tensor \"token_embd.weight\" is missing; use another file", file());
  if (embedding->rows() > kLargest)
    return fail(ErrorCode::kBadFile, "{}: a vocabulary of {} makes no sense; use another file", file(),
                embedding->rows());
  spec.vocab = int(embedding->rows());
  spec.tied_head = source_.find("output.weight") == nullptr;
  LayerSpec layer;
  ANEDVD_TRY(layer.head_dim, head_dim(spec.hidden, heads[0]));
  layer.attention_scale = float(1.0 / std::sqrt(double(layer.head_dim)));
  ANEDVD_TRY(RopeSpec rotation, rope(layer.head_dim));
  spec.ropes.push_back(std::move(rotation));
  ANEDVD_TRY(const std::vector<int> kv_heads, per_layer("attention.head_count_kv", layers, heads[0], 0));
  ANEDVD_TRY(const std::vector<int> widths, per_layer("feed_forward_length", layers, {}, 0));
  for (size_t i = 0; i < size_t(layers); ++i) {
    layer.heads = heads[i];
    layer.kv_heads = kv_heads[i];
    layer.ffn_width = widths[i];
    if (layer.kv_heads > 0 && layer.heads % layer.kv_heads != 0)
      return fail(ErrorCode::kBadFile, "{}: {} heads cannot share {} key-value heads; use another file", file(),
                  layer.heads, layer.kv_heads);
    spec.layers.push_back(layer);
  }
  return spec;
}

Result<int> GgufSettings::head_dim(int hidden, int heads) const {
  const int64_t dim = config_.integer(key("attention.key_length")).value_or(hidden / heads);
  const int64_t value_dim = config_.integer(key("attention.value_length")).value_or(dim);
  if (dim < 1 || dim > kLargestHead)
    return fail(ErrorCode::kBadFile, "{}: a head of {} makes no sense; use another file", file(), dim);
  if (dim != value_dim)
    return fail(ErrorCode::kUnsupported,
                "{}: key heads of {} and value heads of {}; anedvd reads equal ones, use another model", file(), dim,
                value_dim);
  return int(dim);
}

Result<std::optional<MoeSpec>> GgufSettings::moe() const {
  MoeSpec moe;
  ANEDVD_TRY(moe.experts, count("expert_count"));
  if (moe.experts == 0) return std::optional<MoeSpec>();
  ANEDVD_TRY(moe.experts_used, size("expert_used_count"));
  if (moe.experts_used > moe.experts)
    return fail(ErrorCode::kBadFile, "{}: {} of {} experts used makes no sense; use another file", file(),
                moe.experts_used, moe.experts);
  // Mixtral's files have the width of an expert as that of the layer.
  ANEDVD_TRY(moe.ffn_width, count("expert_feed_forward_length"));
  if (moe.ffn_width == 0) {
    ANEDVD_TRY(moe.ffn_width, size("feed_forward_length"));
  }
  return std::optional(moe);
}

Result<RopeSpec> GgufSettings::rope(int head_dim, const GgufRopeKeys& keys) const {
  RopeSettings settings;
  ANEDVD_TRY(settings.rotated, count(keys.rotated, head_dim));
  if (settings.rotated > head_dim || settings.rotated % 2 != 0)
    return fail(ErrorCode::kBadFile, "{}: key \"{}\" is {}, the head has {}; use another file", file(),
                key(keys.rotated), settings.rotated, head_dim);
  ANEDVD_TRY(settings.base, number(keys.base, keys.default_base));
  settings.base = config_.number(key(keys.base)).value_or(keys.default_base);
  if (keys.scaled) ANEDVD_TRY_VOID(read_scaling(settings));
  // Longrope's files name no kind, or "longrope": the tensors tell.
  if (source_.find("rope_factors_long.weight") != nullptr || settings.scaling == RopeScaling::kLongrope) {
    settings.scaling = RopeScaling::kLongrope;
    ANEDVD_TRY(const int original, size("rope.scaling.original_context_length"));
    settings.original_context = original;
    settings.factor = 1;
    if (has("rope.scaling.attn_factor")) {
      ANEDVD_TRY(const float magnitude, number("rope.scaling.attn_factor", 1));
      settings.attention_factor = magnitude;
    }
    ANEDVD_TRY(settings.short_factor, divisors("rope_factors_short.weight", settings.rotated / 2));
    ANEDVD_TRY(settings.long_factor, divisors("rope_factors_long.weight", settings.rotated / 2));
    ANEDVD_TRY(RopeSpec rotation, make_rope(settings, 0, file()));
    ANEDVD_TRY(RopeSpec stretched, make_rope(settings, int64_t(original) + 1, file()));
    rotation.long_inverse_frequency = std::move(stretched.inverse_frequency);
    rotation.original_context = original;
    return rotation;
  }
  ANEDVD_TRY(RopeSpec rotation, make_rope(settings, 0, file()));
  if (keys.has_tensor && source_.find("rope_freqs.weight") != nullptr) {
    ANEDVD_TRY(const std::vector<double> values, divisors("rope_freqs.weight", settings.rotated / 2));
    ANEDVD_TRY_VOID(divide_frequencies(rotation, values, file() + ": tensor \"rope_freqs.weight\""));
  }
  return rotation;
}

Result<std::vector<double>> GgufSettings::divisors(std::string_view tensor, int pairs) const {
  const TensorView* stored = source_.find(tensor);
  if (stored == nullptr)
    return fail(ErrorCode::kBadFile, "{}: tensor \"{}\" is missing; use another file", file(), tensor);
  if (stored->elements() != pairs)
    return fail(ErrorCode::kBadFile, "{}: tensor \"{}\" has {} entries, expected {}; use another file", file(), tensor,
                stored->elements(), pairs);
  std::vector<float> values(static_cast<size_t>(pairs));
  dequantize(*stored, 0, stored->rows(), values);
  return std::vector<double>(values.begin(), values.end());
}

Result<> GgufSettings::read_scaling(RopeSettings& settings) const {
  const std::string_view kind = config_.string(key("rope.scaling.type")).value_or("linear");
  double factor = config_.number(key("rope.scaling.factor")).value_or(0);
  if (factor == 0) factor = config_.number(key("rope.scale_linear")).value_or(1);  // very old files
  settings.factor = factor;
  if (kind == "linear") {
    settings.scaling = RopeScaling::kLinear;
  } else if (kind == "yarn") {
    settings.scaling = RopeScaling::kYarn;
    settings.original_context = config_.number(key("rope.scaling.original_context_length")).value_or(0);
    settings.beta_fast = config_.number(key("rope.scaling.yarn_beta_fast")).value_or(32);
    settings.beta_slow = config_.number(key("rope.scaling.yarn_beta_slow")).value_or(1);
  } else if (kind == "longrope") {
    settings.scaling = RopeScaling::kLongrope;
  } else if (kind == "none") {
    settings.factor = 1;
  } else {
    return fail(ErrorCode::kUnsupported, "{}: rope scaling \"{}\" is not one that anedvd knows; use another model",
                file(), visible(kind));
  }
  return {};
}

}  // namespace anedvd
