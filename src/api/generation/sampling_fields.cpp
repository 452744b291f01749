#include "api/generation/sampling_fields.h"

#include <charconv>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kAny = Fields::kAny;
constexpr double kMaxTemperature = 10;  // users of min-p go above 2
constexpr double kBan = -100, kForce = 100;

std::optional<int32_t> parse_id(std::string_view text) {
  int32_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size() || id < 0) return std::nullopt;
  return id;
}

float bias_of(double value) {
  if (value <= kBan) return -std::numeric_limits<float>::infinity();
  if (value >= kForce) return std::numeric_limits<float>::infinity();
  return float(value);
}

// {"50256": -100}, or [[50256, -100], [50257, false]].
ApiResult<> read_bias(const Fields& fields, GenerationRequest& request) {
  const Json* bias = fields.find("logit_bias");
  if (!bias) return {};
  const std::string name = fields.path("logit_bias");
  const auto add = [&](std::optional<int32_t> id, const Json& value) -> ApiResult<> {
    if (!id) return bad_value(name, "the keys are token ids");
    if (value.is_boolean() && !value.get<bool>()) {
      request.sampling.logit_bias.push_back({*id, bias_of(kBan)});
      return {};
    }
    if (!value.is_number() || std::fabs(value.get<double>()) > 100)
      return bad_value(name, "the values are numbers from -100 to 100");
    request.sampling.logit_bias.push_back({*id, bias_of(value.get<double>())});
    return {};
  };
  if (bias->is_object()) {
    for (const auto& [key, value] : bias->items()) ANEDVD_TRY_VOID(add(parse_id(key), value));
    return {};
  }
  if (!bias->is_array()) return wrong_type(name, "an object of token ids and numbers");
  for (const Json& entry : *bias) {
    if (!entry.is_array() || entry.size() != 2) return wrong_type(name, "an object of token ids and numbers");
    if (entry[0].is_string()) return not_supported(name, "give token ids; /tokenize tells them");
    const bool is_id =
        entry[0].is_number_unsigned() && entry[0].get<uint64_t>() <= uint64_t(std::numeric_limits<int32_t>::max());
    ANEDVD_TRY_VOID(add(is_id ? std::optional(entry[0].get<int32_t>()) : std::nullopt, entry[1]));
  }
  return {};
}

// A sampler of other servers: its field and the value at which it does nothing.
struct ForeignField {
  std::string_view name;
  double off;
};

constexpr ForeignField kForeign[] = {
    {"typical_p", 1}, {"xtc_probability", 0}, {"dry_multiplier", 0},
    {"mirostat", 0},  {"mirostat_mode", 0},   {"dynatemp_range", 0},
};

// Fields that change nothing here: of the right type all the same, so that a client's mistake shows.
ApiResult<> check_bystanders(const Fields& fields) {
  for (const std::string_view name : {"user", "safety_identifier", "prompt_cache_key", "service_tier"})
    ANEDVD_TRY_VOID(fields.text(name));
  ANEDVD_TRY_VOID(fields.object("metadata"));
  ANEDVD_TRY_VOID(fields.boolean("store"));
  ANEDVD_TRY_VOID(fields.boolean("parallel_tool_calls"));
  ANEDVD_TRY_VOID(fields.integer("id_slot", -1, kAny));
  ANEDVD_TRY_VOID(fields.texts("samplers", 64));
  return {};
}

ApiResult<> refuse_foreign(const Fields& fields) {
  for (const ForeignField& foreign : kForeign) {
    ANEDVD_TRY(const auto value, fields.number(foreign.name, -1e300, 1e300));
    if (value && *value != foreign.off)
      return not_supported(fields.path(foreign.name), "this version has no such sampler");
  }
  ANEDVD_TRY(const auto sigma, fields.number("top_n_sigma", -1e300, 1e300));
  if (sigma && *sigma > 0) return not_supported(fields.path("top_n_sigma"), "this version has no such sampler");
  for (const std::string_view name :
       {"grammar", "guided_json", "guided_regex", "guided_choice", "guided_grammar", "json_schema"}) {
    const Json* value = fields.find(name);
    if (value && !(value->is_string() && value->get<std::string>().empty()))
      return not_supported(fields.path(name), "this version cannot constrain answers");
  }
  return {};
}

}  // namespace

