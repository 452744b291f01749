#include "text/models/bpe_model.h"

#include "text/byte_map.h"
#include "text/unicode.h"

namespace anedvd {

BpeModel::BpeModel(const Vocabulary& vocabulary, MergeList merges, Options options)
    : vocabulary_(vocabulary), options_(options), merges_(std::move(merges)) {
  byte_tokens_.fill(-1);
}

void BpeModel::prepare() const {
  std::call_once(once_, [this] { build(); });
}

std::bitset<256> BpeModel::bytes_joined_with_spaces() const {
  prepare();
  return space_joins_;
}

void BpeModel::build() const {
  std::string text;
  if (options_.byte_level) {
    space_joins_.set();  // words come from a pre-tokenizer, and ▁ is three bytes like any others
    for (unsigned byte = 0; byte < 256; ++byte) {
      text.clear();
      append_utf8(byte_to_mapped(static_cast<unsigned char>(byte)), text);
      byte_tokens_[byte] = vocabulary_.find_plain(text).value_or(-1);
    }
  } else {
    byte_tokens_ = vocabulary_.byte_tokens();
    space_joins_ = vocabulary_.bytes_before_spaces();
  }
  merges_.build();
}

Joined<Token> BpeModel::join(Token left, Token right) const {
  const std::string_view left_text = vocabulary_.text(left);
  const std::string_view right_text = vocabulary_.text(right);
  const uint32_t rank = merges_.rank(left_text, right_text);
  if (rank == kNoMerge) return {};
  std::string text(left_text);
  text.append(right_text);
  const auto token = vocabulary_.find_plain(text);
  return token ? Joined<Token>{rank, *token} : Joined<Token>{};
}

void BpeModel::encode_word(std::string_view word, WordScratch& scratch, std::vector<Token>& out) const {
  prepare();
  if (options_.ignore_merges) {
    std::string mapped;
    if (options_.byte_level) append_mapped(word, mapped);
    if (const auto token = vocabulary_.find_plain(options_.byte_level ? std::string_view(mapped) : word)) {
      out.push_back(*token);
      return;
    }
  }
  const size_t start = out.size();
  if (options_.byte_level) {
    append_bytes_of(word, out);
  } else {
    append_characters_of(word, out);
  }
  if (scratch.pairs.empty()) {
    merge_symbols(out, start, [this](Token left, Token right) { return join(left, right); });
    return;
  }
  merge_symbols(out, start, [&](Token left, Token right) {
    const uint64_t tokens = static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
    const uint64_t hash = tokens * 0x9E3779B97F4A7C15u;
    WordScratch::Pair& known = scratch.pairs[(hash ^ hash >> 32) & (scratch.pairs.size() - 1)];
    if (known.tokens != tokens) known = {tokens, join(left, right)};
    return known.joined;
  });
}

void BpeModel::append_bytes_of(std::string_view word, std::vector<Token>& out) const {
  for (const char byte : word) {
    const Token token = byte_tokens_[static_cast<unsigned char>(byte)];
    if (token >= 0) {
      out.push_back(token);
    } else if (options_.unknown >= 0) {
      out.push_back(options_.unknown);
    }
  }
}

void BpeModel::append_characters_of(std::string_view word, std::vector<Token>& out) const {
  bool after_unknown = false;
  for (size_t at = 0; at < word.size();) {
    const std::string_view character = word.substr(at, char_at(word, at).bytes);
    at += character.size();
    if (const auto token = vocabulary_.find_plain(character)) {
      out.push_back(*token);
      after_unknown = false;
      continue;
    }
    bool all_bytes = options_.byte_fallback;
    for (const char byte : character) all_bytes = all_bytes && byte_tokens_[static_cast<unsigned char>(byte)] >= 0;
    if (all_bytes) {
      for (const char byte : character) out.push_back(byte_tokens_[static_cast<unsigned char>(byte)]);
      after_unknown = false;
    } else if (options_.unknown >= 0) {
      if (!after_unknown || !options_.fuse_unknown) out.push_back(options_.unknown);
      after_unknown = true;
    }
  }
}

}  // namespace anedvd
