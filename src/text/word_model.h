// Turns one word (what a pre-tokenizer or a space rule cut off) into tokens.
#pragma once

#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace anedvd {

class WordModel {
 public:
  virtual ~WordModel() = default;

  // Appends the word's tokens. Control tokens never come out of text. Safe for several threads; the first call builds tables.
  virtual void encode_word(std::string_view word, std::vector<Token>& out) const = 0;

  // True if no token reaches across a space (▁) that follows another character, so that the text may be cut there without changing a
  // token. Known from the vocabulary.
  virtual bool may_cut_at_spaces() const { return false; }
};

}  // namespace anedvd
