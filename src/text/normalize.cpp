#include "text/normalize.h"

#include <cstdlib>
#include <memory>

#include <utf8proc.h>

#include "text/unicode.h"

namespace anedvd {
namespace {

// Appends the form of a stretch of well-formed UTF-8.
void append_normal(std::string_view text, NormalForm form, std::string& out) {
  int options = UTF8PROC_STABLE;
  const bool composed = form == NormalForm::kNfc || form == NormalForm::kNfkc;
  options |= composed ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (form == NormalForm::kNfkc || form == NormalForm::kNfkd) options |= UTF8PROC_COMPAT;
  utf8proc_uint8_t* mapped = nullptr;
  const auto length =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                   &mapped, static_cast<utf8proc_option_t>(options));
  const std::unique_ptr<utf8proc_uint8_t, void (*)(void*)> owner(mapped, &std::free);
  if (length < 0) {
    out.append(text);
    return;
  }
  out.append(reinterpret_cast<const char*>(mapped), static_cast<size_t>(length));
}

}  // namespace

bool surely_normal(std::string_view text, NormalForm form) {
  // Below U+0300 nothing combines with what precedes it, and composed forms hold no other change there; the decomposed and the
  // compatibility forms change characters from U+00A0 on.
  const bool nfc = form == NormalForm::kNfc;
  for (size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte >= (nfc ? 0xCC : 0x80)) return false;  // U+0300 is CC 80
  }
  return true;
}

std::string normalize(std::string_view text, NormalForm form) {
  std::string out;
  out.reserve(text.size());
  size_t start = 0;
  for (size_t at = 0; at < text.size();) {
    const uint32_t length = utf8_length(text, at);
    if (length > 0) {
      at += length;
      continue;
    }
    if (at > start) append_normal(text.substr(start, at - start), form, out);
    out.push_back(text[at]);
    start = ++at;
  }
  if (start < text.size()) append_normal(text.substr(start), form, out);
  return out;
}

}  // namespace anedvd
