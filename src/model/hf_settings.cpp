#include "model/hf_settings.h"

#include <cmath>

#include "base/log.h"
#include "base/words.h"

namespace anedvd {
namespace {

constexpr int64_t kLargest = int64_t(1) << 24;  // no honest size of a dimension is near
constexpr int64_t kMostLayers = 1024;
constexpr int64_t kLargestHead = 4096;

class Reader {
 public:
  Reader(const TensorSource& source, const HfDefaults& defaults)
      : source_(source), config_(source.config()), defaults_(defaults), file_(source.path().string()) {}

  Result<ModelSpec> read() {
    ANEDVD_TRY_VOID(refuse_packed_weights());
    ModelSpec spec;
    ANEDVD_TRY(const std::string_view architecture, source_architecture(source_));
    spec.architecture = architecture;
    spec.family = architecture;
    spec.name = title();
    spec.adjacent_rope_rows = false;
    ANEDVD_TRY(const int layers, size("num_hidden_layers", kMostLayers));
    ANEDVD_TRY(spec.hidden, size("hidden_size"));
    ANEDVD_TRY(spec.context, size("max_position_embeddings", int64_t(1) << 30, defaults_.context));
    ANEDVD_TRY_VOID(check_numbers());
    ANEDVD_TRY(spec.norm_eps, norm_eps());
    ANEDVD_TRY_VOID(read_vocabulary(spec));
    if (defaults_.activation) {
      spec.activation = *defaults_.activation;
    } else {
      ANEDVD_TRY(spec.activation, read_hf_activation(source_));
    }
    ANEDVD_TRY(LayerSpec layer, read_layer(spec.hidden));
    ANEDVD_TRY_VOID(read_rope(spec, layer.head_dim));
    spec.layers.assign(size_t(layers), layer);
    ANEDVD_TRY_VOID(check_biases(layers));
    return spec;
  }

 private:
  // A whole number from 1 to `largest`.
  Result<int> size(std::string_view key, int64_t largest = kLargest, std::optional<int64_t> otherwise = {}) const {
    if (!config_.has(key)) {
      if (otherwise) return int(*otherwise);
      return fail(ErrorCode::kBadFile, "{}: config.json has no \"{}\"; fetch the folder again", file_, key);
    }
    const auto value = config_.integer(key);
    if (!value)
      return fail(ErrorCode::kBadFile, "{}: \"{}\" in config.json is not a whole number; use another model", file_,
                  key);
    if (*value < 1 || *value > largest)
      return fail(ErrorCode::kBadFile, "{}: \"{}\" in config.json is {}, which makes no sense; use another model",
                  file_, key, *value);
    return int(*value);
  }

  std::string title() const {
    const std::filesystem::path& path = source_.path();
    return (path.has_filename() ? path : path.parent_path()).filename().string();
  }

  // A setting of the wrong type would be replaced by its default, and the model would answer, wrongly.
  Result<> check_numbers() const {
    for (const std::string_view key :
         {"rope_theta", "partial_rotary_factor", "rms_norm_eps", "layer_norm_eps", "sliding_window",
          "rope_local_base_freq", "query_pre_attn_scalar", "final_logit_softcapping", "attn_logit_softcapping",
          "num_experts_per_tok", "num_experts", "num_local_experts"})
      if (config_.has(key) && !config_.number(key))
        return fail(ErrorCode::kBadFile, "{}: \"{}\" in config.json is not a number; fetch the folder again", file_,
                    key);
    return {};
  }

  Result<float> norm_eps() const {
    const double eps = config_.number("rms_norm_eps").value_or(defaults_.norm_eps);
    if (std::isfinite(eps) && eps >= 0) return float(eps);
    return fail(ErrorCode::kNumeric, "{}: \"rms_norm_eps\" in config.json is not a finite number; use another model",
                file_);
  }

  // Rows of the embedding: `vocab_size` may leave out padding rows, or count some that are not there.
  Result<> read_vocabulary(ModelSpec& spec) const {
    const TensorView* embedding = source_.find("model.embed_tokens.weight");
    if (embedding == nullptr)
      return fail(ErrorCode::kBadFile, "{}: tensor \"model.embed_tokens.weight\" is missing; fetch the folder again",
                  file_);
    if (embedding->rows() > kLargest)
      return fail(ErrorCode::kBadFile, "{}: a vocabulary of {} makes no sense; use another model", file_,
                  with_commas(embedding->rows()));
    spec.vocab = int(embedding->rows());
    spec.tied_head = source_.find("lm_head.weight") == nullptr;
    return {};
  }

