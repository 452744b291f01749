#include "engine/draft_model.h"

#include <algorithm>
#include <chrono>
#include <string>

namespace anedvd {
namespace {

constexpr int kProbes = 64;  // vocabulary entries that are compared, besides the size

}  // namespace

Result<std::unique_ptr<DraftModel>> DraftModel::make(std::shared_ptr<Runtime> draft, Runtime& target) {
  ANEDVD_TRY(const Tokenizer* own, draft->tokenizer());
  ANEDVD_TRY(const Tokenizer* wanted, target.tokenizer());
  const int vocab = target.spec().vocab;
  bool is_same = draft->spec().vocab == vocab;
  for (int i = 0; i < kProbes && is_same; ++i) {
    const Token token = Token(int64_t(vocab - 1) * i / (kProbes - 1));
    std::string a, b;
    own->append_bytes(token, a, true);
    wanted->append_bytes(token, b, true);
    is_same = a == b;
  }
  if (!is_same)
    return fail(ErrorCode::kUsage,
                "--draft {}: its vocabulary is not the model's; use a smaller model of the same family",
                draft->source().path().string());
  return std::unique_ptr<DraftModel>(new DraftModel(std::move(draft)));
}

std::vector<Token> DraftModel::propose(uint64_t id, std::span<const Token> tokens, int most) {
  std::vector<Token> guesses;
  if (most <= 0) return guesses;
  State& state = states_[id];
  if (!state.sequence) state.sequence = draft_->new_sequence();
  // Guesses that were wrong go; the last token is read again if nothing new came.
  const auto known =
      std::mismatch(state.fed.begin(), state.fed.end(), tokens.begin(), tokens.end()).first - state.fed.begin();
  const size_t keep = std::min(size_t(known), tokens.size() - 1);
  state.sequence->truncate(int(keep));
  state.fed.resize(keep);
  std::span<const Token> next = tokens.subspan(keep);
  while (int(guesses.size()) < most) {
    const auto start = std::chrono::steady_clock::now();
    const auto logits = draft_->append(*state.sequence, next);
    if (!logits) break;  // its context is full
    if (next.size() == 1) {
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      seconds_a_guess_ += seconds_a_guess_ == 0 ? seconds : 0.1 * (seconds - seconds_a_guess_);
    }
    state.fed.insert(state.fed.end(), next.begin(), next.end());
    guesses.push_back(Token(std::max_element(logits->begin(), logits->end()) - logits->begin()));
    next = std::span(guesses).last(1);
  }
  return guesses;
}

}  // namespace anedvd
