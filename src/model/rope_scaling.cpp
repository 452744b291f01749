#include "model/rope_scaling.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace anedvd {
namespace {

bool is_positive(double value) { return std::isfinite(value) && value > 0; }

// Llama 3.1: long waves are stretched by the factor, short ones are not, between them the share moves evenly in frequency.
void scale_llama3(RopeSpec& rope, const RopeSettings& s) {
  for (double& frequency : rope.inverse_frequency) {
    const double turns = s.original_context * frequency / (2 * std::numbers::pi);  // within the original context
    if (turns > s.high_freq_factor) continue;
    if (turns < s.low_freq_factor) {
      frequency /= s.factor;
      continue;
    }
    const double kept = (turns - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor);
    frequency *= (1 - kept) / s.factor + kept;
  }
}

double yarn_magnitude(const RopeSettings& s) {
  if (s.attention_factor) return *s.attention_factor;
  const auto magnitude = [&](double weight) { return s.factor > 1 ? 0.1 * weight * std::log(s.factor) + 1 : 1.0; };
  if (s.mscale != 0 && s.mscale_all_dim != 0) return magnitude(s.mscale) / magnitude(s.mscale_all_dim);
  return magnitude(1);
}

// YaRN (Peng et al. 2023): pairs below `low` keep their frequency, those above `high` are stretched, between them the share moves evenly.
void scale_yarn(RopeSpec& rope, const RopeSettings& s) {
  const auto pair_that_turns = [&](double times) {
    return s.rotated * std::log(s.original_context / (2 * std::numbers::pi * times)) / (2 * std::log(s.base));
  };
  double low = pair_that_turns(s.beta_fast), high = pair_that_turns(s.beta_slow);
  if (s.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, s.rotated - 1.0);
  if (low == high) high += 0.001;  // as transformers, so that there is no division by zero
  for (size_t i = 0; i < rope.inverse_frequency.size(); ++i) {
    const double stretched = std::clamp((double(i) - low) / (high - low), 0.0, 1.0);
    rope.inverse_frequency[i] *= (1 - stretched) + stretched / s.factor;
  }
  rope.magnitude = yarn_magnitude(s);
}

Result<> scale_longrope(RopeSpec& rope, const RopeSettings& s, int64_t session_context, std::string_view where) {
  const bool is_long = double(session_context) > s.original_context;
  ANEDVD_TRY_VOID(divide_frequencies(rope, is_long ? s.long_factor : s.short_factor,
                                     fmt::format("{}: {}", where, is_long ? "long_factor" : "short_factor")));
  rope.magnitude = s.factor > 1 ? std::sqrt(1 + std::log(s.factor) / std::log(s.original_context)) : 1;
  if (s.attention_factor) rope.magnitude = *s.attention_factor;
  return {};
}

Result<> check(const RopeSettings& s, std::string_view where) {
  if (!is_positive(s.base))
    return fail(ErrorCode::kNumeric, "{}: the rotary base is not a number above 0; use another file", where);
  if (!is_positive(s.factor))
    return fail(ErrorCode::kNumeric, "{}: the rotary scaling factor is not a number above 0; use another file", where);
  if (s.attention_factor && !is_positive(*s.attention_factor))
    return fail(ErrorCode::kNumeric, "{}: the rotary attention_factor is not a number above 0; use another file",
                where);
  const bool needs_original = s.scaling != RopeScaling::kNone && s.scaling != RopeScaling::kLinear;
  if (needs_original && !(is_positive(s.original_context) && s.original_context > 1))
    return fail(ErrorCode::kBadFile,
                "{}: the rotary scaling needs the original context length, and it is not given; use another file",
                where);
  if (s.scaling == RopeScaling::kLlama3 &&
      !(is_positive(s.low_freq_factor) && is_positive(s.high_freq_factor) && s.low_freq_factor < s.high_freq_factor))
    return fail(ErrorCode::kNumeric,
                "{}: rotary low_freq_factor {} and high_freq_factor {} are not two rising numbers above 0; use "
                "another file",
                where, s.low_freq_factor, s.high_freq_factor);
  if (s.scaling == RopeScaling::kYarn && !(is_positive(s.beta_fast) && is_positive(s.beta_slow) && s.base != 1 &&
                                           std::isfinite(s.mscale) && std::isfinite(s.mscale_all_dim)))
    return fail(ErrorCode::kNumeric, "{}: YaRN's beta_fast {}, beta_slow {} or base {} make no sense; use another file",
                where, s.beta_fast, s.beta_slow, s.base);
  return {};
}

}  // namespace

std::vector<double> plain_frequencies(double base, int rotated) {
  std::vector<double> frequencies(size_t(rotated / 2));
  for (size_t i = 0; i < frequencies.size(); ++i) frequencies[i] = std::pow(base, -2.0 * double(i) / rotated);
  return frequencies;
}

Result<> divide_frequencies(RopeSpec& rope, std::span<const double> divisors, std::string_view where) {
  if (divisors.size() != rope.inverse_frequency.size())
    return fail(ErrorCode::kBadFile, "{}: {} divisors for {} rotary pairs; use another file", where, divisors.size(),
                rope.inverse_frequency.size());
  for (size_t i = 0; i < divisors.size(); ++i) {
    if (!is_positive(divisors[i]))
      return fail(ErrorCode::kNumeric, "{}: entry {} is not a number above 0; use another file", where, i);
    rope.inverse_frequency[i] /= divisors[i];
  }
  return {};
}

Result<RopeSpec> make_rope(const RopeSettings& settings, int64_t session_context, std::string_view where) {
  ANEDVD_TRY_VOID(check(settings, where));
  RopeSpec rope;
  rope.rotated = settings.rotated;
  rope.inverse_frequency = plain_frequencies(settings.base, settings.rotated);
  switch (settings.scaling) {
    case RopeScaling::kNone: break;
    case RopeScaling::kLinear:
      for (double& frequency : rope.inverse_frequency) frequency /= settings.factor;
      break;
    case RopeScaling::kLlama3: scale_llama3(rope, settings); break;
    case RopeScaling::kYarn: scale_yarn(rope, settings); break;
    case RopeScaling::kLongrope: ANEDVD_TRY_VOID(scale_longrope(rope, settings, session_context, where)); break;
  }
  for (const double frequency : rope.inverse_frequency)
    if (!std::isfinite(frequency))
      return fail(ErrorCode::kNumeric, "{}: the rotary settings give a frequency that is no number; use another file",
                  where);
  return rope;
}

}  // namespace anedvd
