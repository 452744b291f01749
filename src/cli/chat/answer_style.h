// The look of an answer on a terminal: the model's text as it is, with its Markdown marks kept and dimmed. Pure; text in pieces.
//
//   "# Title"  whole line bold        "**word**"  bold, its marks dim        "`x`" and fenced lines  another tone
//
// Nothing is moved, wrapped or left out, so what is selected on the screen is what the model wrote. A style ends with its line at the latest.
// At most three characters are held back, until it is clear what they are.
#pragma once

#include <string>
#include <string_view>

namespace anedvd {

class AnswerStyle {
 public:
  // More of the answer (without escapes of its own), as it goes to the terminal.
  std::string push(std::string_view text);

  // The end of the answer: what was held back, and the plain style again.
  std::string finish();

 private:
  enum class Tone { kPlain, kBold, kCode, kDim };

  void take(char c, std::string& out);
  void take_in_line(char c, std::string& out);
  bool settle_line_start(char c, std::string& out);
  void settle_marks(char next, std::string& out);
  void emit(Tone tone, std::string_view text, std::string& out);

  Tone current_ = Tone::kPlain;  // what the terminal was told
  std::string held_;             // at a line's start: blanks, # or fence marks; elsewhere: * or `
  bool at_line_start_ = true;
  bool in_fence_ = false;
  char fence_mark_ = 0;
  bool is_fence_line_ = false, is_heading_ = false, is_bold_ = false, is_code_ = false;
  char before_ = '\n';  // the last character that went out
};

}  // namespace anedvd
