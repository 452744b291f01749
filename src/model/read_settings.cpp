#include "model/read_settings.h"

#include <cmath>

#include "base/words.h"
#include "model/rope_scaling.h"

namespace anedvd {
namespace {

constexpr int64_t kLargest = int64_t(1) << 24;  // no honest size of a dimension is near

class Reader {
 public:
  explicit Reader(const TensorSource& source)
      : source_(source), config_(source.config()), architecture_(config_.string("general.architecture").value_or("")) {}

  Result<ModelSpec> read() {
    ModelSpec spec;
    spec.architecture = architecture_;
    spec.family = architecture_;
    spec.name = config_.string("general.name").value_or("");
    ANEDVD_TRY(const int layers, size("block_count"));
    ANEDVD_TRY(spec.hidden, size("embedding_length"));
    ANEDVD_TRY(spec.context, size("context_length"));
    ANEDVD_TRY(const int heads, size("attention.head_count"));
    spec.norm_eps = float(config_.number(key("attention.layer_norm_rms_epsilon")).value_or(1e-5));
    if (!std::isfinite(spec.norm_eps) || spec.norm_eps < 0)
      return fail(ErrorCode::kNumeric, "{}: {} is not a finite number", file(),
                  key("attention.layer_norm_rms_epsilon"));
    if (layers > 1024) return fail(ErrorCode::kBadFile, "{}: {} layers make no sense", file(), layers);
    const TensorView* embedding = source_.find("token_embd.weight");
    if (embedding == nullptr) return fail(ErrorCode::kBadFile, "{}: tensor \"token_embd.weight\" is missing", file());
    if (embedding->rows() > kLargest)
      return fail(ErrorCode::kBadFile, "{}: a vocabulary of {} makes no sense", file(), embedding->rows());
    spec.vocab = int(embedding->rows());
    spec.tied_head = source_.find("output.weight") == nullptr;
    LayerSpec layer;
    layer.heads = heads;
    ANEDVD_TRY(layer.head_dim, head_dim(spec.hidden, heads));
    layer.attention_scale = float(1.0 / std::sqrt(double(layer.head_dim)));
    ANEDVD_TRY(RopeSpec rope, read_rope(layer.head_dim));
    spec.ropes.push_back(std::move(rope));
    ANEDVD_TRY(const std::vector<int64_t> kv_heads, per_layer("attention.head_count_kv", layers, heads));
    ANEDVD_TRY(const std::vector<int64_t> widths, per_layer("feed_forward_length", layers, -1));
    for (int i = 0; i < layers; ++i) {
      layer.kv_heads = int(kv_heads[size_t(i)]);
      layer.ffn_width = int(widths[size_t(i)]);
      if (layer.heads % layer.kv_heads != 0)
        return fail(ErrorCode::kBadFile, "{}: {} heads cannot share {} key-value heads", file(), heads, layer.kv_heads);
      spec.layers.push_back(layer);
    }
    return spec;
  }

 private:
  std::string file() const { return source_.path().string(); }
  std::string key(std::string_view name) const { return fmt::format("{}.{}", architecture_, name); }

  Result<int> size(std::string_view name) const {
    const auto value = config_.integer(key(name));
    if (!value)
      return fail(ErrorCode::kBadFile, "{}: key \"{}\" is missing or not a whole number", file(), visible(key(name)));
    if (*value < 1 || *value > kLargest)
      return fail(ErrorCode::kBadFile, "{}: key \"{}\" is {}, which makes no sense", file(), visible(key(name)),
                  *value);
    return int(*value);
  }

  // A number, or an array with one entry a layer.
  Result<std::vector<int64_t>> per_layer(std::string_view name, int layers, int64_t otherwise) const {
    std::vector<int64_t> values;
    if (config_.array_size(key(name))) {
      ANEDVD_TRY(values, config_.integers(key(name)));
      if (int(values.size()) != layers)
        return fail(ErrorCode::kBadFile, "{}: key \"{}\" has {} entries for {} layers", file(), key(name),
                    values.size(), layers);
    } else {
      const auto value = config_.integer(key(name));
      if (!value && otherwise < 0)
        return fail(ErrorCode::kBadFile, "{}: key \"{}\" is missing", file(), visible(key(name)));
      values.assign(size_t(layers), value.value_or(otherwise));
    }
    for (const int64_t value : values)
      if (value < 1 || value > kLargest)
        return fail(ErrorCode::kBadFile, "{}: key \"{}\" holds {}, which makes no sense", file(), key(name), value);
    return values;
  }

  Result<int> head_dim(int hidden, int heads) const {
    int64_t dim = config_.integer(key("attention.key_length")).value_or(hidden / heads);
    const int64_t value_dim = config_.integer(key("attention.value_length")).value_or(dim);
    if (dim < 1 || dim > 4096) return fail(ErrorCode::kBadFile, "{}: a head of {} makes no sense", file(), dim);
    if (dim != value_dim)
      return fail(ErrorCode::kUnsupported, "{}: key heads of {} and value heads of {}; anedvd reads equal ones", file(),
                  dim, value_dim);
    return int(dim);
  }

  Result<RopeSpec> read_rope(int dim) const {
    RopeSettings settings;
    const int64_t rotated = config_.integer(key("rope.dimension_count")).value_or(dim);
    if (rotated < 0 || rotated > dim || rotated % 2 != 0)
      return fail(ErrorCode::kBadFile, "{}: key \"{}\" is {}, the head has {}", file(), key("rope.dimension_count"),
                  rotated, dim);
    settings.rotated = int(rotated);
    settings.base = config_.number(key("rope.freq_base")).value_or(10000.0);
    ANEDVD_TRY_VOID(read_scaling(settings));
    ANEDVD_TRY(RopeSpec rope, make_rope(settings, 0, file()));
    ANEDVD_TRY_VOID(divide_by_tensor(rope));
    return rope;
  }

  Result<> read_scaling(RopeSettings& settings) const {
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
    } else if (kind == "none") {
      settings.factor = 1;
    } else {
      return fail(ErrorCode::kUnsupported, "{}: rope scaling \"{}\" is not one that anedvd knows", file(),
                  visible(kind));
    }
    return {};
  }

  // rope_freqs.weight divides the angle of each pair (Llama 3.1's scaling travels this way).
  Result<> divide_by_tensor(RopeSpec& rope) const {
    const TensorView* divisors = source_.find("rope_freqs.weight");
    if (divisors == nullptr) return {};
    if (divisors->elements() != int64_t(rope.inverse_frequency.size()))
      return fail(ErrorCode::kBadFile, "{}: tensor \"rope_freqs.weight\" has {} entries, expected {}", file(),
                  divisors->elements(), rope.inverse_frequency.size());
    std::vector<float> values(rope.inverse_frequency.size());
    dequantize(*divisors, 0, divisors->rows(), values);
    return divide_frequencies(rope, std::vector<double>(values.begin(), values.end()),
                              file() + ": tensor \"rope_freqs.weight\"");
  }

  const TensorSource& source_;
  const ConfigView& config_;
  std::string architecture_;
};

}  // namespace

Result<ModelSpec> read_usual_settings(const TensorSource& source) { return Reader(source).read(); }

}  // namespace anedvd
