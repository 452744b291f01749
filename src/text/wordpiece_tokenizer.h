// WordPiece as GGUF files of encoder models describe it (tokenizer.ggml.model = "bert").
#pragma once

#include "text/bert_normalizer.h"
#include "text/models/wordpiece_model.h"
#include "text/tokenizer_base.h"

namespace anedvd {

class WordpieceTokenizer final : public TokenizerBase {
 public:
  WordpieceTokenizer(std::unique_ptr<Vocabulary> vocabulary, SpecialIds ids, BertNormalizer normalizer,
                     WordpieceModel::Options options);

  void append_bytes(Token token, std::string& out, bool with_control) const override;
  std::string_view kind() const override { return "WordPiece"; }
  bool drops_first_space() const override { return true; }

 protected:
  void encode_run(std::string_view text, Run run, std::vector<Token>& out) const override;

 private:
  BertNormalizer normalizer_;
  WordpieceModel model_;
};

}  // namespace anedvd
