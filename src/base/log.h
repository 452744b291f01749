// What the program says to a person besides its answer: one line each on stderr, never on stdout.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <fmt/core.h>

namespace anedvd {

enum class LogLevel { kError, kWarning, kInfo, kVerbose };

// Lines above this level are dropped. Set once, before threads start (`--quiet`, `--verbose`).
void set_log_level(LogLevel level);
LogLevel log_level();

// Where lines go; the default writes "anedvd: LINE\n" to stderr. Tests put their own. Set before threads start.
void set_log_sink(std::function<void(LogLevel, std::string_view)> sink);

void log_line(LogLevel level, std::string_view line);

// Work goes on, but the person should know: anedvd: WHERE: what happened; what would change it
template <class... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  if (log_level() >= LogLevel::kWarning) log_line(LogLevel::kWarning, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
void inform(fmt::format_string<Args...> format, Args&&... args) {
  if (log_level() >= LogLevel::kInfo) log_line(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
void tell_verbose(fmt::format_string<Args...> format, Args&&... args) {
  if (log_level() >= LogLevel::kVerbose) log_line(LogLevel::kVerbose, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace anedvd
