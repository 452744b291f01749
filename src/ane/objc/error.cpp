#include "ane/objc/error.h"

#include <charconv>

#include "ane/objc/foundation.h"

namespace anedvd::objc {
namespace {

// Up to macOS 26 the driver's status stands only in the text: "… Failed with status=0x1d : statusType=0x9".
std::optional<uint32_t> status_in(std::string_view text) {
  constexpr std::string_view kMark = "status=0x";
  const size_t at = text.find(kMark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view digits = text.substr(at + kMark.size());
  uint32_t value = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (problem != std::errc()) return std::nullopt;
  return value;
}

void append_text(std::string& text, Id error) {
  const auto words = text_of(send<NSString*>(error, "localizedDescription"));
  if (!words || words->empty() || text.find(*words) != std::string::npos) return;
  if (!text.empty()) text += "; ";
  text += *words;
}

}  // namespace

DriverFailure failure_of(NSError* error, const char* what, const std::string& program) {
  DriverFailure out;
  out.program = program;
  if (!is_kind(error, "NSError")) {
    out = own_failure(fmt::format("{} failed and gave no reason", what));
    out.program = program;
    return out;
  }
  out.domain = text_of(send<NSString*>(error, "domain")).value_or("");
  out.code = int(send<NSInteger>(error, "code"));
  append_text(out.text, error);
  Id details = send<Id>(error, "userInfo");
  // The underlying error is one level deep in every report that was published.
  if (Id underlying = value_of(details, "NSUnderlyingError"); is_kind(underlying, "NSError"))
    append_text(out.text, underlying);
  if (const auto status = number_at(details, "_ANEErrorUnderlyingStatus"))
    out.status = uint32_t(*status);
  else
    out.status = status_in(out.text);
  return out;
}

}  // namespace anedvd::objc
