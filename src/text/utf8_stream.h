// Joins token bytes to text that never ends inside a character, for streaming.
//
//   stream.push("\xe2\x82") → ""      stream.push("\xac!") → "€!"
//
// Bytes that can no longer become a character come out as U+FFFD, one for each maximal broken part (Unicode §3.9, as browsers do).
#pragma once

#include <string>
#include <string_view>

namespace anedvd {

class Utf8Stream {
 public:
  // Takes more bytes, returns the text that is now complete (well-formed UTF-8).
  std::string push(std::string_view bytes);

  // The end: what was held back, as U+FFFD if it is incomplete.
  std::string finish();

  // Whether a character is half there.
  bool holds() const { return !held_.empty(); }

 private:
  std::string held_;  // at most three bytes: the start of a character
};

}  // namespace anedvd
