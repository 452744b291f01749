#include "text/models/charsmap.h"

#include <cstring>

#include "text/unicode.h"

namespace anedvd {
namespace {

uint32_t offset_of(uint32_t unit) { return (unit >> 10) << ((unit & 1u << 9) >> 6); }
uint32_t label_of(uint32_t unit) { return unit & (1u << 31 | 0xFFu); }
bool has_value(uint32_t unit) { return (unit >> 8 & 1u) != 0; }
uint32_t value_of(uint32_t unit) { return unit & 0x7FFFFFFFu; }

}  // namespace

Result<Charsmap> Charsmap::parse(std::string bytes, std::string_view where) {
  Charsmap map;
  if (bytes.empty()) return map;
  uint32_t trie_bytes = 0;
  if (bytes.size() < sizeof trie_bytes)
    return fail(ErrorCode::kBadFile, "{}: precompiled_charsmap is cut short", where);
  std::memcpy(&trie_bytes, bytes.data(), sizeof trie_bytes);
  if (trie_bytes % sizeof(uint32_t) != 0 || trie_bytes > bytes.size() - sizeof trie_bytes) {
    return fail(ErrorCode::kBadFile, "{}: precompiled_charsmap states a table of {} bytes but has {}", where,
                trie_bytes, bytes.size());
  }
  map.units_.resize(trie_bytes / sizeof(uint32_t));
  if (trie_bytes > 0) std::memcpy(map.units_.data(), bytes.data() + sizeof trie_bytes, trie_bytes);
  map.texts_ = bytes.substr(sizeof trie_bytes + trie_bytes);
  if (!map.texts_.empty() && map.texts_.back() != '\0') {
    return fail(ErrorCode::kBadFile, "{}: precompiled_charsmap ends inside a replacement", where);
  }
  return map;
}

Charsmap::Replacement Charsmap::find(std::string_view text, size_t at) const {
  Replacement longest;
  if (units_.empty()) return longest;
  // Offsets come from the file: every step checks that it stays inside.
  size_t node = offset_of(units_[0]);
  for (size_t i = at; i < text.size() && text[i] != '\0'; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    node ^= byte;
    if (node >= units_.size() || label_of(units_[node]) != byte) break;
    const uint32_t unit = units_[node];
    node ^= offset_of(unit);
    if (!has_value(unit)) continue;
    if (node >= units_.size()) break;
    const uint32_t start = value_of(units_[node]);
    if (start >= texts_.size()) break;
    longest = {i + 1 - at, std::string_view(texts_.c_str() + start)};
  }
  return longest;
}

std::string Charsmap::apply(std::string_view text) const {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Replacement replacement = find(text, at);
    if (replacement.length > 0) {
      out.append(replacement.text);
      at += replacement.length;
      continue;
    }
    const Char c = char_at(text, at);
    out.append(c.classes & kBroken ? std::string_view("\xEF\xBF\xBD") : text.substr(at, c.bytes));
    at += c.bytes;
  }
  return out;
}

}  // namespace anedvd
