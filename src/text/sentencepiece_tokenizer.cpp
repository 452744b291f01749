#include "text/sentencepiece_tokenizer.h"

#include "text/models/word_cache.h"
#include "text/space_cutter.h"

namespace anedvd {
namespace {

constexpr std::string_view kSpaceMark = "▁";

std::string escape_spaces(std::string_view text, bool space_first) {
  std::string escaped;
  escaped.reserve(text.size() + text.size() / 3 + kSpaceMark.size());
  if (space_first) escaped.append(kSpaceMark);
  for (const char byte : text) {
    if (byte == ' ') {
      escaped.append(kSpaceMark);
    } else {
      escaped.push_back(byte);
    }
  }
  return escaped;
}

// One space between words, none at the ends.
std::string merge_spaces(std::string_view text) {
  std::string merged;
  for (const char byte : text) {
    if (byte != ' ' || (!merged.empty() && merged.back() != ' ')) merged.push_back(byte);
  }
  if (merged.ends_with(' ')) merged.pop_back();
  return merged;
}

}  // namespace

void append_unescaped(std::string_view text, std::string& out) {
  for (size_t at = 0; at < text.size();) {
    if (text.substr(at).starts_with(kSpaceMark)) {
      out.push_back(' ');
      at += kSpaceMark.size();
    } else {
      out.push_back(text[at++]);
    }
  }
}

SentencePieceTokenizer::SentencePieceTokenizer(std::unique_ptr<Vocabulary> vocabulary, SpecialIds ids,
                                               std::unique_ptr<WordModel> model, Options options)
    : TokenizerBase(std::move(vocabulary), std::move(ids)), model_(std::move(model)), options_(std::move(options)) {}

void SentencePieceTokenizer::encode_run(std::string_view text, Run, std::vector<Token>& out) const {
  std::string prepared;
  if (options_.charsmap) text = prepared = options_.charsmap->apply(text);
  if (options_.merge_spaces) text = prepared = merge_spaces(text);
  if (text.empty()) return;
  const std::string escaped = escape_spaces(text, options_.space_prefix);
  std::vector<std::string_view> pieces;
  split_words(escaped, options_.stages, pieces);
  const SpaceCutter cutter(*model_);
  WordCache cache(escaped.size());
  for (const std::string_view piece : pieces) {
    cutter.cut(piece, [&](std::string_view word) { cache.encode(*model_, word, out); });
  }
}

void SentencePieceTokenizer::append_bytes(Token token, std::string& out, bool with_control) const {
  if (!vocabulary().has(token)) return;
  const std::string_view text = vocabulary().text(token);
  switch (vocabulary().type(token)) {
    case PieceType::kControl:
    case PieceType::kUnknown:
      if (with_control) out.append(text);
      return;
    case PieceType::kUserDefined: out.append(text); return;
    case PieceType::kNormal: append_unescaped(text, out); return;
    case PieceType::kByte:
      if (const int byte = byte_token_value(text); byte >= 0) out.push_back(static_cast<char>(byte));
      return;
    case PieceType::kUnused: return;
  }
}

}  // namespace anedvd
