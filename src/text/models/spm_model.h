// SentencePiece's BPE: of all neighbouring pieces whose joined text is a token, the pair with the highest score is joined first.
//
// Characters that no token stands for become byte tokens <0xXX>, or the unknown token where the vocabulary lacks those.
#pragma once

#include <array>
#include <mutex>
#include <string_view>
#include <vector>

#include "text/models/word_model.h"
#include "text/vocabulary.h"

namespace anedvd {

class SpmModel final : public WordModel {
 public:
  // `scores` has one entry a token. The vocabulary is borrowed.
  SpmModel(const Vocabulary& vocabulary, std::vector<float> scores, std::optional<Token> unknown);

  void encode_word(std::string_view word, WordScratch& scratch, std::vector<Token>& out) const override;
  std::bitset<256> bytes_joined_with_spaces() const override;

 private:
  struct Span {
    uint32_t start = 0, length = 0;
    bool operator==(const Span&) const = default;
  };

  void prepare() const;
  void append_bytes_of(std::string_view character, std::vector<Token>& out) const;

  const Vocabulary& vocabulary_;
  std::vector<float> scores_;
  std::optional<Token> unknown_;
  mutable std::once_flag once_;
  mutable std::array<Token, 256> byte_tokens_{};
  mutable uint32_t longest_ = 0;  // bytes of the longest token
  mutable std::bitset<256> space_joins_;
};

}  // namespace anedvd
