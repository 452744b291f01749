#include "model/usual_settings.h"

#include <cmath>

#include "base/words.h"

namespace anedvd {
namespace {

constexpr int64_t kLargest = int64_t(1) << 30;

std::string file_words(const TensorSource& source) { return source.path().string(); }

}  // namespace

Result<ModelSpec> read_usual_settings(const TensorSource& source, std::string_view family, const HfDefaults& defaults) {
  auto spec = is_gguf(source) ? GgufSettings(source).read_usual() : read_usual_hf_settings(source, defaults);
  if (spec) spec->family = family;
  return spec;
}

Result<int> hf_count(const TensorSource& source, std::string_view key, std::optional<int64_t> otherwise,
                     int64_t smallest) {
  const auto value = source.config().integer(key);
  if (!value && source.config().number(key))
    return fail(ErrorCode::kBadFile, "{}: \"{}\" in config.json is not a whole number; use another model",
                file_words(source), key);
  if (!value && !otherwise)
    return fail(ErrorCode::kBadFile, "{}: config.json has no \"{}\"; fetch the folder again", file_words(source), key);
  const int64_t count = value ? *value : *otherwise;
  if (count < smallest || count > kLargest)
    return fail(ErrorCode::kBadFile, "{}: \"{}\" in config.json is {}, which makes no sense; use another model",
                file_words(source), key, count);
  return int(count);
}

Result<double> hf_number(const TensorSource& source, std::string_view key, double otherwise) {
  const double value = source.config().number(key).value_or(otherwise);
  if (std::isfinite(value)) return value;
  return fail(ErrorCode::kNumeric, "{}: \"{}\" in config.json is not a finite number; use another model",
              file_words(source), key);
}

bool hf_flag(const TensorSource& source, std::string_view key, bool otherwise) {
  return source.config().boolean(key).value_or(otherwise);
}

Result<std::vector<std::string_view>> hf_layer_types(const TensorSource& source, size_t layers) {
  if (!source.config().array_size("layer_types")) return std::vector<std::string_view>();
  ANEDVD_TRY(std::vector<std::string_view> types, source.config().strings("layer_types"));
  if (types.size() != layers)
    return fail(ErrorCode::kBadFile,
                "{}: \"layer_types\" in config.json has {} entries for {} layers; use another model",
                file_words(source), types.size(), layers);
  return types;
}

Result<std::vector<bool>> hf_sliding_layers(const TensorSource& source, size_t layers, int pattern) {
  ANEDVD_TRY(const auto types, hf_layer_types(source, layers));
  std::vector<bool> sliding;
  for (size_t i = 0; i < layers; ++i)
    sliding.push_back(types.empty() ? pattern > 0 && (i + 1) % size_t(pattern) != 0 : types[i] == "sliding_attention");
  return sliding;
}

void set_windows(ModelSpec& spec, const std::vector<bool>& sliding, int window) {
  if (window <= 0) return;
  for (size_t i = 0; i < spec.layers.size(); ++i)
    if (sliding[i]) spec.layers[i].window = window;
}

Result<MoeSpec> hf_experts(const TensorSource& source, int default_width) {
  MoeSpec moe;
  const bool is_local = source.config().integer("num_local_experts").has_value();
  ANEDVD_TRY(moe.experts, hf_count(source, is_local ? "num_local_experts" : "num_experts", {}, 1));
  const bool is_top_k = source.config().integer("top_k_experts").has_value();
  ANEDVD_TRY(moe.experts_used, hf_count(source, is_top_k ? "top_k_experts" : "num_experts_per_tok", {}, 1));
  ANEDVD_TRY(moe.ffn_width, hf_count(source, "moe_intermediate_size", default_width, 1));
  if (moe.experts_used > moe.experts || moe.experts > 65536)
    return fail(ErrorCode::kBadFile, "{}: {} of {} experts used makes no sense; use another model", file_words(source),
                moe.experts_used, moe.experts);
  return moe;
}

}  // namespace anedvd