  Result<LayerSpec> read_layer(int hidden) const {
    LayerSpec layer;
    ANEDVD_TRY(layer.heads, size("num_attention_heads", kLargest, defaults_.heads));
    ANEDVD_TRY(layer.kv_heads, size("num_key_value_heads", kLargest, defaults_.kv_heads.value_or(layer.heads)));
    ANEDVD_TRY(layer.ffn_width, size("intermediate_size"));
    ANEDVD_TRY(layer.head_dim, size("head_dim", kLargestHead, defaults_.head_dim.value_or(hidden / layer.heads)));
    if (layer.head_dim < 1)
      return fail(ErrorCode::kBadFile, "{}: {} heads in a width of {} make no sense; use another model", file_,
                  layer.heads, hidden);
    if (layer.heads % layer.kv_heads != 0)
      return fail(ErrorCode::kBadFile, "{}: {} heads cannot share {} key-value heads; use another model", file_,
                  layer.heads, layer.kv_heads);
    layer.attention_scale = float(1.0 / std::sqrt(double(layer.head_dim)));
    return layer;
  }

  Result<> read_rope(ModelSpec& spec, int head_dim) const {
    ANEDVD_TRY(const RopeSettings settings, read_hf_rope(source_, head_dim, spec.context, "", defaults_.rope_theta));
    if (settings.scaling == RopeScaling::kLongrope && settings.original_context < double(spec.context))
      spec.context = std::max(1, int(settings.original_context));
    ANEDVD_TRY(RopeSpec rope, make_rope(settings, spec.context, file_ + ": config.json"));
    spec.ropes.push_back(std::move(rope));
    return {};
  }

  // Presence decides whether a bias is added, so one that was promised and got lost must not go unseen.
  Result<> check_biases(int layers) const {
    struct Promise {
      std::string_view key, module;
    };
    constexpr Promise kPromises[] = {
        {"attention_bias", "self_attn.q_proj"},
        {"attention_bias", "self_attn.k_proj"},
        {"attention_bias", "self_attn.v_proj"},
        {"mlp_bias", "mlp.gate_proj"},
        {"mlp_bias", "mlp.up_proj"},
        {"mlp_bias", "mlp.down_proj"},
    };
    for (const Promise& promise : kPromises) {
      if (!config_.boolean(promise.key).value_or(false)) continue;
      for (int i = 0; i < layers; ++i) {
        const std::string name = fmt::format("model.layers.{}.{}.bias", i, promise.module);
        const std::string stem = name.substr(0, name.size() - std::string_view("bias").size());
        if (source_.find(stem + "weight") != nullptr && source_.find(name) == nullptr)
          return fail(ErrorCode::kBadFile, "{}: tensor \"{}\" is missing (\"{}\" is true); fetch the folder again",
                      file_, name, promise.key);
      }
    }
    return {};
  }

  // gpt-oss's MXFP4 blocks are read as they are; what other quantisers write is not.
  Result<> refuse_packed_weights() const {
    if (!config_.has("quantization_config")) return {};
    const std::string_view method = config_.string("quantization_config.quant_method").value_or("unknown");
    if (method == "mxfp4") return {};
    return fail(ErrorCode::kUnsupported,
                "{}: the weights are packed by \"{}\", which anedvd does not read; use the unquantised folder, or a "
                "GGUF file",
                file_, visible(method));
  }

  const TensorSource& source_;
  const ConfigView& config_;
  const HfDefaults& defaults_;
  std::string file_;
};

// The settings of one rotation: an object of config.json, and where to look for what that object leaves out.
class RopeReader {
 public:
  RopeReader(const TensorSource& source, std::string_view layer_type)
      : config_(source.config()), file_(source.path().string() + ": config.json") {
    for (const std::string_view name : {"rope_parameters", "rope_scaling"}) {
      if (!config_.has(name)) continue;
      object_ = name;
      const std::string nested = fmt::format("{}.{}", name, layer_type.empty() ? "full_attention" : layer_type);
      if (config_.has(nested)) object_ = nested;
      return;
    }
  }

