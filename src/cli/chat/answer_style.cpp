#include "cli/chat/answer_style.h"

#include <utility>

namespace anedvd {
namespace {

constexpr size_t kMaxIndent = 32;  // blanks before a fence, as within lists
constexpr size_t kFence = 3;
constexpr size_t kMaxHeading = 6;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n'; }

}  // namespace

void AnswerStyle::emit(Tone tone, std::string_view text, std::string& out) {
  if (text.empty()) return;
  if (tone != current_) {
    if (current_ != Tone::kPlain) out += "\x1b[0m";
    if (tone == Tone::kBold) out += "\x1b[1m";
    if (tone == Tone::kDim) out += "\x1b[2m";
    if (tone == Tone::kCode) out += "\x1b[36m";
    current_ = tone;
  }
  out += text;
  before_ = text.back();
}

// The characters that begin a line, up to the one that tells what the line is. True: `c` is taken care of.
bool AnswerStyle::settle_line_start(char c, std::string& out) {
  const size_t marks = held_.find_first_not_of(' ');
  const char mark = marks == std::string::npos ? 0 : held_[marks];
  const size_t count = marks == std::string::npos ? 0 : held_.size() - marks;
  if (mark == 0) {
    const bool may_mark = c == '`' || c == '~' || (c == '#' && !in_fence_);
    if ((c == ' ' && held_.size() < kMaxIndent) || may_mark) {
      held_ += c;
      return true;
    }
  } else if (c == mark && count < (mark == '#' ? kMaxHeading : kFence)) {
    held_ += c;
    if (mark == '#' || count + 1 < kFence) return true;
    // The third mark: a fence opens, or the open one closes.
    if (!in_fence_ || fence_mark_ == mark) {
      in_fence_ = !in_fence_;
      fence_mark_ = mark;
      is_fence_line_ = true;
      at_line_start_ = false;
      emit(Tone::kDim, std::exchange(held_, {}), out);
      return true;
    }
    c = held_.back();
    held_.pop_back();
  }
  at_line_start_ = false;
  const std::string held = std::exchange(held_, {});
  if (mark == '#' && c == ' ') {
    is_heading_ = true;
    emit(Tone::kDim, held, out);
    return false;
  }
  if (in_fence_) {
    emit(Tone::kCode, held, out);
    return false;
  }
  for (const char character : held) take_in_line(character, out);
  return false;
}

// The held * or ` now that the character after them is known ('\n' at the end).
void AnswerStyle::settle_marks(char next, std::string& out) {
  const std::string held = std::exchange(held_, {});
  if (held.empty()) return;
  const Tone around = is_heading_ || is_bold_ ? Tone::kBold : Tone::kPlain;
  if (held == "`") {
    is_code_ = !is_code_;
    return emit(Tone::kDim, held, out);
  }
  if (held == "**" && is_bold_ && !is_space(before_)) {
    is_bold_ = false;
    return emit(Tone::kDim, held, out);
  }
  if (held == "**" && !is_bold_ && !is_space(next)) {
    is_bold_ = true;
    return emit(Tone::kDim, held, out);
  }
  emit(is_code_ ? Tone::kCode : around, held, out);
}

void AnswerStyle::take_in_line(char c, std::string& out) {
  if (is_fence_line_) return emit(Tone::kDim, {&c, 1}, out);
  if (in_fence_) return emit(Tone::kCode, {&c, 1}, out);
  const bool joins = held_.size() == 1 && held_[0] == c && c == '*';
  if (joins) {
    held_ += c;
    return;
  }
  settle_marks(c, out);
  if (c == '`' || (c == '*' && !is_code_)) {
    held_ = c;
    return;
  }
  emit(is_code_ ? Tone::kCode : is_heading_ || is_bold_ ? Tone::kBold : Tone::kPlain, {&c, 1}, out);
}

void AnswerStyle::take(char c, std::string& out) {
  if (c != '\n') {
    if (at_line_start_ && settle_line_start(c, out)) return;
    return take_in_line(c, out);
  }
  if (at_line_start_ && in_fence_)
    emit(Tone::kCode, std::exchange(held_, {}), out);
  else if (at_line_start_)
    emit(Tone::kPlain, std::exchange(held_, {}), out);
  else
    settle_marks('\n', out);
  emit(Tone::kPlain, "\n", out);
  at_line_start_ = true;
  is_fence_line_ = is_heading_ = is_bold_ = is_code_ = false;
}

std::string AnswerStyle::push(std::string_view text) {
  std::string out;
  for (const char c : text) take(c, out);
  return out;
}

std::string AnswerStyle::finish() {
  std::string out;
  if (at_line_start_)
    emit(in_fence_ ? Tone::kCode : Tone::kPlain, std::exchange(held_, {}), out);
  else
    settle_marks('\n', out);
  if (current_ != Tone::kPlain) out += "\x1b[0m";
  *this = {};
  return out;
}

}  // namespace anedvd
