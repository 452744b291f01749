#include "engine/answer_text.h"

namespace anedvd {

TextDelta AnswerText::push(TokenRecord record) {
  std::string bytes;
  tokenizer_->append_bytes(record.token, bytes, emit_control_);
  if (drop_first_space_ && !bytes.empty()) {
    drop_first_space_ = false;
    if (bytes[0] == ' ') bytes.erase(0, 1);
  }
  const std::string text = characters_.push(bytes);
  held_.push_back({std::move(record), taken_, -1});
  taken_ += int64_t(text.size());
  if (!characters_.holds())
    for (Held& held : held_)
      if (held.end < 0) held.end = taken_;
  return release(stops_.push(text), false);
}

TextDelta AnswerText::finish() {
  const std::string rest = characters_.finish();
  taken_ += int64_t(rest.size());
  for (Held& held : held_)
    if (held.end < 0) held.end = taken_;
  std::string text = stops_.push(rest);
  text += stops_.finish();
  return release(std::move(text), !stops_.found());
}

TextDelta AnswerText::release(std::string text, bool all) {
  TextDelta delta;
  emitted_ += int64_t(text.size());
  delta.text = std::move(text);
  while (!held_.empty()) {
    const Held& held = held_.front();
    const bool complete = held.end >= 0 && held.end <= emitted_;
    const bool cut =
        stops_.found() && held.begin < emitted_;  // its head is in the text, the rest is in the stop string
    if (!complete && !cut && !all) break;
    delta.tokens.push_back(std::move(held_.front().record));
    held_.pop_front();
  }
  return delta;
}

}  // namespace anedvd
