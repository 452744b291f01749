// Turns one word (what a pre-tokenizer or a space rule cut off) into tokens.
#pragma once

#include <bitset>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/models/merge_symbols.h"
#include "text/tokenizer.h"

namespace anedvd {

// What a model remembers between the words of one text: pairs of tokens and what they merge into. Direct-mapped; may be empty.
struct WordScratch {
  struct Pair {
    uint64_t tokens = UINT64_MAX;  // left << 32 | right
    Joined<Token> joined;
  };
  std::vector<Pair> pairs;  // a power of two of them
};

class WordModel {
 public:
  virtual ~WordModel() = default;

  // Appends the word's tokens. Control tokens never come out of text. Safe for several threads, each with a scratch of its own; the first
  // call builds tables.
  virtual void encode_word(std::string_view word, WordScratch& scratch, std::vector<Token>& out) const = 0;

  // Bytes that some token has right before a ▁. Between any other byte and a ▁ a text may be cut without changing a token, because no token
  // reaches across; a ▁ after a ▁ is not such a place.
  virtual std::bitset<256> bytes_joined_with_spaces() const { return std::bitset<256>().set(); }
};

}  // namespace anedvd
