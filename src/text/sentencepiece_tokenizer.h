// SentencePiece's way with text: spaces become ▁ (U+2581), a space may be put before the text, words are not cut by rules.
//
// Serves the score-merged vocabularies (Llama 2, Gemma 1–3), those with merges (Gemma 4) and unigram models (T5), which differ in the
// WordModel only.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "text/models/charsmap.h"
#include "text/models/word_model.h"
#include "text/pretokenize.h"
#include "text/tokenizer_base.h"

namespace anedvd {

class SentencePieceTokenizer final : public TokenizerBase {
 public:
  struct Options {
    bool space_prefix = false;  // a space goes before each stretch of text: at the start and after whole tokens
    std::optional<Charsmap> charsmap = {};  // replaces characters before anything else
    bool merge_spaces = false;              // runs of spaces count as one, those at the ends not at all
    std::span<const Stage> stages = {};     // how the text is cut after spaces were replaced
    std::string_view kind = "SPM";
  };

  SentencePieceTokenizer(std::unique_ptr<Vocabulary> vocabulary, SpecialIds ids, std::unique_ptr<WordModel> model,
                         Options options);

  void append_bytes(Token token, std::string& out, bool with_control) const override;
  std::string_view kind() const override { return options_.kind; }
  bool drops_first_space() const override { return options_.space_prefix; }

 protected:
  void encode_run(std::string_view text, Run run, std::vector<Token>& out) const override;

 private:
  std::unique_ptr<WordModel> model_;
  Options options_;
};

// Appends a SentencePiece text with ▁ as a space.
void append_unescaped(std::string_view text, std::string& out);

}  // namespace anedvd
