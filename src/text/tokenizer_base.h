// What all tokenizers share: whole tokens found in the raw text, BOS, ends, names. The stretches between them go to encode_run().
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "text/special_matcher.h"
#include "text/tokenizer.h"
#include "text/vocabulary.h"

namespace anedvd {

// The ids and switches that a file states beside the vocabulary.
struct SpecialIds {
  std::optional<Token> bos, eos;
  bool adds_bos = false;
  // White space that belongs to whole tokens, for those that have such a rule; `text` is not used.
  std::vector<SpecialMatcher::Entry> traits = {};
  std::vector<Token> found_later = {};  // whole tokens that are not looked for in raw text; sorted
};

class TokenizerBase : public Tokenizer {
 public:
  TokenizerBase(std::unique_ptr<Vocabulary> vocabulary, SpecialIds ids);

  std::vector<Token> encode(std::string_view text, Specials specials) const override;
  std::vector<Token> encode_marked(std::string_view text, std::span<const TextSpan> spans) const override;
  int vocab_size() const override { return vocabulary_->size(); }
  std::optional<Token> bos() const override { return ids_.bos; }
  bool adds_bos() const override { return ids_.adds_bos; }
  bool is_control(Token token) const override { return vocabulary_->is_control(token); }
  bool is_end(Token token) const override { return vocabulary_->is_end(token); }
  std::optional<Token> find(std::string_view piece) const override { return vocabulary_->find(piece); }

 protected:
  // Where a stretch of ordinary text comes from. Each one starts the text or follows a whole token.
  struct Run {
    bool starts_text = true;
    Specials specials = Specials::kAsText;
  };
  // Appends the tokens of one stretch of ordinary text (not empty).
  virtual void encode_run(std::string_view text, Run run, std::vector<Token>& out) const = 0;

  const Vocabulary& vocabulary() const { return *vocabulary_; }

 private:
  SpecialMatcher::Match next_trusted(std::string_view text, size_t from, size_t limit,
                                     std::span<const TextSpan> spans) const;

  std::unique_ptr<Vocabulary> vocabulary_;
  SpecialIds ids_;
  SpecialMatcher user_defined_;  // found in any text
  SpecialMatcher all_special_;   // found in templates and raw prompts
};

}  // namespace anedvd
