// Cuts a text with ▁ for spaces into words that can be turned into tokens one by one, where the vocabulary allows it.
#pragma once

#include <bitset>
#include <string_view>

#include "text/models/word_model.h"

namespace anedvd {

class SpaceCutter {
 public:
  explicit SpaceCutter(const WordModel& model) : joined_(model.bytes_joined_with_spaces()) {}

  // Calls word(part) for each part: cut before each ▁ that follows a byte which no token joins with it.
  template <class Word>
  void cut(std::string_view text, Word&& word) const {
    if (joined_.all()) return word(text);
    for (size_t at = 0; at < text.size();) {
      const size_t end = word_end(text, at);
      word(text.substr(at, end - at));
      at = end;
    }
  }

 private:
  static constexpr std::string_view kMark = "▁";

  size_t word_end(std::string_view text, size_t from) const {
    size_t at = from;
    while (text.substr(at).starts_with(kMark)) at += kMark.size();
    for (at = text.find(kMark, at); at != std::string_view::npos; at = text.find(kMark, at + kMark.size())) {
      if (!text.substr(0, at).ends_with(kMark) && !joined_[static_cast<unsigned char>(text[at - 1])]) return at;
    }
    return text.size();
  }

  std::bitset<256> joined_;
};

}  // namespace anedvd
