#include "text/byte_bpe_tokenizer.h"

#include "text/byte_map.h"
#include "text/models/word_cache.h"
#include "text/normalize.h"

namespace anedvd {
ByteBpeTokenizer::ByteBpeTokenizer(std::unique_ptr<Vocabulary> vocabulary, SpecialIds ids, MergeList merges,
                                   const Pretokenizer& pretokenizer)
    : TokenizerBase(std::move(vocabulary), std::move(ids)),
      pretokenizer_(pretokenizer),
      model_(this->vocabulary(), std::move(merges), {.byte_level = true, .ignore_merges = pretokenizer.ignore_merges}) {
}

void ByteBpeTokenizer::encode_run(std::string_view text, Run, std::vector<Token>& out) const {
  std::string composed;
  if (pretokenizer_.nfc && !surely_normal(text, NormalForm::kNfc)) {
    composed = normalize(text, NormalForm::kNfc);
    text = composed;
  }
  std::vector<std::string_view> words;
  split_words(text, pretokenizer_.stages, words);
  WordCache cache(text.size());
  for (const std::string_view word : words) cache.encode(model_, word, out);
}

void ByteBpeTokenizer::append_bytes(Token token, std::string& out, bool with_control) const {
  if (!vocabulary().has(token)) return;
  const std::string_view text = vocabulary().text(token);
  switch (vocabulary().type(token)) {
    case PieceType::kControl:
    case PieceType::kUnknown:
      if (with_control) out.append(text);
      return;
    case PieceType::kUserDefined: out.append(text); return;
    case PieceType::kNormal:
    case PieceType::kByte: append_unmapped(text, out); return;
    case PieceType::kUnused: return;
  }
}

}  // namespace anedvd
