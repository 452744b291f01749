// A folder's settings under their GGUF keys. Which key says what: llama.cpp's converter (conversion/*.py) and gguf-py/gguf/constants.py.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "convert/hf_parts.h"
#include "model/hf_settings.h"
#include "model/usual_settings.h"

namespace anedvd {
namespace {

class Keys {
 public:
  Keys(std::string_view architecture, GgufPairs& pairs) : prefix_(std::string(architecture) + "."), pairs_(pairs) {}

  void count(std::string_view name, int value) {
    pairs_.number<uint32_t>(prefix_ + std::string(name), uint32_t(value));
  }
  void number(std::string_view name, double value) { pairs_.number<float>(prefix_ + std::string(name), float(value)); }
  void text(std::string_view name, std::string_view value) { pairs_.text(prefix_ + std::string(name), value); }

  // One number if all layers agree, else an array.
  void per_layer(std::string_view name, const std::vector<int32_t>& values) {
    const bool is_uniform = std::ranges::all_of(values, [&](int32_t value) { return value == values[0]; });
    if (is_uniform) return count(name, values[0]);
    pairs_.numbers<int32_t>(prefix_ + std::string(name), values);
  }

  void flags(std::string_view name, const std::vector<uint8_t>& values) {
    pairs_.flags(prefix_ + std::string(name), values);
  }

