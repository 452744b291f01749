#include "sampling/penalties.h"

#include <algorithm>
#include <limits>
#include <map>

#include "sampling/sampler.h"

namespace anedvd {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Penalties::Penalties(const SamplingParams& params)
    : repeat_(params.repeat_penalty),
      presence_(params.presence_penalty),
      frequency_(params.frequency_penalty),
      window_size_(params.repeat_penalty == 1.0f ? 0 : params.repeat_last_n) {
  // Several entries of one id add up; a ban outweighs everything, also +infinity (their sum would be NaN).
  std::map<int32_t, std::pair<float, bool>> merged;  // finite sum, forced
  for (const auto& [id, bias] : params.logit_bias) {
    auto& [sum, is_forced] = merged[id];
    if (bias == kInfinity) {
      is_forced = true;
    } else {
      sum += bias;
    }
  }
  for (const auto& [id, entry] : merged) {
    if (entry.first != 0.0f) bias_.emplace_back(id, entry.first);
    if (entry.second) forced_.push_back(id);
  }
}

void Penalties::accept_prompt(std::span<const int32_t> tokens) {
  if (window_size_ == 0) return;
  // What falls out of the window at once need not go in.
  if (window_size_ > 0 && tokens.size() > size_t(window_size_)) tokens = tokens.last(size_t(window_size_));
  for (const int32_t token : tokens) remember(token);
}

void Penalties::accept(int32_t token) {
  if (presence_ != 0.0f || frequency_ != 0.0f) ++generated_[token];
  if (window_size_ != 0) remember(token);
}

void Penalties::remember(int32_t token) {
  ++window_[token];
  if (window_size_ < 0) return;
  if (ring_.size() < size_t(window_size_)) {
    ring_.push_back(token);
    return;
  }
  const auto leaving = window_.find(ring_[oldest_]);
  if (--leaving->second == 0) window_.erase(leaving);
  ring_[oldest_] = token;
  oldest_ = (oldest_ + 1) % ring_.size();
}

bool Penalties::apply(std::span<float> logits) const {
  bool is_sound = true;
  const auto touch = [&](int32_t id, auto change) {
    if (id < 0 || size_t(id) >= logits.size()) return;
    float& logit = logits[size_t(id)];
    is_sound = is_sound && logit < kInfinity;
    logit = change(logit);
  };
  for (const auto& [id, bias] : bias_) touch(id, [b = bias](float logit) { return logit + b; });
  for (const auto& [id, count] : window_)
    touch(id, [&](float logit) { return logit > 0.0f ? logit / repeat_ : logit * repeat_; });
  for (const auto& [id, count] : generated_)
    touch(id, [&, n = count](float logit) { return logit - (presence_ + frequency_ * float(n)); });
  return is_sound;
}

}  // namespace anedvd
