// The sampler's distribution the long way: every logit adjusted, sorted, and put through a full softmax. For comparison only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "sampling/sampler.h"

namespace anedvd::reference {

// Logits after bias, repeat penalty over `history` (prompt and generated), presence and frequency over `generated`.
inline std::vector<float> adjust(std::vector<float> logits, const SamplingParams& p, const std::vector<int32_t>& prompt,
                                 const std::vector<int32_t>& generated) {
  std::vector<int32_t> history = prompt;
  history.insert(history.end(), generated.begin(), generated.end());
  if (p.repeat_last_n >= 0 && history.size() > size_t(p.repeat_last_n))
    history.erase(history.begin(), history.end() - p.repeat_last_n);
  const std::set<int32_t> window(history.begin(), history.end());
  for (size_t i = 0; i < logits.size(); ++i) {
    const auto id = int32_t(i);
    float bias = 0;
    for (const auto& [at, value] : p.logit_bias)
      if (at == id) bias += value;
    float& x = logits[i];
    x += bias;
    if (window.count(id) != 0) x = x > 0 ? x / p.repeat_penalty : x * p.repeat_penalty;
    const auto count = std::count(generated.begin(), generated.end(), id);
    if (count > 0) x -= p.presence_penalty + p.frequency_penalty * float(count);
  }
  return logits;
}

// Probability of each token that can be drawn, from adjusted logits.
inline std::map<int32_t, double> distribution(const std::vector<float>& logits, const SamplingParams& p) {
  std::vector<std::pair<float, int32_t>> order;  // (−logit, id): sorts as the sampler ranks
  for (size_t i = 0; i < logits.size(); ++i) order.emplace_back(-logits[i], int32_t(i));
  std::sort(order.begin(), order.end());
  const float max = -order[0].first;
  if (p.temperature == 0) return {{order[0].second, 1.0}};

  std::erase_if(order, [&](const auto& e) {
    return -e.first < max - 20.0f * p.temperature || -e.first == -std::numeric_limits<float>::infinity();
  });
  if (p.top_k > 0 && order.size() > size_t(p.top_k)) order.resize(size_t(p.top_k));
  const auto shares = [&] {
    std::vector<double> result;
    double total = 0;
    for (const auto& e : order) {
      result.push_back(std::exp((double(-e.first) - max) / p.temperature));
      total += result.back();
    }
    for (double& share : result) share /= total;
    return result;
  };
  if (p.top_p < 1) {
    const auto share = shares();
    double sum = 0;
    size_t kept = 0;
    while (kept < share.size() && sum < p.top_p) sum += share[kept++];
    order.resize(std::max<size_t>(kept, 1));
  }
  if (p.min_p > 0) {
    const auto share = shares();
    size_t kept = 0;
    while (kept < share.size() && share[kept] >= p.min_p * share[0]) ++kept;
    order.resize(kept);
  }
  std::map<int32_t, double> result;
  const auto share = shares();
  for (size_t i = 0; i < order.size(); ++i) result[order[i].second] = share[i];
  return result;
}

}  // namespace anedvd::reference
