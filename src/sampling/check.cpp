#include <cmath>
#include <limits>

#include "sampling/sampler.h"

namespace anedvd {
namespace {

// A field that must be a finite number from low to high. low_allowed: whether low itself is one of them.
struct Range {
  const char* field;
  float value, low, high;
  bool low_allowed;
  const char* advice;
};

}  // namespace

Result<> check(const SamplingParams& params, int vocab_size) {
  constexpr float kMost = std::numeric_limits<float>::max();
  const Range ranges[] = {
      {"temperature", params.temperature, 0, kMost, true, "use 0 (greedy) or more, for example 0.7"},
      {"top_p", params.top_p, 0, 1, false, "use more than 0 and at most 1 (off)"},
      {"min_p", params.min_p, 0, 1, true, "use 0 (off) to 1"},
      {"repeat_penalty", params.repeat_penalty, 0, kMost, false, "use more than 0, for example 1.1; 1 is off"},
      {"presence_penalty", params.presence_penalty, -2, 2, true, "use -2 to 2; 0 is off"},
      {"frequency_penalty", params.frequency_penalty, -2, 2, true, "use -2 to 2; 0 is off"},
  };
  for (const Range& r : ranges) {
    const bool is_above = r.low_allowed ? r.value >= r.low : r.value > r.low;  // false for NaN
    if (!is_above || !(r.value <= r.high))
      return fail(ErrorCode::kUsage, "{}: {} is out of range; {}", r.field, r.value, r.advice);
  }
  if (params.top_k < 0) return fail(ErrorCode::kUsage, "top_k: {} is out of range; use 0 (off) or more", params.top_k);
  if (params.repeat_last_n < -1) {
    return fail(ErrorCode::kUsage, "repeat_last_n: {} is out of range; use -1 (everything), 0 (off) or more",
                params.repeat_last_n);
  }
  for (const auto& [id, bias] : params.logit_bias) {
    if (id < 0 || id >= vocab_size) {
      return fail(ErrorCode::kUsage, "logit_bias: token {} is not in the vocabulary; use 0 to {}", id, vocab_size - 1);
    }
    if (std::isnan(bias))
      return fail(ErrorCode::kUsage, "logit_bias: the bias of token {} is not a number; use -100 to 100", id);
  }
  return {};
}

}  // namespace anedvd
