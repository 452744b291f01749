// Streams an answer to standard output so that it ends with exactly one newline and cannot steer a terminal.
//
//   model: "Paris.\n" "\n"   →   stdout: "Paris." … "\n"
//
// In a pipe the bytes are the model's own, but for newlines at the very end. On a terminal, control characters other than newline and tab
// become visible text (\x1b), so no model can change the title, the colours or the clipboard.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "cli/terminal/console.h"

namespace anedvd {

class AnswerWriter {
 public:
  // decorate (may be empty): what becomes of the text, made safe already, on its way to a terminal.
  AnswerWriter(int fd, bool for_terminal, std::function<std::string(std::string_view)> decorate = {})
      : fd_(fd), for_terminal_(for_terminal), decorate_(std::move(decorate)) {}

  // `text` holds whole characters.
  Result<Written> write(std::string_view text);

  // The newline at the end, also after an empty answer. Newlines that the answer ended with are dropped.
  Result<Written> finish();

 private:
  int fd_;
  bool for_terminal_;
  std::function<std::string(std::string_view)> decorate_;
  size_t held_newlines_ = 0;  // seen at the end so far: written when other text follows
};

// `text` with everything that a terminal would obey, other than newline and tab, as visible escapes.
std::string terminal_safe(std::string_view text);

}  // namespace anedvd
