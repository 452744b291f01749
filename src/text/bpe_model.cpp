#include "text/bpe_model.h"

#include "text/byte_map.h"
#include "text/unicode.h"

namespace anedvd {

BpeModel::BpeModel(const Vocabulary& vocabulary, std::vector<std::string_view> merges, Options options)
    : vocabulary_(vocabulary), merge_lines_(std::move(merges)), options_(options) {
  byte_tokens_.fill(-1);
}

void BpeModel::prepare() const {
  std::call_once(once_, [this] { build(); });
}

bool BpeModel::may_cut_at_spaces() const {
  prepare();
  return may_cut_;
}

void BpeModel::build() const {
  std::string text;
  if (options_.byte_level) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      text.clear();
      append_utf8(byte_to_mapped(static_cast<unsigned char>(byte)), text);
      byte_tokens_[byte] = vocabulary_.find_plain(text).value_or(-1);
    }
  } else {
    byte_tokens_ = vocabulary_.byte_tokens();
    may_cut_ = vocabulary_.spaces_only_lead();
  }
  merges_.reserve(merge_lines_.size());
  for (size_t rank = 0; rank < merge_lines_.size(); ++rank) {
    const std::string_view line = merge_lines_[rank];
    const size_t space = line.find(' ', 1);  // a piece may itself begin with a space
    if (space == std::string_view::npos) continue;
    const auto left = vocabulary_.find_plain(line.substr(0, space));
    const auto right = vocabulary_.find_plain(line.substr(space + 1));
    if (!left || !right) continue;
    text.assign(line, 0, space);
    text.append(line, space + 1);
    const auto result = vocabulary_.find_plain(text);
    if (result) merges_.add(*left, *right, static_cast<uint32_t>(rank), *result);
  }
}

void BpeModel::encode_word(std::string_view word, std::vector<Token>& out) const {
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
  merges_.apply(out, start);
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
