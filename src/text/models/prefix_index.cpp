#include "text/models/prefix_index.h"

namespace anedvd {

PrefixIndex::PrefixIndex(std::vector<Entry> entries) : entries_(std::move(entries)) {
  std::erase_if(entries_, [](const Entry& entry) { return entry.text.empty(); });
  std::ranges::stable_sort(entries_, {}, &Entry::text);
  const auto same_text = [](const Entry& a, const Entry& b) { return a.text == b.text; };
  entries_.erase(std::unique(entries_.begin(), entries_.end(), same_text), entries_.end());
  for (const Entry& entry : entries_) ++first_byte_[static_cast<unsigned char>(entry.text.front()) + 1];
  for (size_t byte = 1; byte < first_byte_.size(); ++byte) first_byte_[byte] += first_byte_[byte - 1];
}

}  // namespace anedvd
