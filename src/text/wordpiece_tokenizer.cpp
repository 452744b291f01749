#include "text/wordpiece_tokenizer.h"

#include "text/models/word_cache.h"
#include "text/sentencepiece_tokenizer.h"

namespace anedvd {

WordpieceTokenizer::WordpieceTokenizer(std::unique_ptr<Vocabulary> vocabulary, SpecialIds ids,
                                       BertNormalizer normalizer, WordpieceModel::Options options)
    : TokenizerBase(std::move(vocabulary), std::move(ids)),
      normalizer_(normalizer),
      model_(this->vocabulary(), std::move(options)) {}

void WordpieceTokenizer::encode_run(std::string_view text, Run, std::vector<Token>& out) const {
  const std::string normal = normalizer_.apply(text);
  WordCache cache(normal.size());
  for (const std::string_view word : bert_words(normal)) cache.encode(model_, word, out);
}

void WordpieceTokenizer::append_bytes(Token token, std::string& out, bool with_control) const {
  if (!vocabulary().has(token)) return;
  const PieceType type = vocabulary().type(token);
  const std::string_view text = vocabulary().text(token);
  if (type == PieceType::kControl || type == PieceType::kUnknown) {
    if (with_control) out.append(text);
  } else if (type == PieceType::kUserDefined) {
    out.append(text);
  } else if (type == PieceType::kNormal) {
    append_unescaped(text, out);
  }
}

}  // namespace anedvd
