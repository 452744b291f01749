#include "cli/terminal/answer_writer.h"

#include <limits>

#include "base/words.h"

namespace anedvd {

std::string terminal_safe(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of("\n\t"), text.size());
    out += visible(text.substr(0, end), std::numeric_limits<size_t>::max());
    if (end < text.size()) out += text[end];
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

Result<Written> AnswerWriter::write(std::string_view text) {
  const size_t last = text.find_last_not_of('\n');
  if (last == std::string_view::npos) {
    held_newlines_ += text.size();
    return Written::kAll;
  }
  std::string out(held_newlines_, '\n');
  held_newlines_ = text.size() - last - 1;
  const std::string_view body = text.substr(0, last + 1);
  out += for_terminal_ ? terminal_safe(body) : std::string(body);
  return write_all(fd_, decorate_ ? decorate_(out) : out);
}

Result<Written> AnswerWriter::finish() {
  held_newlines_ = 0;
  return write_all(fd_, "\n");
}

}  // namespace anedvd
