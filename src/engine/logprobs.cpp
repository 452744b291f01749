#include "engine/logprobs.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace anedvd {

TokenRecord record_of(std::span<const float> logits, Token token, int top) {
  const float largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(double(logit) - double(largest));
  const double log_sum = double(largest) + std::log(sum);
  const auto logprob = [&](Token id) { return float(double(logits[size_t(id)]) - log_sum); };

  TokenRecord record{token, logprob(token), {}};
  if (top <= 0) return record;
  std::vector<Token> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto count = std::min(size_t(top), ids.size());
  std::partial_sort(ids.begin(), ids.begin() + int64_t(count), ids.end(), [&](Token a, Token b) {
    return logits[size_t(a)] != logits[size_t(b)] ? logits[size_t(a)] > logits[size_t(b)] : a < b;
  });
  record.top.reserve(count);
  for (size_t i = 0; i < count; ++i) record.top.push_back({ids[i], logprob(ids[i])});
  return record;
}

}  // namespace anedvd
