// Settings of a GGUF file: the keys `{architecture}.…`, read with their usual defaults and checked for sense.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/tensor_source.h"
#include "model/rope_scaling.h"
#include "model/spec.h"

namespace anedvd {

// How one rotation's settings are called; "" where a default holds.
struct GgufRopeKeys {
  std::string_view base = "rope.freq_base";
  std::string_view rotated = "rope.dimension_count";
  double default_base = 10000;
  bool scaled = true;      // rope.scaling.* holds for it
  bool has_tensor = true;  // rope_freqs.weight divides its angles
};

// Names are those behind the architecture. Errors name the file and the key: kBadFile, kUnsupported, kNumeric.
class GgufSettings {
 public:
  explicit GgufSettings(const TensorSource& source);

  // Sizes, heads, norm, context and one rotation for all layers. `final_norm_optional`: see LFM2.
  Result<ModelSpec> read_usual() const;

  // A whole number of at least 1.
  Result<int> size(std::string_view name, std::optional<int64_t> otherwise = {}) const;
  // A whole number of at least 0, `otherwise` if the key is absent.
  Result<int> count(std::string_view name, int64_t otherwise = 0) const;
  // A finite number.
  Result<float> number(std::string_view name, double otherwise) const;
  // A number, or an array with one entry a layer. Without `otherwise` the key must be there.
  Result<std::vector<int>> per_layer(std::string_view name, int layers, std::optional<int64_t> otherwise = {},
                                     int64_t smallest = 1) const;
  // An array of booleans with one entry a layer; nullopt: the key is absent.
  Result<std::optional<std::vector<bool>>> flags(std::string_view name, int layers) const;
  // The rotation of heads of `head_dim`; longrope with both lists of divisors.
  Result<RopeSpec> rope(int head_dim, const GgufRopeKeys& keys = {}) const;
  // expert_count and what belongs to it; nullopt: a dense model.
  Result<std::optional<MoeSpec>> moe() const;

  bool has(std::string_view name) const { return source_.config().has(key(name)); }
  std::string key(std::string_view name) const;
  std::string file() const { return source_.path().string(); }

 private:
  Result<int> within(std::string_view name, int64_t value, int64_t smallest) const;
  Result<int> head_dim(int hidden, int heads) const;
  Result<> read_scaling(RopeSettings& settings) const;
  Result<std::vector<double>> divisors(std::string_view tensor, int pairs) const;

  const TensorSource& source_;
  const ConfigView& config_;
  std::string architecture_;
};

}  // namespace anedvd
