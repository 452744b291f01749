// A failure of the Neural Engine's framework with everything it said, and what kind of failure it is.
//
// Codes are decimal NSError codes, statuses are hexadecimal driver codes: two columns that must never be mixed (docs/ane.md#errors).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace anedvd {

constexpr std::string_view kE5Domain = "e5rt";  // of the other route, whose codes are its own

struct DriverFailure {
  std::string domain;              // NSError domain, or "anedvd" for failures of our own side of the bridge
  int code = 0;                    // NSError code
  std::optional<uint32_t> status;  // underlying driver status where one was given or stands in the text as status=0x…
  std::string text;                // localizedDescription, then the underlying error's, in the framework's words
  std::string program;             // hexadecimal id; empty before there is one
};

template <class T = void>
using DriverResult = tl::expected<T, DriverFailure>;

// What to do about a failure. One per row of the table in docs/ane.md#errors.
enum class FailureKind {
  kInvalidProgram,    // the text is not understood: try the other dialect once
  kCannotLower,       // the text is fine, this program does not fit the chip: split
  kInvalidBundle,     // Code 10: the service distrusts the files: once more with true data in the dictionary
  kNoResources,       // transient by its own words: wait and load again
  kNoMemory,          // says transient, is not: one more try
  kTooLarge,          // 0x20003, 0x20004: unload others or split
  kSurfaceTooSmall,   // 0x1d: our bug or a wrong binding
  kBadRequest,        // 0x16: our bug
  kCancelledByPower,  // 0x12 at evaluate: nothing ran; again in 3 ms
  kProcedureFailed,   // 0x2: a procedure of a bank
  kTimeout,           // hang: make the program anew once, then leave the device
  kUnavailable,       // framework, class or selector missing
  kOther,
};

FailureKind kind_of(const DriverFailure& failure);

// Whether the framework's own words call the failure passing.
bool says_transient(const DriverFailure& failure);

// One line with domain, code, status, text and program.
std::string words_of(const DriverFailure& failure);

// A failure of our own side: domain "anedvd", code 0.
DriverFailure own_failure(std::string text);

// As an Error of kDevice with `where: ` before it.
tl::unexpected<Error> fail_device(const std::string& where, const DriverFailure& failure);

}  // namespace anedvd
