#include "ane/driver_failure.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string_view>

namespace anedvd {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// The hexadecimal number after the first "status=0x" or, failing that, "(0x".
std::optional<uint32_t> status_in(const std::string& text) {
  for (const std::string_view mark : {"status=0x", "(0x"}) {
    const size_t at = text.find(mark);
    if (at == std::string::npos) continue;
    const char* digits = text.c_str() + at + mark.size();
    char* end = nullptr;
    const unsigned long value = std::strtoul(digits, &end, 16);
    if (end != digits && value <= 0xffffffffUL) return uint32_t(value);
  }
  return std::nullopt;
}

constexpr std::string_view kCompilerDomain = "com.apple.appleneuralengine.compiler";

// By driver status, for failures of load and evaluate (docs/ane.md#errors).
std::optional<FailureKind> kind_by_status(uint32_t status) {
  switch (status) {
    case 0x1d: return FailureKind::kSurfaceTooSmall;
    case 0x12: return FailureKind::kCancelledByPower;
    case 0x16: return FailureKind::kBadRequest;
    case 0x0f: return FailureKind::kTimeout;
    case 0x20003:
    case 0x20004: return FailureKind::kTooLarge;
    default: return std::nullopt;
  }
}

FailureKind compiler_kind(const DriverFailure& failure) {
  return contains(failure.text, "InvalidMILProgram") ? FailureKind::kInvalidProgram : FailureKind::kCannotLower;
}

}  // namespace

FailureKind kind_of(const DriverFailure& failure) {
  if (failure.domain == "anedvd") return FailureKind::kUnavailable;
  if (failure.domain == kCompilerDomain && failure.code == 1) return compiler_kind(failure);
  // 11: the compiler's one word for all that it refuses; −14: too large.
  if (failure.domain == kE5Domain)
    return failure.code == 11 || failure.code == -14 ? FailureKind::kCannotLower : FailureKind::kOther;
  switch (failure.code) {
    case 10: return FailureKind::kInvalidBundle;
    case 53: return FailureKind::kNoMemory;
    case 54: return FailureKind::kNoResources;
    case 42: return FailureKind::kSurfaceTooSmall;
    case 3: return FailureKind::kTimeout;
    default: break;
  }
  const std::optional<uint32_t> status = failure.status ? failure.status : status_in(failure.text);
  if (failure.code == 8 && status == 0x2u) return FailureKind::kProcedureFailed;
  if (status)
    if (const auto kind = kind_by_status(*status)) return *kind;
  if (contains(failure.text, "InvalidMILProgram")) return FailureKind::kInvalidProgram;
  if (contains(failure.text, "CompilationFailure")) return FailureKind::kCannotLower;
  if (says_transient(failure)) return FailureKind::kNoResources;
  return FailureKind::kOther;
}

bool says_transient(const DriverFailure& failure) { return contains(failure.text, "transient"); }

std::string words_of(const DriverFailure& failure) {
  std::string words =
      failure.domain == "anedvd" ? failure.text : fmt::format("{} code {}", failure.domain, failure.code);
  if (failure.domain != "anedvd") {
    if (failure.status) words += fmt::format(" status {:#x}", *failure.status);
    words += ": " + failure.text;
  }
  if (!failure.program.empty()) words += fmt::format(" (program {})", failure.program.substr(0, 16));
  // The framework's texts span lines; an error of ours is one.
  std::replace_if(
      words.begin(), words.end(), [](unsigned char c) { return std::iscntrl(c) != 0; }, ' ');
  return words;
}

DriverFailure own_failure(std::string text) {
  DriverFailure failure;
  failure.domain = "anedvd";
  failure.text = std::move(text);
  return failure;
}

tl::unexpected<Error> fail_device(const std::string& where, const DriverFailure& failure) {
  return fail(ErrorCode::kDevice, "{}: {}", where, words_of(failure));
}

}  // namespace anedvd
