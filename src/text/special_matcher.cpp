#include "text/special_matcher.h"

#include <algorithm>

#include "text/unicode.h"

namespace anedvd {

namespace {

// \w: letters, marks, decimal digits, letter numbers (Ⅷ) and connectors, but no other numbers (½).
constexpr ClassMask kWord = kLetter | kMark | kDecimal | kLetterNumber | kConnector;

// The character that ends at byte `at`.
Char char_before(std::string_view text, size_t at) {
  // From the longest: the last byte of a longer character would pass for a broken one.
  for (size_t back = std::min<size_t>(4, at); back > 0; --back) {
    const Char c = char_at(text, at - back);
    if (c.bytes == back) return c;
  }
  return {};
}

bool stands_alone(std::string_view text, size_t start, size_t end) {
  return ((char_before(text, start).classes | char_at(text, end).classes) & kWord) == 0;
}

}  // namespace

SpecialMatcher::SpecialMatcher(std::vector<Entry> entries) : entries_(std::move(entries)) {
  std::vector<PrefixIndex::Entry> texts;
  for (size_t i = 0; i < entries_.size(); ++i) texts.push_back({entries_[i].text, static_cast<uint32_t>(i)});
  index_ = PrefixIndex(std::move(texts));
}

SpecialMatcher::Match SpecialMatcher::find(std::string_view text, size_t from) const {
  for (size_t at = from; at < text.size(); ++at) {
    if (!index_.may_start(text[at])) continue;
    const Entry* entry = nullptr;
    index_.for_each(text, at, [&](const PrefixIndex::Entry& found) { entry = &entries_[found.value]; });
    if (entry == nullptr) continue;
    Match match{at, at + entry->text.size(), entry->token};
    if (entry->single_word && !stands_alone(text, match.start, match.end)) {
      at = match.end - 1;
      continue;
    }
    if (entry->strips_left) {
      for (Char c = char_before(text, match.start); match.start >= from + c.bytes && c.classes & kSpace;
           c = char_before(text, match.start)) {
        match.start -= c.bytes;
      }
    }
    if (entry->strips_right) {
      for (Char c = char_at(text, match.end); c.classes & kSpace; c = char_at(text, match.end)) match.end += c.bytes;
    }
    return match;
  }
  return {std::string_view::npos, std::string_view::npos, -1};
}

}  // namespace anedvd
