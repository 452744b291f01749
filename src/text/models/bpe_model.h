// BPE on one word: first its smallest pieces, then merges.
//
// Two alphabets. Byte-level (GPT-2): every byte is a piece, vocabulary texts are written in the byte alphabet. Characters (SentencePiece
// style): every character is a piece; one that the vocabulary lacks becomes byte tokens <0xXX>, or the unknown token.
// Tables are built by the first call of encode_word. Safe for several threads.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "text/models/merge_list.h"
#include "text/models/word_model.h"
#include "text/vocabulary.h"

namespace anedvd {

class BpeModel final : public WordModel {
 public:
  struct Options {
    bool byte_level = true;
    bool byte_fallback = false;  // characters only
    bool ignore_merges = false;  // a word that is itself a token is taken whole
    Token unknown = -1;          // for what nothing stands for; −1: left out
    bool fuse_unknown = false;   // neighbouring unknown characters become one token
  };

  // The vocabulary is borrowed.
  BpeModel(const Vocabulary& vocabulary, MergeList merges, Options options);

  // Control and unknown tokens never come out of text, whatever merges say.
  void encode_word(std::string_view word, WordScratch& scratch, std::vector<Token>& out) const override;
  std::bitset<256> bytes_joined_with_spaces() const override;

  // Builds the tables now.
  void prepare() const;

 private:
  void build() const;
  Joined<Token> join(Token left, Token right) const;
  void append_bytes_of(std::string_view word, std::vector<Token>& out) const;
  void append_characters_of(std::string_view word, std::vector<Token>& out) const;

  const Vocabulary& vocabulary_;
  Options options_;
  mutable std::once_flag once_;
  mutable MergeList merges_;
  mutable std::bitset<256> space_joins_;
  mutable std::array<Token, 256> byte_tokens_;  // of a byte alone; −1: none
};

}  // namespace anedvd
