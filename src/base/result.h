// Errors as values.
//
// The outside world (files, bytes, network, devices, users) fails by returning Result; a broken invariant of our own aborts through
// ANEDVD_CHECK, in Release too. Never both for one condition. Messages follow one form, because the command line prints them as they are:
//
//   WHERE: what is wrong; what to do            model.gguf: tensor "x" ends at byte 9 but the file has 5; fetch it again
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <tl/expected.hpp>

namespace anedvd {

enum class ErrorCode {
  kUsage,        // the caller asked for something that makes no sense: exit code 2
  kNotFound,     // no such file, model, tensor
  kBadFile,      // bytes that break their format
  kUnsupported,  // well-formed, but not something anedvd does
  kIo,           // the operating system said no
  kNoMemory,     // would not fit
  kNumeric,      // NaN or infinity where a number was due
  kDevice,       // a device failed
  kCancelled,    // somebody asked to stop
  kBusy,         // no room for another request now: ask again later
};

struct Error {
  ErrorCode code;
  std::string message;
};

template <class T = void>
using Result = tl::expected<T, Error>;

// Makes the error half of a Result: return fail(ErrorCode::kBadFile, "{}: cut short", path);
template <class... Args>
tl::unexpected<Error> fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(Error{code, fmt::format(format, std::forward<Args>(args)...)});
}

// The same error with `where: ` put before its message.
tl::unexpected<Error> fail_in(std::string_view where, Error error);

// Prints the broken invariant and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const std::string& message);

}  // namespace anedvd

#define ANEDVD_CONCAT2(a, b) a##b
#define ANEDVD_CONCAT(a, b) ANEDVD_CONCAT2(a, b)

// ANEDVD_TRY(auto map, MappedFile::open(path)): declares `map` from the value, or returns the error.
#define ANEDVD_TRY(declaration, expression)                                                                          \
  auto ANEDVD_CONCAT(result_, __LINE__) = (expression);                                                              \
  if (!ANEDVD_CONCAT(result_, __LINE__)) return tl::unexpected(std::move(ANEDVD_CONCAT(result_, __LINE__)).error()); \
  declaration = std::move(*ANEDVD_CONCAT(result_, __LINE__))

// ANEDVD_TRY_VOID(write(x)): returns the error of a Result<>.
#define ANEDVD_TRY_VOID(expression) \
  if (auto anedvd_result = (expression); !anedvd_result) return tl::unexpected(std::move(anedvd_result).error())

// Our own invariant: aborts with file, line and the formatted message when it does not hold.
#define ANEDVD_CHECK(condition, ...) \
  ((condition) ? void(0) : ::anedvd::check_failed(__FILE__, __LINE__, #condition, fmt::format(__VA_ARGS__)))
