// Byte-level BPE as GGUF files describe it (tokenizer.ggml.model = "gpt2"): normalise, cut into words, merge.
#pragma once

#include <string_view>
#include <vector>

#include "text/models/bpe_model.h"
#include "text/pretokenize.h"
#include "text/tokenizer_base.h"

namespace anedvd {

class ByteBpeTokenizer final : public TokenizerBase {
 public:
  ByteBpeTokenizer(std::unique_ptr<Vocabulary> vocabulary, SpecialIds ids, MergeList merges,
                   const Pretokenizer& pretokenizer);

  void append_bytes(Token token, std::string& out, bool with_control) const override;
  std::string_view kind() const override { return "BPE"; }

 protected:
  void encode_run(std::string_view text, Run run, std::vector<Token>& out) const override;

 private:
  const Pretokenizer& pretokenizer_;
  BpeModel model_;
};

}  // namespace anedvd
