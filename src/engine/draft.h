// Guesses at the next tokens, to be checked in one step together with the one that is due.
//
// A guess costs columns and changes nothing else: each is compared with the token that the sampler draws from the model's own logits at that
// place, and the first that differs ends the row. So an answer is the same token for token with and without guesses, greedy or sampled.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/step_cost.h"
#include "text/tokenizer.h"

namespace anedvd {

// Guesses that the text goes on as it did after the last occurrence of its last tokens: right in edits, quotations and code.
class PromptLookup {
 public:
  // At most `most` tokens that followed the longest earlier match of the end of `tokens` (which only grows between calls).
  std::vector<Token> propose(std::span<const Token> tokens, int most);

 private:
  static constexpr int kGram = 3;
  static constexpr int kKept = 4;  // newest occurrences that are looked at

  std::unordered_map<uint64_t, std::vector<int>>
      places_;       // by hash of kGram tokens: positions behind them, oldest first
  int indexed_ = 0;  // tokens whose grams are in the index
};

// How many guesses a sequence should make, from how many of the last ones were right.
class DraftLength {
 public:
  static constexpr int kMost = 16;

  // The number that makes most tokens a second, when without guesses the step had `shape`. 0 when guesses do not pay; now and then a single one all
  // the same, to see whether that changed.
  // `seconds_a_guess`: what finding one costs.
  int choose(const StepShape& shape, int position, const StepCost& cost, double seconds_a_guess = 0);

  void observe(int drafted, int accepted);

 private:
  double accepted_share_ = 0.6;  // that a guess is right, if those before it were
  int rejected_steps_ = 0;       // since guesses stopped paying
};

}  // namespace anedvd
