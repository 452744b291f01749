// Logits to a token.
//
// Order: logit bias and penalties → only candidates within max_logit − 20·temperature → the k largest → top-p → min-p → draw. The cost follows
// the candidates, not the vocabulary. Shares (of top-p, min-p and the draw) are those at the temperature, among what the stage before left.
// Temperature 0 is greedy: the largest logit after bias and penalties, lowest id on ties, whatever the other settings are.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "sampling/penalties.h"
#include "sampling/truncation.h"

namespace anedvd {

struct SamplingParams {
  float temperature = 0.8f;        // 0: greedy
  int top_k = 40;                  // 0: off
  float top_p = 0.95f;             // 1: off
  float min_p = 0.0f;              // 0: off. Keeps tokens with p ≥ min_p · p_max
  float repeat_penalty = 1.0f;     // 1: off. llama.cpp semantics: positive logits divided, others multiplied
  int repeat_last_n = 64;          // window of repeat_penalty in tokens; −1: everything, 0: off
  float presence_penalty = 0.0f;   // OpenAI semantics: subtracted once from each token that was generated
  float frequency_penalty = 0.0f;  // … and this for each time it was generated
  std::vector<std::pair<int32_t, float>> logit_bias;  // added to the logit; −∞ bans, +∞ bans all others
  std::optional<uint64_t> seed;                       // none: a fresh one for each sampler
};

// kUsage, naming the field, if a value is not finite or out of range (temperature ≥ 0, 0 < top_p ≤ 1, 0 ≤ min_p ≤ 1, top_k ≥ 0, repeat_penalty > 0,
// penalties −2 … 2, bias ids within vocab).
Result<> check(const SamplingParams& params, int vocab_size);

// One sequence's sampler: its history and random state. One thread.
class Sampler {
 public:
  explicit Sampler(const SamplingParams& params);

  // A token that is part of the prompt (counts for repeat_penalty only) or was generated (counts for all penalties).
  void accept_prompt(std::span<const int32_t> tokens);
  void accept(int32_t token);

  // Draws from logits[vocab]. kNumeric if a logit is NaN or +∞ (−∞ is a ban) or none is left.
  Result<int32_t> sample(std::span<const float> logits);

  // The seed in use, also when none was asked for.
  uint64_t seed() const { return seed_; }

 private:
  int32_t draw();

  SamplingParams params_;
  uint64_t seed_;
  uint64_t draws_ = 0;  // the random number of draw n depends on (seed, n) only: a replay gives the same tokens
  Penalties penalties_;
  std::vector<float> adjusted_;  // logits after bias and penalties, when there are any
  LogitScan scan_;               // these three are reused between steps
  std::vector<Candidate> candidates_;
  std::vector<double> tile_sums_;
};

}  // namespace anedvd
