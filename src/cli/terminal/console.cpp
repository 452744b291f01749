#include "cli/terminal/console.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/args.h"

namespace anedvd {
namespace {

bool environment_allows_color() {
  // no-color.org: set to anything but the empty string means no colour.
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color && *no_color) return false;
  const char* term = std::getenv("TERM");
  return term && std::strcmp(term, "dumb") != 0;
}

std::string painted(bool color, Tone tone, std::string_view text) {
  if (!color || tone == Tone::kPlain) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", tone == Tone::kBold ? 1 : 2, text);
}

}  // namespace

Console Console::plain() {
  Console console;
  console.out_is_terminal = isatty(STDOUT_FILENO) != 0;
  console.err_is_terminal = isatty(STDERR_FILENO) != 0;
  console.out_color = console.out_is_terminal && environment_allows_color();
  console.err_color = console.err_is_terminal && environment_allows_color();
  if (console.out_is_terminal) {
    winsize size = {};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) console.out_columns = size.ws_col;
  }
  return console;
}

Console Console::from(const Args& args) {
  Console console = plain();
  const std::string when = args.text("--color").value_or("auto");
  if (when == "always") console.out_color = console.err_color = true;
  if (when == "never") console.out_color = console.err_color = false;
  console.quiet = args.given("--quiet");
  console.verbose = args.given("--verbose");
  return console;
}

std::string Console::out(Tone tone, std::string_view text) const { return painted(out_color, tone, text); }
std::string Console::err(Tone tone, std::string_view text) const { return painted(err_color, tone, text); }

void Console::note(std::string_view line) const {
  if (quiet) return;
  // A closed or full stderr must not stop the work: its words are not the answer.
  (void)write_all(STDERR_FILENO, fmt::format("{}\n", line));
}

Result<Written> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes.remove_prefix(size_t(count));
      continue;
    }
    if (errno == EINTR || errno == EAGAIN) continue;
    if (errno == EPIPE) return Written::kReaderGone;
    return fail(ErrorCode::kIo, "standard {}: {}; what was written is not complete",
                fd == STDERR_FILENO ? "error" : "output", std::strerror(errno));
  }
  return Written::kAll;
}

Result<Written> write_out(std::string_view bytes) { return write_all(STDOUT_FILENO, bytes); }

}  // namespace anedvd