 private:
  std::string prefix_;
  GgufPairs& pairs_;
};

template <class Field>
std::vector<int32_t> of_layers(const ModelSpec& spec, Field field) {
  std::vector<int32_t> values;
  for (const LayerSpec& layer : spec.layers) values.push_back(int32_t(field(layer)));
  return values;
}

std::vector<float> as_floats(const std::vector<double>& values) { return {values.begin(), values.end()}; }

void add_rope_tensor(Outline& outline, std::string name, std::vector<float> values) {
  outline.tensors.push_back({std::move(name), {int64_t(values.size())}, DType::kF32, {}, std::move(values)});
}

Result<> add_rope(const HfModel& model, Keys& keys, Outline& outline) {
  const ModelSpec& spec = model.spec;
  const std::string_view layer_type =
      model.source.config().has("rope_parameters.full_attention") ? "full_attention" : "";
  ANEDVD_TRY(const RopeSettings rope,
             read_hf_rope(model.source, spec.layers[0].head_dim, spec.context, layer_type, model.target.default_theta));
  keys.count("rope.dimension_count", rope.rotated);
  keys.number("rope.freq_base", rope.base);
  switch (rope.scaling) {
    case RopeScaling::kNone: return {};
    case RopeScaling::kLinear:
      keys.text("rope.scaling.type", "linear");
      keys.number("rope.scaling.factor", rope.factor);
      return {};
    case RopeScaling::kLlama3: {
      // No key for it: the file has the divisors.
      std::vector<double> divisors = plain_frequencies(rope.base, rope.rotated);
      for (size_t i = 0; i < divisors.size(); ++i) divisors[i] /= spec.ropes[0].inverse_frequency[i];
      add_rope_tensor(outline, "rope_freqs.weight", as_floats(divisors));
      return {};
    }
    case RopeScaling::kYarn:
      keys.text("rope.scaling.type", "yarn");
      keys.number("rope.scaling.factor", rope.factor);
      keys.count("rope.scaling.original_context_length", int(rope.original_context));
      if (rope.beta_fast != 32) keys.number("rope.scaling.yarn_beta_fast", rope.beta_fast);
      if (rope.beta_slow != 1) keys.number("rope.scaling.yarn_beta_slow", rope.beta_slow);
      if (rope.attention_factor) keys.number("rope.scaling.yarn_attn_factor", *rope.attention_factor);
      return {};
    case RopeScaling::kLongrope:
      keys.count("rope.scaling.original_context_length", int(rope.original_context));
      keys.number("rope.scaling.attn_factor", spec.ropes[0].magnitude);
      add_rope_tensor(outline, "rope_factors_long.weight", as_floats(rope.long_factor));
      add_rope_tensor(outline, "rope_factors_short.weight", as_floats(rope.short_factor));
      return {};
  }
  return {};
}

// The windowed layers' rotation, where they have one of their own.
void add_local_rope(const ModelSpec& spec, Keys& keys) {
  for (const LayerSpec& layer : spec.layers) {
    if (layer.rope <= 0 || !layer.window) continue;
    const RopeSpec& rope = spec.ropes[size_t(layer.rope)];
    // f_1 = base^(−2 / rotated)
    if (rope.inverse_frequency.size() > 1)
      keys.number("rope.freq_base_swa", std::pow(rope.inverse_frequency[1], -rope.rotated / 2.0));
    return;
  }
}

void add_windows(const HfModel& model, Keys& keys) {
  if (model.target.drops_window) return;
  int window = 0;
  std::vector<uint8_t> sliding;
  for (const LayerSpec& layer : model.spec.layers) {
    sliding.push_back(layer.window ? 1 : 0);
    if (layer.window) window = *layer.window;
  }
  if (window == 0) return;
  keys.count("attention.sliding_window", window);
  keys.flags("attention.sliding_window_pattern", sliding);
}

void add_experts(const MoeSpec& moe, Keys& keys, bool has_own_width) {
  keys.count("expert_count", moe.experts);
  keys.count("expert_used_count", moe.experts_used);
  if (has_own_width) keys.count("expert_feed_forward_length", moe.ffn_width);
  if (moe.shared_ffn_width > 0) keys.count("expert_shared_feed_forward_length", moe.shared_ffn_width);
}

std::string folder_name(const std::filesystem::path& path) {
  const std::filesystem::path whole = path.lexically_normal();
  return whole.has_filename() ? whole.filename().string() : whole.parent_path().filename().string();
}

}  // namespace

Result<> add_settings(const HfModel& model, Outline& outline) {
  const ModelSpec& spec = model.spec;
  const LayerSpec& first = spec.layers[0];
  outline.pairs.text("general.architecture", model.target.architecture);
  outline.pairs.text("general.type", "model");
  outline.pairs.text("general.name", folder_name(model.source.path()));
  Keys keys(model.target.architecture, outline.pairs);
  keys.count("block_count", int(spec.layers.size()));
  keys.count("context_length", spec.context);
  keys.count("embedding_length", spec.hidden);
  keys.per_layer("feed_forward_length", of_layers(spec, [](const LayerSpec& layer) {
                   return layer.moe && layer.ffn_width == 0 ? layer.moe->ffn_width : layer.ffn_width;
                 }));
  keys.per_layer("attention.head_count", of_layers(spec, [](const LayerSpec& layer) { return layer.heads; }));
  keys.per_layer("attention.head_count_kv", of_layers(spec, [](const LayerSpec& layer) { return layer.kv_heads; }));
  keys.count("attention.key_length", first.head_dim);
  keys.count("attention.value_length", first.head_dim);
  keys.number("attention.layer_norm_rms_epsilon", double(spec.norm_eps));
  keys.count("vocab_size", spec.vocab);
  if (first.attention_softcap > 0) keys.number("attn_logit_softcapping", double(first.attention_softcap));
  if (spec.final_softcap > 0) keys.number("final_logit_softcapping", double(spec.final_softcap));
  if (model.target.family == "granite") {
    keys.number("embedding_scale", double(spec.embed_scale));
    keys.number("attention.scale", double(first.attention_scale));
    keys.number("residual_scale", double(spec.residual_scale));
    keys.number("logit_scale", 1 / double(spec.logit_scale));
  }
  add_windows(model, keys);
  if (first.moe) add_experts(*first.moe, keys, model.target.family != "mixtral");
  add_local_rope(spec, keys);
  return add_rope(model, keys, outline);
}

}  // namespace anedvd
