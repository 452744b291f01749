#include "text/models/spm_model.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "text/models/merge_symbols.h"
#include "text/unicode.h"

namespace anedvd {
namespace {

// Ranks fall as scores rise: the order of floats as that of unsigned numbers.
uint32_t rank_of(float score) {
  if (std::isnan(score)) return kNoMerge - 1;
  const auto bits = std::bit_cast<uint32_t>(score + 0.0f);  // −0 becomes 0
  const uint32_t ascending = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return ~ascending;
}

}  // namespace

SpmModel::SpmModel(const Vocabulary& vocabulary, std::vector<float> scores, std::optional<Token> unknown)
    : vocabulary_(vocabulary), scores_(std::move(scores)), unknown_(unknown) {
  ANEDVD_CHECK(scores_.size() == static_cast<size_t>(vocabulary.size()), "{} scores", scores_.size());
}

void SpmModel::prepare() const {
  std::call_once(once_, [this] {
    byte_tokens_ = vocabulary_.byte_tokens();
    longest_ = static_cast<uint32_t>(vocabulary_.longest());
    space_joins_ = vocabulary_.bytes_before_spaces();
  });
}

std::bitset<256> SpmModel::bytes_joined_with_spaces() const {
  prepare();
  return space_joins_;
}

void SpmModel::encode_word(std::string_view word, WordScratch&, std::vector<Token>& out) const {
  prepare();
  std::vector<Span> spans;
  for (size_t at = 0; at < word.size();) {
    const uint32_t length = char_at(word, at).bytes;
    spans.push_back({static_cast<uint32_t>(at), length});
    at += length;
  }
  const auto text_of = [&](Span span) { return word.substr(span.start, span.length); };
  merge_symbols(spans, 0, [&](Span left, Span right) -> Joined<Span> {
    const Span both{left.start, left.length + right.length};
    if (both.length > longest_) return {};
    const auto token = vocabulary_.find_plain(text_of(both));
    return token ? Joined<Span>{rank_of(scores_[static_cast<size_t>(*token)]), both} : Joined<Span>{};
  });
  for (const Span span : spans) {
    if (const auto token = vocabulary_.find_plain(text_of(span))) {
      out.push_back(*token);
    } else {
      append_bytes_of(text_of(span), out);
    }
  }
}

void SpmModel::append_bytes_of(std::string_view character, std::vector<Token>& out) const {
  const bool all =
      std::ranges::all_of(character, [&](char byte) { return byte_tokens_[static_cast<unsigned char>(byte)] >= 0; });
  if (all) {
    for (const char byte : character) out.push_back(byte_tokens_[static_cast<unsigned char>(byte)]);
  } else if (unknown_) {
    out.push_back(*unknown_);
  }
}

}  // namespace anedvd
