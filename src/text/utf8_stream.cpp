#include "text/utf8_stream.h"

#include "text/unicode.h"

namespace anedvd {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// How many bytes from `at` could still begin a character (the maximal subpart of Unicode §3.9), at least 1.
// `may_grow`: more bytes could complete it, because the text ends inside it.
size_t subpart_length(std::string_view text, size_t at, bool& may_grow) {
  const auto first = static_cast<unsigned char>(text[at]);
  const size_t whole = first < 0xC2 || first > 0xF4 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  may_grow = false;
  // A start is viable if some continuation makes it well-formed: fill up with the bytes that are always allowed in third and fourth
  // place; only the second byte's range depends on the first.
  for (size_t length = 1; length < whole; ++length) {
    if (at + length == text.size()) {
      may_grow = true;
      return length;
    }
    std::string trial(text.substr(at, length + 1));
    trial.append(whole - length - 1, '\x80');
    if (utf8_length(trial, 0) == 0) return length;
  }
  return whole;
}

}  // namespace

std::string Utf8Stream::push(std::string_view bytes) {
  std::string text = std::move(held_);
  text.append(bytes);
  held_.clear();
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    if (const uint32_t length = utf8_length(text, at)) {
      out.append(text, at, length);
      at += length;
      continue;
    }
    bool may_grow = false;
    const size_t length = subpart_length(text, at, may_grow);
    if (may_grow) {
      held_ = text.substr(at);
      break;
    }
    out.append(kReplacement);
    at += length;
  }
  return out;
}

std::string Utf8Stream::finish() {
  // What is held is one maximal subpart, so it is one replacement character.
  std::string out(held_.empty() ? std::string_view() : kReplacement);
  held_.clear();
  return out;
}

}  // namespace anedvd