  Result<RopeSettings> read(int head_dim, int context, double default_theta) const {
    RopeSettings s;
    s.base = number("rope_theta").value_or(config_.number("rope_theta").value_or(default_theta));
    const double part = number("partial_rotary_factor").value_or(config_.number("partial_rotary_factor").value_or(1.0));
    if (!(part >= 0 && part <= 1))
      return fail(ErrorCode::kNumeric, "{}: \"partial_rotary_factor\" is not a number from 0 to 1; use another model",
                  file_);
    s.rotated = int(head_dim * part);
    if (s.rotated % 2 != 0)
      return fail(ErrorCode::kBadFile, "{}: {} elements of a head would rotate, an odd number; use another model",
                  file_, s.rotated);
    ANEDVD_TRY_VOID(read_kind(s));
    if (s.scaling == RopeScaling::kNone) return s;
    read_contexts(s, context);
    s.low_freq_factor = number("low_freq_factor").value_or(s.low_freq_factor);
    s.high_freq_factor = number("high_freq_factor").value_or(s.high_freq_factor);
    s.beta_fast = number("beta_fast").value_or(s.beta_fast);
    s.beta_slow = number("beta_slow").value_or(s.beta_slow);
    s.truncate = config_.boolean(key("truncate")).value_or(true);
    s.mscale = number("mscale").value_or(0);
    s.mscale_all_dim = number("mscale_all_dim").value_or(0);
    s.attention_factor = number("attention_factor");
    if (s.scaling == RopeScaling::kLongrope) {
      ANEDVD_TRY(s.short_factor, config_.numbers(key("short_factor")));
      ANEDVD_TRY(s.long_factor, config_.numbers(key("long_factor")));
    }
    return s;
  }

 private:
  std::string key(std::string_view name) const { return fmt::format("{}.{}", object_, name); }

  std::optional<double> number(std::string_view name) const {
    return object_.empty() ? std::nullopt : config_.number(key(name));
  }

  Result<> read_kind(RopeSettings& s) const {
    if (object_.empty()) return {};
    auto kind = config_.string(key("rope_type"));
    if (!kind) kind = config_.string(key("type"));
    if (!kind || *kind == "default") return {};
    if (*kind == "linear") {
      s.scaling = RopeScaling::kLinear;
    } else if (*kind == "llama3") {
      s.scaling = RopeScaling::kLlama3;
    } else if (*kind == "yarn") {
      s.scaling = RopeScaling::kYarn;
    } else if (*kind == "longrope" || *kind == "su") {
      s.scaling = RopeScaling::kLongrope;
    } else if (*kind == "proportional") {
      // Gemma 4's full layers: their family knows which pairs turn.
    } else if (*kind == "dynamic") {
      warn("{}: rotary scaling \"dynamic\" is left out; answers are right up to the original context", file_);
    } else {
      return fail(ErrorCode::kUnsupported, "{}: rotary scaling \"{}\" is not one that anedvd knows; use another model",
                  file_, visible(*kind));
    }
    return {};
  }

  // Phi-3 has the original context beside the object, where it wins over the one inside, as in transformers.
  void read_contexts(RopeSettings& s, int context) const {
    const std::string_view name = "original_max_position_embeddings";
    const auto outside = config_.number(name);
    s.original_context = outside ? *outside : number(name).value_or(context);
    const bool is_ratio = s.scaling == RopeScaling::kYarn || s.scaling == RopeScaling::kLongrope;
    s.factor = number("factor").value_or(is_ratio && s.original_context > 0 ? context / s.original_context : 0);
  }

  const ConfigView& config_;
  std::string file_;
  std::string object_;  // "rope_parameters.sliding_attention"; "": config.json has none
};

}  // namespace

Result<ModelSpec> read_usual_hf_settings(const TensorSource& source, const HfDefaults& defaults) {
  return Reader(source, defaults).read();
}

Result<RopeSettings> read_hf_rope(const TensorSource& source, int head_dim, int context, std::string_view layer_type,
                                  double default_theta) {
  return RopeReader(source, layer_type).read(head_dim, context, default_theta);
}

Result<Activation> read_hf_activation(const TensorSource& source) {
  const ConfigView& config = source.config();
  auto name = config.string("hidden_activation");
  if (!name) name = config.string("hidden_act");
  if (!name || *name == "silu" || *name == "swish") return Activation::kSilu;
  if (*name == "gelu_pytorch_tanh" || *name == "gelu_new") return Activation::kGeluTanh;
  return fail(ErrorCode::kUnsupported, "{}: activation \"{}\" is not one that anedvd knows; use another model",
              source.path().string(), visible(*name));
}

Result<std::string_view> source_architecture(const TensorSource& source) {
  const bool is_gguf = source.kind() == SourceKind::kGguf;
  const std::string_view key = is_gguf ? "general.architecture" : "model_type";
  const auto name = source.config().string(key);
  if (name) return *name;
  return fail(ErrorCode::kBadFile, "{}: {} \"{}\" is missing; fetch it again", source.path().string(),
              is_gguf ? "key" : "config.json's", key);
}

}  // namespace anedvd
