// One answer's way from tokens to text: bytes to whole characters, nothing of a stop string, and each token's record with the text that it ends.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "engine/request.h"
#include "engine/stop_matcher.h"
#include "text/tokenizer.h"
#include "text/utf8_stream.h"

namespace anedvd {

class AnswerText {
 public:
  // Tokenizer and stop strings outlive it.
  AnswerText(const Tokenizer& tokenizer, std::span<const std::string> stops, bool emit_control, bool drop_first_space)
      : tokenizer_(&tokenizer), stops_(stops), emit_control_(emit_control), drop_first_space_(drop_first_space) {}

  // Takes the next token; returns what became final.
  TextDelta push(TokenRecord record);

  // The answer ended: what was held back, unless a stop string ends it.
  TextDelta finish();

  bool stopped() const { return stops_.found(); }
  const std::string& stop() const { return stops_.stop(); }

 private:
  // A record and where its text begins and ends, in bytes of the answer; end −1: its last character is not complete.
  struct Held {
    TokenRecord record;
    int64_t begin = 0, end = -1;
  };
  TextDelta release(std::string text, bool all);

  const Tokenizer* tokenizer_;
  Utf8Stream characters_;
  StopMatcher stops_;
  bool emit_control_;
  bool drop_first_space_;  // still to be done
  std::deque<Held> held_;
  int64_t taken_ = 0, emitted_ = 0;  // bytes of whole characters
};

}  // namespace anedvd
