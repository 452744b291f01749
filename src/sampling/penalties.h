// What a sequence's own past does to its logits: bias, repetition, presence and frequency.
//
// Only tokens that occurred or carry a bias are touched, so the cost follows the history and not the vocabulary. For each of them, in this
// order: the bias is added; the repeat penalty divides a positive logit and multiplies any other, once whatever the count (llama.cpp's
// rule); presence and frequency · count are subtracted (OpenAI's rule, generated tokens only).
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace anedvd {

struct SamplingParams;

class Penalties {
 public:
  explicit Penalties(const SamplingParams& params);

  void accept_prompt(std::span<const int32_t> tokens);
  void accept(int32_t token);

  // True when apply() would change nothing: the logits can be read where they are.
  bool idle() const { return bias_.empty() && window_.empty() && generated_.empty(); }

  // Changes logits[vocab] in place. Ids outside the vocabulary are ignored. False if a logit it touched was NaN or +infinity (a ban would
  // hide that from a later look).
  bool apply(std::span<float> logits) const;

  // Tokens with a bias of +infinity, ascending: when there are any, nothing else may come. Their infinite part is not added.
  std::span<const int32_t> forced() const { return forced_; }

 private:
  void remember(int32_t token);

  float repeat_, presence_, frequency_;
  int window_size_;                              // −1: without end
  std::vector<std::pair<int32_t, float>> bias_;  // one entry an id
  std::vector<int32_t> forced_;
  std::unordered_map<int32_t, int> window_;  // counts of the tokens that the repeat penalty sees
  std::vector<int32_t> ring_;  // those tokens in order, oldest at oldest_; unused when the window is without end
  size_t oldest_ = 0;
  std::unordered_map<int32_t, int> generated_;  // counts; kept only if a penalty reads them
};

}  // namespace anedvd
