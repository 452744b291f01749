#include "base/log.h"

#include <cstdio>

namespace anedvd {
namespace {

void write_to_stderr(LogLevel, std::string_view line) {
  // One write a line, so that lines of several threads do not mix.
  const std::string text = fmt::format("anedvd: {}\n", line);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

LogLevel current_level = LogLevel::kInfo;
std::function<void(LogLevel, std::string_view)> current_sink = write_to_stderr;

}  // namespace

void set_log_level(LogLevel level) { current_level = level; }
LogLevel log_level() { return current_level; }
void set_log_sink(std::function<void(LogLevel, std::string_view)> sink) {
  current_sink = sink ? std::move(sink) : write_to_stderr;
}
void log_line(LogLevel level, std::string_view line) { current_sink(level, line); }

}  // namespace anedvd
