// Tells a model's thinking from its answer while both stream by.
//
//   "<think>\nTwo and two…\n</think>\n\nFour."   →   reasoning "Two and two…", text "Four."
//
// Held back: only what might become one of the marks, and white space that may turn out to stand around them.
#pragma once

#include <string>
#include <string_view>

namespace anedvd {

class ReasoningSplitter {
 public:
  struct Parts {
    std::string text, reasoning;
  };

  // `is_open`: the prompt ended behind the opening mark. `is_on` false: everything is text, marks too.
  explicit ReasoningSplitter(bool is_on = false, bool is_open = false)
      : state_(!is_on    ? State::kText
               : is_open ? State::kThinking
                         : State::kStart),
        skip_space_(is_on) {}

  Parts push(std::string_view text);
  Parts finish();  // the end: what was held back

  bool is_thinking() const { return state_ == State::kThinking; }

 private:
  enum class State { kStart, kThinking, kText };

  void take(Parts& parts, bool is_end);
  void take_thinking(Parts& parts, bool is_end);

  State state_;
  bool skip_space_;  // white space at the beginning of this part is not its own
  std::string held_;
};

// The rendered prompt ends inside an opened thinking part.
bool opens_thinking(std::string_view prompt);

}  // namespace anedvd
