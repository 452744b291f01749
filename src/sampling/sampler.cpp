#include "sampling/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "sampling/random.h"

namespace anedvd {
namespace {

// Below this many temperatures from the largest logit a token's share is under e^-20 = 2·10^-9 of the largest one's.
constexpr float kWindow = 20.0f;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Below 2^53, the whole numbers that every reader of JSON has exactly: what is printed can be given back as the next --seed.
uint64_t fresh_seed() {
  constexpr int kJsonBits = 53;
  std::random_device device;
  return ((uint64_t(device()) << 32) | device()) >> (64 - kJsonBits);
}

tl::unexpected<Error> not_finite(std::span<const float> logits) {
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] < kInfinity) continue;
    return fail(ErrorCode::kNumeric,
                "logits: token {} has the value {}; the model file may be damaged, or --exact may help", i, logits[i]);
  }
  return fail(ErrorCode::kNumeric, "logits: a bias or penalty took a value out of range; use smaller ones");
}

}  // namespace

Sampler::Sampler(const SamplingParams& params)
    : params_(params), seed_(params.seed ? *params.seed : fresh_seed()), penalties_(params) {}

void Sampler::accept_prompt(std::span<const int32_t> tokens) { penalties_.accept_prompt(tokens); }

void Sampler::accept(int32_t token) { penalties_.accept(token); }

Result<int32_t> Sampler::sample(std::span<const float> given) {
  std::span<const float> logits = given;
  if (!penalties_.idle()) {
    adjusted_.assign(given.begin(), given.end());
    if (!penalties_.apply(adjusted_)) return not_finite(given);
    logits = adjusted_;
  }
  scan_logits(logits, scan_);
  if (!scan_.is_sound) return not_finite(given);

  const bool is_greedy = params_.temperature == 0.0f;
  float max = scan_.max;
  candidates_.clear();
  if (!penalties_.forced().empty()) {
    max = -kInfinity;
    for (const int32_t id : penalties_.forced()) {
      if (id < 0 || size_t(id) >= logits.size() || logits[size_t(id)] == -kInfinity) continue;
      candidates_.push_back({logits[size_t(id)], id});
      max = std::max(max, logits[size_t(id)]);
    }
  }
  if (max == -kInfinity) {
    return fail(ErrorCode::kNumeric, "logits: no token is left to choose from; check the bans in logit_bias");
  }

  const float floor = max - kWindow * params_.temperature;
  if (!candidates_.empty()) {
    std::erase_if(candidates_, [&](const Candidate& c) { return c.logit < floor; });
  } else if (is_greedy) {
    return first_of_largest(logits, scan_);
  } else {
    collect_candidates(logits, scan_, floor, params_.top_k, candidates_);
  }
  if (is_greedy) return candidates_.front().id;  // forced tokens, ascending; only the largest passed the floor

  if (params_.top_k > 0) keep_largest(candidates_, params_.top_k);
  weigh(candidates_, max, params_.temperature);
  if (params_.top_p < 1.0f) keep_nucleus(candidates_, params_.top_p);
  if (params_.min_p > 0.0f) keep_probable(candidates_, params_.min_p);
  return draw();
}

int32_t Sampler::draw() {
  // Sums of tiles first, then the tile in which the draw falls: one candidate after another would wait for each addition.
  constexpr size_t kTile = 64;
  const auto sum_of = [&](size_t first) {
    double sums[4] = {};
    const size_t end = std::min(first + kTile, candidates_.size());
    for (size_t i = first; i < end; ++i) sums[i % 4] += candidates_[i].weight;
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  };
  tile_sums_.clear();
  for (size_t first = 0; first < candidates_.size(); first += kTile) tile_sums_.push_back(sum_of(first));
  const double total = std::accumulate(tile_sums_.begin(), tile_sums_.end(), 0.0);
  double left = uniform_draw(seed_, draws_++) * total;
  size_t tile = 0;
  for (; tile + 1 < tile_sums_.size() && left >= tile_sums_[tile]; ++tile) left -= tile_sums_[tile];
  for (size_t i = tile * kTile; i < candidates_.size(); ++i) {
    left -= candidates_[i].weight;
    if (left < 0.0) return candidates_[i].id;
  }
  // Rounding may leave a crumb after the last one; give it to the last that has any weight.
  for (size_t i = candidates_.size(); i-- > 1;)
    if (candidates_[i].weight > 0.0) return candidates_[i].id;
  return candidates_.front().id;
}

}  // namespace anedvd
