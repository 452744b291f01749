#include "text/hf/base64.h"

#include <cstdint>

namespace anedvd {
namespace {

int sextet(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

}  // namespace

std::optional<std::string> decode_base64(std::string_view text) {
  std::string out;
  uint32_t held = 0;
  int bits = 0;
  size_t characters = 0;
  for (const char c : text) {
    if (c == '=' || c == '\n' || c == '\r' || c == ' ') continue;
    const int value = sextet(c);
    if (value < 0) return std::nullopt;
    held = (held << 6 | static_cast<uint32_t>(value)) & 0xFFFFFFu;
    bits += 6;
    ++characters;
    if (bits >= 8) {
      bits -= 8;
      out.push_back(static_cast<char>(held >> bits & 0xFFu));
    }
  }
  if (characters % 4 == 1) return std::nullopt;
  return out;
}

}  // namespace anedvd
