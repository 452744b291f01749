// Words seen in a text and where their tokens lie in the output: text repeats itself, so most words are copies.
//
// Lives for one run of text, whose bytes it borrows. Direct-mapped, so bounded.
#pragma once

#include <algorithm>
#include <bit>
#include <string_view>
#include <vector>

#include "text/models/text_index.h"
#include "text/models/word_model.h"

namespace anedvd {

class WordCache {
 public:
  explicit WordCache(size_t text_bytes) {
    constexpr size_t kWordsAtMost = 1u << 15;
    constexpr size_t kWorthIt = 256;  // bytes of text below which few words repeat
    constexpr size_t kPairs = 1u << 14;
    constexpr size_t kPairsWorthIt = 2048;
    if (text_bytes >= kPairsWorthIt) scratch_.pairs.resize(kPairs);
    if (text_bytes >= kWorthIt) entries_.resize(std::bit_ceil(std::min(kWordsAtMost, text_bytes / 8)));
  }

  // Appends the word's tokens: copied from where `out` has them already, or from the model.
  void encode(const WordModel& model, std::string_view word, std::vector<Token>& out) {
    constexpr size_t kLongest = 128;
    if (entries_.empty() || word.size() > kLongest) return model.encode_word(word, scratch_, out);
    Entry& entry = entries_[hash_bytes(word) & (entries_.size() - 1)];
    const size_t end = out.size();
    if (entry.word == word) {
      out.insert(out.end(), entry.count, -1);  // grows by doubling, as reserve() would not
      std::copy_n(out.begin() + entry.start, entry.count, out.begin() + static_cast<std::ptrdiff_t>(end));
      return;
    }
    model.encode_word(word, scratch_, out);
    entry = {word, static_cast<uint32_t>(end), static_cast<uint32_t>(out.size() - end)};
  }

 private:
  struct Entry {
    std::string_view word;
    uint32_t start = 0, count = 0;
  };
  std::vector<Entry> entries_;
  WordScratch scratch_;
};

}  // namespace anedvd
