// A second, smaller model that guesses what the first will say.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "engine/runtime.h"

namespace anedvd {

class DraftModel {
 public:
  // kUsage unless both models have the same vocabulary.
  static Result<std::unique_ptr<DraftModel>> make(std::shared_ptr<Runtime> draft, Runtime& target);

  // What the draft model finds most likely behind `tokens`, at most `most` of them: none when it fails. It keeps its own cache for each `id`.
  std::vector<Token> propose(uint64_t id, std::span<const Token> tokens, int most);

  // The sequence has ended.
  void forget(uint64_t id) { states_.erase(id); }

  // What one guess costs, as measured; 0 before the first.
  double seconds_a_guess() const { return seconds_a_guess_; }

 private:
  struct State {
    std::unique_ptr<Sequence> sequence;
    std::vector<Token> fed;
  };

  explicit DraftModel(std::shared_ptr<Runtime> draft) : draft_(std::move(draft)) {}

  std::shared_ptr<Runtime> draft_;
  std::unordered_map<uint64_t, State> states_;
  double seconds_a_guess_ = 0;
};

}  // namespace anedvd
