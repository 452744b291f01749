#include "text/models/unigram_model.h"

#include <algorithm>
#include <limits>

#include "text/unicode.h"

namespace anedvd {

UnigramModel::UnigramModel(const Vocabulary& vocabulary, std::vector<double> scores, Options options)
    : vocabulary_(vocabulary), scores_(std::move(scores)), options_(options) {
  ANEDVD_CHECK(scores_.size() == static_cast<size_t>(vocabulary.size()), "{} scores", scores_.size());
}

void UnigramModel::prepare() const {
  std::call_once(once_, [this] {
    constexpr double kUnknownPenalty = 10.0;  // sentencepiece: kUnkPenalty
    double least = std::numeric_limits<double>::max();
    std::vector<PrefixIndex::Entry> entries;
    for (Token token = 0; token < vocabulary_.size(); ++token) {
      const PieceType type = vocabulary_.type(token);
      if (type == PieceType::kNormal) least = std::min(least, scores_[static_cast<size_t>(token)]);
      const bool plain = type == PieceType::kNormal || type == PieceType::kUserDefined || type == PieceType::kUnused;
      if (plain) entries.push_back({vocabulary_.text(token), static_cast<uint32_t>(token)});
    }
    unknown_score_ = least - kUnknownPenalty;
    index_ = PrefixIndex(std::move(entries));
    byte_tokens_ = vocabulary_.byte_tokens();
    space_joins_ = vocabulary_.bytes_before_spaces();
  });
}

std::bitset<256> UnigramModel::bytes_joined_with_spaces() const {
  prepare();
  return space_joins_;
}

void UnigramModel::encode_word(std::string_view word, WordScratch&, std::vector<Token>& out) const {
  prepare();
  constexpr double kUnreached = -std::numeric_limits<double>::infinity();
  constexpr Token kUnknown = -1;
  struct Best {
    double score = kUnreached;  // of the best cutting of everything before this byte
    uint32_t start = 0;         // where its last piece starts
    Token token = kUnknown;
  };
  std::vector<Best> best(word.size() + 1);
  best[0].score = 0;
  for (size_t at = 0; at < word.size();) {
    const size_t length = char_at(word, at).bytes;
    const double before = best[at].score;
    bool covers_character = false;
    const auto offer = [&](size_t end, double score, Token token) {
      if (score > best[end].score) best[end] = {score, static_cast<uint32_t>(at), token};
    };
    index_.for_each(word, at, [&](const PrefixIndex::Entry& entry) {
      const auto token = static_cast<Token>(entry.value);
      covers_character |= entry.text.size() == length;
      const bool user_defined = vocabulary_.type(token) == PieceType::kUserDefined;
      offer(at + entry.text.size(), before + (user_defined ? 0.0 : scores_[entry.value]), token);
    });
    if (!covers_character) offer(at + length, before + unknown_score_, kUnknown);
    at += length;
  }
  std::vector<std::pair<std::string_view, Token>> pieces;
  for (size_t end = word.size(); end > 0; end = best[end].start) {
    pieces.emplace_back(word.substr(best[end].start, end - best[end].start), best[end].token);
  }
  bool after_unknown = false;
  for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
    const auto& [text, token] = *piece;
    if (token == kUnknown) {
      append_unknown(text, after_unknown, out);
    } else {
      out.push_back(token);
    }
    after_unknown = token == kUnknown;
  }
}

void UnigramModel::append_unknown(std::string_view text, bool after_unknown, std::vector<Token>& out) const {
  const bool bytes = options_.byte_fallback && std::ranges::all_of(text, [&](char byte) {
                       return byte_tokens_[static_cast<unsigned char>(byte)] >= 0;
                     });
  if (bytes) {
    for (const char byte : text) out.push_back(byte_tokens_[static_cast<unsigned char>(byte)]);
  } else if (options_.unknown >= 0 && !after_unknown) {
    out.push_back(options_.unknown);
  }
}

}  // namespace anedvd
