#include "text/special_matcher.h"

#include <algorithm>

namespace anedvd {

SpecialMatcher::SpecialMatcher(std::vector<Entry> entries) : entries_(std::move(entries)) {
  std::erase_if(entries_, [](const Entry& entry) { return entry.text.empty(); });
  std::ranges::stable_sort(entries_, {}, &Entry::text);
  const auto repeated = std::ranges::unique(entries_, {}, &Entry::text);
  entries_.erase(repeated.begin(), repeated.end());
  for (const Entry& entry : entries_) ++first_byte_[static_cast<unsigned char>(entry.text.front()) + 1];
  for (size_t byte = 1; byte < first_byte_.size(); ++byte) first_byte_[byte] += first_byte_[byte - 1];
}

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
    if (const Entry* entry = longest_at(text, at)) return {at, at + entry->text.size(), entry->token};
  }
  return {std::string_view::npos, std::string_view::npos, -1};
}

}  // namespace anedvd
