#include "text/special_matcher.h"

#include <algorithm>

#include "text/unicode.h"

namespace anedvd {

SpecialMatcher::SpecialMatcher(std::vector<Entry> entries) : entries_(std::move(entries)) {
  std::erase_if(entries_, [](const Entry& entry) { return entry.text.empty(); });
  std::ranges::stable_sort(entries_, {}, &Entry::text);
  const auto repeated = std::ranges::unique(entries_, {}, &Entry::text);
  entries_.erase(repeated.begin(), repeated.end());
  for (const Entry& entry : entries_) ++first_byte_[static_cast<unsigned char>(entry.text.front()) + 1];
  for (size_t byte = 1; byte < first_byte_.size(); ++byte) first_byte_[byte] += first_byte_[byte - 1];
}

namespace {

constexpr ClassMask kWord = kLetter | kNumber | kMark | kConnector;

// The character that ends at byte `at`.
Char char_before(std::string_view text, size_t at) {
  for (size_t back = 1; back <= 4 && back <= at; ++back) {
    const Char c = char_at(text, at - back);
    if (c.bytes == back) return c;
  }
  return {};
}

bool stands_alone(std::string_view text, size_t start, size_t end) {
  return ((char_before(text, start).classes | char_at(text, end).classes) & kWord) == 0;
}

}  // namespace

const SpecialMatcher::Entry* SpecialMatcher::longest_at(std::string_view text, size_t at) const {
  const auto first = static_cast<unsigned char>(text[at]);
  const Entry* begin = entries_.data() + first_byte_[first];
  const Entry* end = entries_.data() + first_byte_[first + 1];
  const Entry* longest = nullptr;
  // All entries in [begin, end) agree with the text in `depth` bytes.
  for (size_t depth = 1; begin != end; ++depth) {
    if (begin->text.size() == depth) longest = begin++;
    if (at + depth >= text.size()) break;
    const auto byte = static_cast<unsigned char>(text[at + depth]);
    const auto byte_of = [depth](const Entry& entry) { return static_cast<unsigned char>(entry.text[depth]); };
    begin = std::ranges::lower_bound(begin, end, byte, {}, byte_of);
    end = std::ranges::upper_bound(begin, end, byte, {}, byte_of);
  }
  return longest;
}

SpecialMatcher::Match SpecialMatcher::find(std::string_view text, size_t from) const {
  for (size_t at = from; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (first_byte_[byte] == first_byte_[byte + 1u]) continue;
    const Entry* entry = longest_at(text, at);
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