ApiResult<> read_sampling(const Fields& fields, const RequestDefaults& defaults, GenerationRequest& request) {
  request.sampling = defaults.sampling;
  SamplingParams& sampling = request.sampling;
  const auto number = [&](std::string_view name, double low, double high, float& place) -> ApiResult<bool> {
    ANEDVD_TRY(const auto value, fields.number(name, low, high));
    if (value) place = float(*value);
    return value.has_value();
  };
  ANEDVD_TRY_VOID(number("temperature", 0, kMaxTemperature, sampling.temperature));
  ANEDVD_TRY(const auto top_p, fields.number("top_p", 0, 1));
  if (top_p && *top_p > 0) sampling.top_p = float(*top_p);
  if (top_p && *top_p == 0) sampling.temperature = 0;
  ANEDVD_TRY(const auto top_k, fields.integer("top_k", -1, kAny));
  if (top_k) sampling.top_k = int(std::clamp<int64_t>(*top_k, 0, 1 << 30));
  ANEDVD_TRY_VOID(number("min_p", 0, 1, sampling.min_p));
  ANEDVD_TRY_VOID(number("repeat_penalty", 0.01, 10, sampling.repeat_penalty));
  ANEDVD_TRY_VOID(number("repetition_penalty", 0.01, 10, sampling.repeat_penalty));
  ANEDVD_TRY(const auto last_n, fields.integer("repeat_last_n", -1, kAny));
  if (last_n) sampling.repeat_last_n = int(std::min<int64_t>(*last_n, 1 << 30));
  ANEDVD_TRY_VOID(number("presence_penalty", -2, 2, sampling.presence_penalty));
  ANEDVD_TRY_VOID(number("frequency_penalty", -2, 2, sampling.frequency_penalty));
  ANEDVD_TRY(const auto seed,
             fields.integer("seed", std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()));
  if (seed) sampling.seed = uint64_t(*seed);
  ANEDVD_TRY_VOID(read_bias(fields, request));
  ANEDVD_TRY_VOID(refuse_foreign(fields));
  ANEDVD_TRY_VOID(check_bystanders(fields));
  ANEDVD_TRY(const auto ignore_end, fields.boolean("ignore_eos"));
  request.ignore_end = ignore_end.value_or(false);
  ANEDVD_TRY(const auto min_tokens, fields.integer("min_tokens", 0, kAny));
  request.min_tokens = int(std::min<int64_t>(min_tokens.value_or(0), 1 << 30));
  ANEDVD_TRY(const auto reuse, fields.boolean("cache_prompt"));
  request.reuse = reuse.value_or(true);
  return {};
}

ApiResult<std::vector<std::string>> read_stop(const Fields& fields, std::string_view name, size_t most) {
  ANEDVD_TRY(std::vector<std::string> stop, fields.texts(name, most));
  std::erase(stop, "");
  return stop;
}

ApiResult<std::optional<int>> read_max_tokens(const Fields& fields, std::string_view name, bool zero_allowed) {
  ANEDVD_TRY(const auto value, fields.integer(name, -1, kAny));
  if (!value) return std::nullopt;
  if (*value == 0 && !zero_allowed) return bad_value(fields.path(name), "at least 1 is expected");
  return int(std::min<int64_t>(*value, 1 << 30));
}

ApiResult<> check_bias(const GenerationRequest& request, const ServedModel& model) {
  const int vocab = model.engine().runtime().spec().vocab;
  for (const auto& [id, bias] : request.sampling.logit_bias)
    if (id >= vocab) return bad_value("logit_bias", fmt::format("{} is no token of the model; it has {}", id, vocab));
  return {};
}

ApiResult<bool> read_truncation(const Fields& fields, const RequestDefaults& defaults) {
  ANEDVD_TRY(const auto truncation, fields.text("truncation"));
  if (!truncation) return defaults.truncate;
  if (*truncation != "auto" && *truncation != "disabled")
    return bad_value(fields.path("truncation"), "\"auto\" or \"disabled\" is expected");
  return *truncation == "auto";
}

}  // namespace anedvd
