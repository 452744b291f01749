// Texts by their beginnings: which of them start at a place in a longer text.
//
// One sorted list; a search narrows a range of it byte by byte. Nothing has to be built besides the sorting, and a search costs at most
// the length of the longest text.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace anedvd {

class PrefixIndex {
 public:
  struct Entry {
    std::string_view text;
    uint32_t value = 0;
  };

  PrefixIndex() = default;
  // Borrows the texts. Empty texts are ignored; of equal texts the first counts.
  explicit PrefixIndex(std::vector<Entry> entries);

  bool empty() const { return entries_.empty(); }

  // True if any text starts with this byte.
  bool may_start(char byte) const {
    const auto index = static_cast<unsigned char>(byte);
    return first_byte_[index] != first_byte_[index + 1u];
  }

  // Calls found(entry) for each entry that `text` has at byte `at`, shortest first.
  template <class Found>
  void for_each(std::string_view text, size_t at, Found&& found) const {
    if (at >= text.size()) return;
    const auto first = static_cast<unsigned char>(text[at]);
    const Entry* begin = entries_.data() + first_byte_[first];
    const Entry* end = entries_.data() + first_byte_[first + 1u];
    // All entries in [begin, end) agree with the text in `depth` bytes.
    for (size_t depth = 1; begin != end; ++depth) {
      if (begin->text.size() == depth) found(*begin++);
      if (at + depth >= text.size()) return;
      const auto byte = static_cast<unsigned char>(text[at + depth]);
      const auto byte_of = [depth](const Entry& entry) { return static_cast<unsigned char>(entry.text[depth]); };
      begin = std::ranges::lower_bound(begin, end, byte, {}, byte_of);
      end = std::ranges::upper_bound(begin, end, byte, {}, byte_of);
    }
  }

 private:
  std::vector<Entry> entries_;                 // sorted by text
  std::array<uint32_t, 257> first_byte_ = {};  // entries that start with byte b: [first_byte_[b], first_byte_[b + 1])
};

}  // namespace anedvd
