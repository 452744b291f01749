#include "engine/draft.h"

#include <algorithm>

namespace anedvd {
namespace {

constexpr double kMemory = 0.85;     // of the share, per observed row
constexpr double kLeastGain = 1.03;  // a guess must promise this much: predictions of cost are not exact
constexpr int kRetry = 48;           // steps without guesses before one is tried again

uint64_t hash_of(std::span<const Token> gram) {
  uint64_t hash = 0x9e3779b97f4a7c15u;
  for (const Token token : gram) hash = (hash ^ uint64_t(uint32_t(token))) * 0xff51afd7ed558ccdu + (hash >> 29);
  return hash;
}

}  // namespace

std::vector<Token> PromptLookup::propose(std::span<const Token> tokens, int most) {
  const int size = int(tokens.size());
  // Everything but the end itself, which would always match.
  for (int end = std::max(indexed_ + 1, kGram); end < size; ++end) {
    auto& places = places_[hash_of(tokens.subspan(size_t(end - kGram), kGram))];
    if (int(places.size()) == kKept) places.erase(places.begin());
    places.push_back(end);
    indexed_ = end;
  }
  if (most <= 0 || size <= kGram) return {};
  const auto known = places_.find(hash_of(tokens.last(kGram)));
  if (known == places_.end()) return {};
  int best = 0, best_length = 0;
  for (const int place : known->second) {
    int length = 0;
    while (length < place && length < 64 && tokens[size_t(place - 1 - length)] == tokens[size_t(size - 1 - length)])
      ++length;
    if (length >= std::max(best_length, kGram)) {  // newest on a draw
      best = place;
      best_length = length;
    }
  }
  if (best_length == 0) return {};
  // What follows may run into the end: then the text repeats itself from there on.
  std::vector<Token> guesses;
  const int period = size - best;
  for (int i = 0; i < most; ++i) guesses.push_back(tokens[size_t(best + i % period)]);
  return guesses;
}

int DraftLength::choose(const StepShape& shape, int position, const StepCost& cost, double seconds_a_guess) {
  const double plain = 1 / cost.predict(shape);
  double best_rate = plain * kLeastGain;
  int best = 0;
  double expected = 1, all_right = 1;
  StepShape with = shape;
  for (int guesses = 1; guesses <= kMost; ++guesses) {
    all_right *= accepted_share_;
    expected += all_right;
    ++with.columns;
    with.cache_entries += position + guesses;
    const double rate = expected / (cost.predict(with) + guesses * seconds_a_guess);
    if (rate > best_rate) {
      best_rate = rate;
      best = guesses;
    }
  }
  if (best > 0) {
    rejected_steps_ = 0;
    return best;
  }
  if (++rejected_steps_ < kRetry) return 0;
  rejected_steps_ = 0;
  return 1;
}

void DraftLength::observe(int drafted, int accepted) {
  if (drafted == 0) return;
  // Guesses behind the first wrong one say nothing.
  const int looked_at = std::min(drafted, accepted + 1);
  const double share = double(accepted) / looked_at;
  const double weight = 1 - kMemory;
  accepted_share_ += weight * (share - accepted_share_);
  accepted_share_ = std::clamp(accepted_share_, 0.02, 0.98);
}

}  // namespace anedvd
