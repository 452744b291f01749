#include "model/read_settings.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/log.h"
#include "base/words.h"

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
    RopeSpec rope;
    const int64_t rotated = config_.integer(key("rope.dimension_count")).value_or(dim);
    if (rotated < 0 || rotated > dim || rotated % 2 != 0)
      return fail(ErrorCode::kBadFile, "{}: key \"{}\" is {}, the head has {}", file(), key("rope.dimension_count"),
                  rotated, dim);
    rope.rotated = int(rotated);
    const double base = config_.number(key("rope.freq_base")).value_or(10000.0);
    if (!std::isfinite(base) || base <= 0)
      return fail(ErrorCode::kNumeric, "{}: key \"{}\" is not a finite number above 0", file(), key("rope.freq_base"));
    rope.inverse_frequency = plain_frequencies(base, rope.rotated);
    ANEDVD_TRY_VOID(scale_rope(rope, base));
    ANEDVD_TRY_VOID(divide_by_tensor(rope));
    return rope;
  }

  Result<> scale_rope(RopeSpec& rope, double base) const {
    const auto kind = config_.string(key("rope.scaling.type"));
    double factor = config_.number(key("rope.scaling.factor")).value_or(0);
    if (factor <= 0) factor = config_.number(key("rope.scale_linear")).value_or(1);
    if (!std::isfinite(factor) || factor <= 0)
      return fail(ErrorCode::kNumeric, "{}: the rope scaling factor is not a number above 0", file());
    if (!kind || *kind == "none") return {};
    if (*kind == "linear") {
      for (double& f : rope.inverse_frequency) f /= factor;
      return {};
    }
    if (*kind == "yarn") return scale_yarn(rope, base, factor);
    return fail(ErrorCode::kUnsupported, "{}: rope scaling \"{}\" is not one that anedvd knows", file(),
                visible(*kind));
  }

  // YaRN (Peng et al. 2023) as transformers computes it; `lo` and `hi` bound the pairs between full interpolation and none.
  Result<> scale_yarn(RopeSpec& rope, double base, double factor) const {
    const double original = config_.number(key("rope.scaling.original_context_length")).value_or(0);
    if (!(original > 0))
      return fail(ErrorCode::kBadFile, "{}: YaRN without \"{}\"", file(), key("rope.scaling.original_context_length"));
    const double fast = config_.number(key("rope.scaling.yarn_beta_fast")).value_or(32);
    const double slow = config_.number(key("rope.scaling.yarn_beta_slow")).value_or(1);
    const auto turns = [&](double r) {
      return rope.rotated * std::log(original / (2 * std::numbers::pi * r)) / (2 * std::log(base));
    };
    const double lo = std::max(0.0, std::floor(turns(fast)));
    double hi = std::min(rope.rotated - 1.0, std::ceil(turns(slow)));
    if (hi <= lo) hi = lo + 0.001;
    for (size_t i = 0; i < rope.inverse_frequency.size(); ++i) {
      const double share = std::clamp((double(i) - lo) / (hi - lo), 0.0, 1.0);
      rope.inverse_frequency[i] *= (1 - share) + share / factor;
    }
    rope.magnitude = factor > 1 ? 0.1 * std::log(factor) + 1 : 1;
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
    for (size_t i = 0; i < values.size(); ++i) {
      if (!(values[i] > 0))
        return fail(ErrorCode::kNumeric, "{}: tensor \"rope_freqs.weight\" holds a divisor that is not above 0",
                    file());
      rope.inverse_frequency[i] /= double(values[i]);
    }
    return {};
  }

  const TensorSource& source_;
  const ConfigView& config_;
  std::string architecture_;
};

}  // namespace

std::vector<double> plain_frequencies(double base, int rotated) {
  std::vector<double> frequencies(size_t(rotated / 2));
  for (size_t i = 0; i < frequencies.size(); ++i) frequencies[i] = std::pow(base, -2.0 * double(i) / rotated);
  return frequencies;
}

Result<ModelSpec> read_usual_settings(const TensorSource& source) { return Reader(source).read(); }

}  // namespace anedvd
