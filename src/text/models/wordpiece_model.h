// WordPiece: of a word, the longest token first, again and again; a word that cannot be covered is one unknown token.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "text/models/word_model.h"
#include "text/vocabulary.h"

namespace anedvd {

class WordpieceModel final : public WordModel {
 public:
  struct Options {
    std::string start_prefix = {};  // before the first piece of a word in the vocabulary: "▁" in GGUF files, else ""
    std::string continuation_prefix = {};  // before the others: "##" in tokenizer.json, "" in GGUF files
    Token unknown = -1;
    size_t longest_word = 100;  // characters; a longer word is unknown (max_input_chars_per_word)
  };

  WordpieceModel(const Vocabulary& vocabulary, Options options);

  void encode_word(std::string_view word, WordScratch& scratch, std::vector<Token>& out) const override;

 private:
  const Vocabulary& vocabulary_;
  Options options_;
  size_t longest_token_;
};

}  // namespace anedvd
