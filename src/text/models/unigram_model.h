// SentencePiece's unigram model: of all ways to cut a word into tokens, the one with the highest sum of scores.
#pragma once

#include <array>
#include <mutex>
#include <string_view>
#include <vector>

#include "text/models/prefix_index.h"
#include "text/models/word_model.h"
#include "text/vocabulary.h"

namespace anedvd {

class UnigramModel final : public WordModel {
 public:
  struct Options {
    Token unknown = -1;          // −1: characters without a token are left out
    bool byte_fallback = false;  // such characters become byte tokens where the vocabulary has them all
  };

  // `scores` (log probabilities) has one entry a token. The vocabulary is borrowed.
  UnigramModel(const Vocabulary& vocabulary, std::vector<double> scores, Options options);

  // Neighbouring unknown characters become one unknown token.
  void encode_word(std::string_view word, WordScratch& scratch, std::vector<Token>& out) const override;
  std::bitset<256> bytes_joined_with_spaces() const override;

 private:
  void prepare() const;
  void append_unknown(std::string_view text, bool after_unknown, std::vector<Token>& out) const;

  const Vocabulary& vocabulary_;
  std::vector<double> scores_;
  Options options_;
  mutable std::once_flag once_;
  mutable PrefixIndex index_;
  mutable std::array<Token, 256> byte_tokens_{};
  mutable double unknown_score_ = 0;
  mutable std::bitset<256> space_joins_;
};

}  // namespace anedvd
