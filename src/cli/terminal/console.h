// The terminal, or the file or pipe that stands in its place: colour, width, and writing to standard output.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace anedvd {

class Args;

enum class Tone { kPlain, kBold, kDim };

// What a command needs to know about where its words go. A value: made once from the flags and the environment.
struct Console {
  bool out_is_terminal = false, err_is_terminal = false;
  bool out_color = false, err_color = false;
  int out_columns = 0;  // width of the terminal on standard output; 0: no terminal, no limit
  bool quiet = false, verbose = false;

  // Colour: --color, then NO_COLOR, then TERM=dumb, then whether it is a terminal.
  static Console from(const Args& args);
  static Console plain();  // before there are flags

  // `text` with the codes of `tone` around it where standard output (or error) shows colour.
  std::string out(Tone tone, std::string_view text) const;
  std::string err(Tone tone, std::string_view text) const;

  // One line on stderr that is no warning and no error (statistics, what a command is doing). Nothing under --quiet.
  void note(std::string_view line) const;
};

enum class Written { kAll, kReaderGone };

// Writes all bytes to a descriptor. A reader that closed its end of a pipe is no error: there is just nobody left to write for.
// Error kIo otherwise: standard output: No space left on device; the answer is not complete
Result<Written> write_all(int fd, std::string_view bytes);

// To standard output.
Result<Written> write_out(std::string_view bytes);

}  // namespace anedvd
