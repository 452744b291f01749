#include "text/models/wordpiece_model.h"

#include <algorithm>

#include "text/unicode.h"

namespace anedvd {
namespace {

size_t count_characters(std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); at += char_at(text, at).bytes) ++count;
  return count;
}

bool starts_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0u) != 0x80; }

}  // namespace

WordpieceModel::WordpieceModel(const Vocabulary& vocabulary, Options options)
    : vocabulary_(vocabulary), options_(std::move(options)), longest_token_(vocabulary.longest()) {}

void WordpieceModel::encode_word(std::string_view word, WordScratch&, std::vector<Token>& out) const {
  const size_t start = out.size();
  const auto give_up = [&] {
    out.resize(start);
    if (options_.unknown >= 0) out.push_back(options_.unknown);
  };
  if (count_characters(word) > options_.longest_word) return give_up();
  std::string piece;
  for (size_t at = 0; at < word.size();) {
    const std::string& prefix = at == 0 ? options_.start_prefix : options_.continuation_prefix;
    size_t end = std::min(word.size(), at + longest_token_);
    std::optional<Token> token;
    for (; end > at; --end) {
      if (end < word.size() && !starts_character(word[end])) continue;
      piece = prefix;
      piece.append(word.substr(at, end - at));
      token = vocabulary_.find_plain(piece);
      if (token) break;
    }
    if (!token) return give_up();
    out.push_back(*token);
    at = end;
  }
}

}  // namespace anedvd
