#include "api/generation/reasoning.h"

#include <algorithm>

namespace anedvd {
namespace {

constexpr std::string_view kOpen = "<think>", kClose = "</think>";
constexpr std::string_view kSpace = " \t\r\n";

// Length of the longest end of `text` that is a beginning of `mark`.
size_t begun(std::string_view text, std::string_view mark) {
  for (size_t length = std::min(text.size(), mark.size() - 1); length > 0; --length)
    if (text.ends_with(mark.substr(0, length))) return length;
  return 0;
}

size_t end_without_space(std::string_view text) {
  const size_t last = text.find_last_not_of(kSpace);
  return last == std::string_view::npos ? 0 : last + 1;
}

}  // namespace

ReasoningSplitter::Parts ReasoningSplitter::push(std::string_view text) {
  Parts parts;
  held_ += text;
  take(parts, false);
  return parts;
}

ReasoningSplitter::Parts ReasoningSplitter::finish() {
  Parts parts;
  take(parts, true);
  return parts;
}

void ReasoningSplitter::take(Parts& parts, bool is_end) {
  if (state_ == State::kStart) {
    const size_t first = held_.find_first_not_of(kSpace);
    const std::string_view rest =
        first == std::string::npos ? std::string_view() : std::string_view(held_).substr(first);
    if (rest.starts_with(kOpen)) {
      held_.erase(0, first + kOpen.size());
      state_ = State::kThinking;
    } else if (!is_end && kOpen.starts_with(rest)) {
      return;  // may still become the mark
    } else {
      state_ = State::kText;
      skip_space_ = false;  // an answer without thinking is left as it is
    }
  }
  if (state_ == State::kThinking) take_thinking(parts, is_end);
  if (state_ != State::kText) return;
  if (skip_space_) {
    const size_t first = held_.find_first_not_of(kSpace);
    held_.erase(0, std::min(first, held_.size()));
    if (held_.empty()) return;
    skip_space_ = false;
  }
  parts.text += held_;
  held_.clear();
}

void ReasoningSplitter::take_thinking(Parts& parts, bool is_end) {
  if (skip_space_) {
    held_.erase(0, std::min(held_.find_first_not_of(kSpace), held_.size()));
    if (held_.empty()) return;
    skip_space_ = false;
  }
  const size_t close = held_.find(kClose);
  size_t final_end = close;
  if (close == std::string::npos) final_end = is_end ? held_.size() : held_.size() - begun(held_, kClose);
  const std::string_view thought = std::string_view(held_).substr(0, final_end);
  const size_t kept = end_without_space(thought);
  parts.reasoning += thought.substr(0, kept);
  if (close == std::string::npos) {
    held_.erase(0, is_end ? held_.size() : kept);
    return;
  }
  held_.erase(0, close + kClose.size());
  state_ = State::kText;
  skip_space_ = true;
}

bool opens_thinking(std::string_view prompt) { return prompt.substr(0, end_without_space(prompt)).ends_with(kOpen); }

}  // namespace anedvd
