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

// The first whole token that lies in one trusted span, starting in [from, limit].
SpecialMatcher::Match TokenizerBase::next_trusted(std::string_view text, size_t from, size_t limit,
                                                  std::span<const TextSpan> spans) const {
  for (const TextSpan& span : spans) {
    if (span.begin > limit) break;
    if (!span.trusted || span.end <= from) continue;
    // Nothing behind the span is shown to the matcher: a match cannot reach into what others wrote.
    const SpecialMatcher::Match match = all_special_.find(text.substr(0, span.end), std::max(from, span.begin));
    if (match.start != std::string_view::npos) return match;
  }
  return {std::string_view::npos, std::string_view::npos, -1};
}

std::vector<Token> TokenizerBase::encode_marked(std::string_view text, std::span<const TextSpan> spans) const {
  constexpr size_t kNone = std::string_view::npos;
  std::vector<Token> out;
  out.reserve(text.size() / 3 + 1);
  SpecialMatcher::Match piece = user_defined_.find(text, 0);
  for (size_t at = 0; at < text.size();) {
    while (!spans.empty() && spans.front().end <= at) spans = spans.subspan(1);
    if (piece.start != kNone && piece.start < at) piece = user_defined_.find(text, at);
    SpecialMatcher::Match match = next_trusted(text, at, piece.start == kNone ? text.size() : piece.start, spans);
    if (match.start == kNone || piece.start < match.start || (piece.start == match.start && piece.end > match.end))
      match = piece;
    const size_t end = match.start == kNone ? text.size() : match.start;
    if (end > at) {
      const bool all_trusted =
          std::ranges::all_of(spans, [&](const TextSpan& s) { return s.begin >= end || s.trusted; });
      encode_run(text.substr(at, end - at), {at == 0, all_trusted ? Specials::kAsTokens : Specials::kAsText}, out);
    }
    if (match.start == kNone) break;
    out.push_back(match.token);
    at = match.end;
  }
  return out;
}

}  // namespace anedvd
