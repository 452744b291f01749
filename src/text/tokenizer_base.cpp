#include "text/tokenizer_base.h"

#include <algorithm>

namespace anedvd {
namespace {

SpecialMatcher make_matcher(const Vocabulary& vocabulary, const SpecialIds& ids, bool with_control) {
  std::vector<SpecialMatcher::Entry> entries;
  for (Token token = 0; token < vocabulary.size(); ++token) {
    const PieceType type = vocabulary.type(token);
    if (std::ranges::binary_search(ids.found_later, token)) continue;
    const bool control = type == PieceType::kControl || type == PieceType::kUnknown;
    if (type == PieceType::kUserDefined || (with_control && control))
      entries.push_back({vocabulary.text(token), token});
  }
  for (const SpecialMatcher::Entry& trait : ids.traits) {
    const auto entry = std::ranges::lower_bound(entries, trait.token, {}, &SpecialMatcher::Entry::token);
    if (entry == entries.end() || entry->token != trait.token) continue;
    entry->strips_left = trait.strips_left;
    entry->strips_right = trait.strips_right;
    entry->single_word = trait.single_word;
  }
  return SpecialMatcher(std::move(entries));
}

}  // namespace

TokenizerBase::TokenizerBase(std::unique_ptr<Vocabulary> vocabulary, SpecialIds ids)
    : vocabulary_(std::move(vocabulary)),
      ids_(std::move(ids)),
      user_defined_(make_matcher(*vocabulary_, ids_, false)),
      all_special_(make_matcher(*vocabulary_, ids_, true)) {}

std::vector<Token> TokenizerBase::encode(std::string_view text, Specials specials) const {
  std::vector<Token> out;
  out.reserve(text.size() / 3 + 1);
  const SpecialMatcher& matcher = specials == Specials::kAsTokens ? all_special_ : user_defined_;
  matcher.partition(
      text,
      [&](std::string_view run) {
        encode_run(run, {run.data() == text.data(), specials}, out);
      },
      [&](Token token) { out.push_back(token); });
  return out;
}

}  // namespace anedvd
