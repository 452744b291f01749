#include "text/pretokenize.h"

#include <algorithm>

namespace anedvd {
namespace {

bool is_space(const Char& c) { return (c.classes & kSpace) != 0; }

// End of the run of `set` that starts at `at`, at most `most` characters; `count` becomes their number.
size_t run_end(const CharSet& set, std::string_view text, size_t at, uint32_t most, uint32_t& count) {
  count = 0;
  while (count < most) {
    const Char c = char_at(text, at);
    if (!set.has(c)) break;
    at += c.bytes;
    ++count;
  }
  return at;
}

size_t match_run(const Rule& rule, std::string_view text, size_t at) {
  uint32_t count = 0;
  size_t end = at;
  const Char first = char_at(text, at);
  const bool has_prefix = rule.prefix.has(first);
  if (has_prefix) end = run_end(rule.set, text, at + first.bytes, rule.most, count);
  // Mostly the prefix is optional: without it when nothing follows it.
  if (count < rule.least && !rule.prefix_needed) end = run_end(rule.set, text, at, rule.most, count);
  if (count < rule.least) return 0;
  if (rule.tail.classes != 0) end = run_end(rule.tail, text, end, rule.tail_most, count);
  return end - at;
}

// 's 't 're 've 'm 'll 'd. In any case, ſ (U+017F) counts as s: Unicode case folding, as the expressions' (?i:) does.
size_t match_contraction(std::string_view text, size_t at, bool any_case) {
  if (at >= text.size() || text[at] != '\'') return 0;
  const auto letter = [&](size_t i) -> char {
    if (i >= text.size()) return 0;
    const char c = text[i];
    return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  const char first = letter(at + 1);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  const char second = letter(at + 2);
  if ((first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l')) return 3;
  if (any_case && text.substr(at + 1).starts_with("\xC5\xBF")) return 3;
  return 0;
}

// One try of kCasedWord from `at` (after its prefix): the end of upper* lower+, else of upper+ lower*; `at` if neither matches.
// Both sets hold Lm, Lo and M, so upper* may have to give back: to the last character that lower+ accepts too.
size_t cased_end(const Rule& rule, std::string_view text, size_t at, bool need_lower) {
  constexpr ClassMask both = kOtherLetter | kMark;
  const auto has = [&](const Char& c, ClassMask mask) { return (c.classes & mask) != 0 && !rule.set.has(c); };
  size_t end = at;
  size_t after_last_shared = at;
  for (Char c = char_at(text, end); has(c, kUpperLetter | both); c = char_at(text, end)) {
    end += c.bytes;
    if (c.classes & both) after_last_shared = end;
  }
  const size_t upper_end = end;
  for (Char c = char_at(text, end); has(c, kLowerLetter | both); c = char_at(text, end)) end += c.bytes;
  if (!need_lower) return upper_end == at ? at : end;
  return end > upper_end ? end : after_last_shared;
}

size_t match_cased_word(const Rule& rule, std::string_view text, size_t at) {
  const Char first = char_at(text, at);
  const bool has_prefix = rule.prefix.has(first);
  const size_t inner = at + first.bytes;
  size_t end = 0;
  const auto attempt = [&](size_t from, bool need_lower) {
    const size_t found = cased_end(rule, text, from, need_lower);
    if (found > from) end = found;
    return found > from;
  };
  // The order in which the expression's alternatives and its optional prefix are tried.
  const bool matched = (has_prefix && attempt(inner, true)) || attempt(at, true) ||
                       (has_prefix && attempt(inner, false)) || attempt(at, false);
  if (!matched) return 0;
  if (rule.contraction) end += match_contraction(text, end, true);
  return end - at;
}

struct SpaceRun {
  size_t end;           // after the run
  size_t last_start;    // where its last character starts
  size_t newlines_end;  // after its last CR or LF; the start of the run if it has none
  uint32_t count;
};

SpaceRun space_run(std::string_view text, size_t at) {
  SpaceRun run{at, at, at, 0};
  for (Char c = char_at(text, at); is_space(c); c = char_at(text, run.end)) {
    run.last_start = run.end;
    run.end += c.bytes;
    ++run.count;
    if (c.classes & kNewline) run.newlines_end = run.end;
  }
  return run;
}

size_t match_spaces(RuleKind kind, std::string_view text, size_t at) {
  if (!is_space(char_at(text, at))) return 0;
  const SpaceRun run = space_run(text, at);
  switch (kind) {
    case RuleKind::kNewlines: return run.newlines_end - at;
    case RuleKind::kSpacesBefore: return run.end == text.size() ? run.end - at : run.last_start - at;
    default: return run.end - at;
  }
}

size_t match_spaces_at_end(std::string_view text, size_t at) {
  if (!is_space(char_at(text, at))) return 0;
  // Found from the left, so only a run's first position counts; without this a long run would be measured from each of its characters.
  // A white space character is 1–3 bytes long.
  for (size_t back = 1; back <= 3 && back <= at; ++back) {
    const Char before = char_at(text, at - back);
    if (before.bytes == back && is_space(before)) return 0;
  }
  const SpaceRun run = space_run(text, at);
  return run.end == text.size() ? run.end - at : 0;
}

// \s{512}(?!\S)|\s{256}(?!\S)|…|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1}: of the run's characters (all but the last if another character
// follows), as many as the largest power of two.
size_t match_spaces_halving(std::string_view text, size_t at) {
  constexpr uint32_t kLongest = 512;
  uint32_t count = 0;
  size_t end = at;
  // Counting stops one past the longest form: enough to know whether a space follows it.
  for (Char c = char_at(text, end); is_space(c) && count <= kLongest; c = char_at(text, end)) {
    end += c.bytes;
    ++count;
  }
  if (count == 0) return 0;
  const uint32_t free = end == text.size() || count > kLongest ? count : count - 1;
  uint32_t take = kLongest;
  while (take > 1 && take > free) take /= 2;
  size_t length = 0;
  for (uint32_t i = 0; i < take; ++i) length += char_at(text, at + length).bytes;
  return length;
}

size_t match_phrase(const Rule& rule, std::string_view text, size_t at) {
  const auto letter = [&](size_t i) { return (char_at(text, i).classes & kLetter) != 0; };
  const Char first = char_at(text, at);
  size_t end = at;
  if (rule.prefix.has(first) && letter(at + first.bytes)) end += first.bytes;
  if (!letter(end)) return 0;
  while (true) {
    end += char_at(text, end).bytes;
    for (Char c = char_at(text, end); c.classes & kMark; c = char_at(text, end)) end += c.bytes;
    if (letter(end)) continue;
    if (end >= text.size() || text[end] != ' ' || !letter(end + 1)) return end - at;
    ++end;
  }
}

// Calls piece for groups of three characters of a run, counted from its right end.
template <class Piece>
void cut_groups(std::string_view run, Piece&& piece) {
  constexpr size_t kGroup = 3;
  size_t characters = 0;
  for (size_t at = 0; at < run.size(); at += char_at(run, at).bytes) ++characters;
  for (size_t at = 0; at < run.size();) {
    const size_t take = characters % kGroup == 0 ? kGroup : characters % kGroup;
    size_t end = at;
    for (size_t i = 0; i < take; ++i) end += char_at(run, end).bytes;
    piece(run.substr(at, end - at));
    characters -= take;
    at = end;
  }
}

// Cuts one piece by one stage: calls piece(part, whether a rule matched it) in order.
template <class Piece>
void split_piece(Stage stage, std::string_view text, Piece&& piece) {
  size_t unmatched = 0;
  for (size_t at = 0; at < text.size();) {
    size_t length = 0;
    const Rule* matched = nullptr;
    for (const Rule& rule : stage) {
      matched = &rule;
      length = match_rule(rule, text, at);
      if (length > 0) break;
    }
    if (length == 0) {
      at += char_at(text, at).bytes;
      continue;
    }
    if (at > unmatched) piece(text.substr(unmatched, at - unmatched), false);
    if (matched->kind == RuleKind::kDigitGroups) {
      cut_groups(text.substr(at, length), [&](std::string_view group) { piece(group, true); });
    } else {
      piece(text.substr(at, length), true);
    }
    at += length;
    unmatched = at;
  }
  if (text.size() > unmatched) piece(text.substr(unmatched), false);
}

}  // namespace

bool CharSet::in_ranges(char32_t code) const {
  // Sorted by construction of the tables.
  const auto after = std::ranges::upper_bound(ranges, code, {}, &CodeRange::first);
  return after != ranges.begin() && code <= std::prev(after)->last;
}

size_t match_rule(const Rule& rule, std::string_view text, size_t at) {
  switch (rule.kind) {
    case RuleKind::kRun: return match_run(rule, text, at);
    case RuleKind::kContraction: return match_contraction(text, at, false);
    case RuleKind::kAnyCaseContraction: return match_contraction(text, at, true);
    case RuleKind::kCasedWord: return match_cased_word(rule, text, at);
    case RuleKind::kNewlines:
    case RuleKind::kSpacesBefore:
    case RuleKind::kSpaces: return match_spaces(rule.kind, text, at);
    case RuleKind::kSpacesAtEnd: return match_spaces_at_end(text, at);
    case RuleKind::kSpacesHalving: return match_spaces_halving(text, at);
    case RuleKind::kDigitGroups: return match_run(rule, text, at);
    case RuleKind::kPhrase: return match_phrase(rule, text, at);
  }
  return 0;
}

void split_stage(Stage stage, std::string_view text, std::vector<StagePart>& parts) {
  split_piece(stage, text, [&](std::string_view part, bool matched) { parts.push_back({part, matched}); });
}

void split_words(std::string_view text, std::span<const Stage> stages, std::vector<std::string_view>& pieces) {
  pieces.clear();
  if (text.empty()) return;
  if (stages.empty()) {
    pieces.push_back(text);
    return;
  }
  split_piece(stages[0], text, [&](std::string_view piece, bool) { pieces.push_back(piece); });
  std::vector<std::string_view> before;
  for (const Stage& stage : stages.subspan(1)) {
    before.swap(pieces);
    pieces.clear();
    for (const std::string_view piece : before) {
      split_piece(stage, piece, [&](std::string_view part, bool) { pieces.push_back(part); });
    }
  }
}

}  // namespace anedvd
