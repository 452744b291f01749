#include "text/tokenizer_base.h"

namespace anedvd {
namespace {

SpecialMatcher make_matcher(const Vocabulary& vocabulary, bool with_control) {
  std::vector<SpecialMatcher::Entry> entries;
  for (Token token = 0; token < vocabulary.size(); ++token) {
    const PieceType type = vocabulary.type(token);
    const bool control = type == PieceType::kControl || type == PieceType::kUnknown;
    if (type == PieceType::kUserDefined || (with_control && control))
      entries.push_back({vocabulary.text(token), token});
  }
  return SpecialMatcher(std::move(entries));
}

}  // namespace

TokenizerBase::TokenizerBase(std::unique_ptr<Vocabulary> vocabulary, SpecialIds ids)
    : vocabulary_(std::move(vocabulary)),
      ids_(ids),
      user_defined_(make_matcher(*vocabulary_, false)),
      all_special_(make_matcher(*vocabulary_, true)) {}

std::vector<Token> TokenizerBase::encode(std::string_view text, Specials specials) const {
  std::vector<Token> out;
  out.reserve(text.size() / 3 + 1);
  bool after_special = true;
  const SpecialMatcher& matcher = specials == Specials::kAsTokens ? all_special_ : user_defined_;
  matcher.partition(
      text,
      [&](std::string_view run) {
        encode_run(run, after_special, out);
        after_special = false;
      },
      [&](Token token) {
        out.push_back(token);
        after_special = true;
      });
  return out;
}

}  // namespace anedvd
