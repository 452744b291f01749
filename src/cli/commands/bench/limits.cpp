#include "cli/commands/bench/limits.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/words.h"

namespace anedvd {
namespace {

std::string share_words(double share, std::string_view whose) {
  return share > 0 ? fmt::format(" · {:.0f} % of it {}", 100 * share, whose) : "";
}

}  // namespace

Result<LimitShares> measure_shares(const Runtime& runtime, double prompt, double answer) {
  const RuntimeInfo& info = runtime.info();
  LimitShares shares;
  ANEDVD_TRY(shares.limits, measure_limits(info.threads, int64_t(info.weight_bytes)));
  const bool has_experts =
      std::ranges::any_of(runtime.spec().layers, [](const LayerSpec& layer) { return bool(layer.moe); });
  if (has_experts) return shares;  // which experts are read is the text's affair
  shares.read = answer * double(info.weight_bytes) / shares.limits.read_bytes_s;
  if (shares.limits.int8_ops_s > 0) shares.multiply = prompt * 2 * double(info.weights) / shares.limits.int8_ops_s;
  return shares;
}

std::string words_of(const LimitShares& shares) {
  std::string text = fmt::format("memory  {} GB/s{}\n", three_digits(shares.limits.read_bytes_s / 1e9),
                                 share_words(shares.read, "used by the answer"));
  if (shares.limits.int8_ops_s > 0)
    text += fmt::format("int8    {} Gop/s{}\n", three_digits(shares.limits.int8_ops_s / 1e9),
                        share_words(shares.multiply, "by the prompt"));
  return text;
}

nlohmann::ordered_json json_of(const LimitShares& shares) {
  nlohmann::ordered_json json = {{"read_gb_s", shares.limits.read_bytes_s / 1e9}, {"int8_gop_s", nullptr}};
  if (shares.limits.int8_ops_s > 0) json["int8_gop_s"] = shares.limits.int8_ops_s / 1e9;
  json["answer_share"] = shares.read > 0 ? nlohmann::ordered_json(shares.read) : nullptr;
  json["prompt_share"] = shares.multiply > 0 ? nlohmann::ordered_json(shares.multiply) : nullptr;
  return json;
}

}  // namespace anedvd
