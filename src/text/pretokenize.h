// Cuts text into the words inside which BPE may merge.
//
// Published tokenizers say this with regular expressions, several of them one after the other: each stage cuts the pieces of the one
// before; what it does not match stays a piece of its own. The expressions in use are alternations of a few forms, so a stage here is
// a list of Rules, tried in order at each position, and a rule is a form with its character sets. Nothing backtracks further than a
// character or two, so the time is linear for any bytes.
//
//   \p{N}{1,3}                   run(number, 1..3)
//    ?[^\s\p{L}\p{N}]+[\r\n]*    run(prefix: a space, set: not (space letter number), tail: CR LF)
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "text/unicode.h"

namespace anedvd {

struct CodeRange {
  char32_t first, last;  // both inside
};

// Characters by class and by range: in if ((any class bit or any range) != negated).
struct CharSet {
  ClassMask classes = 0;
  bool negated = false;
  std::span<const CodeRange> ranges = {};

  bool has(const Char& c) const {
    if (c.bytes == 0) return false;
    bool in = (c.classes & classes) != 0;
    if (!in && !ranges.empty()) in = in_ranges(c.code);
    return in != negated;
  }

 private:
  bool in_ranges(char32_t code) const;
};

enum class RuleKind : uint8_t {
  kRun,          // prefix? set{least,most} tail*
  kContraction,  // 's 't 're 've 'm 'll 'd
  kAnyCaseContraction,
  kCasedWord,  // prefix? (upper* lower+ | upper+ lower*) contraction?   upper: Lu Lt Lm Lo M, lower: Ll Lm Lo M, both without `set`
  kNewlines,       // \s*[\r\n]+
  kSpacesBefore,   // \s+(?!\S)
  kSpaces,         // \s+
  kSpacesAtEnd,    // \s+$
  kSpacesHalving,  // the longest of 512, 256 … 4, 2, 1 spaces that no other character follows, or one space (jais-2)
  kDigitGroups,    // a run of `set`; split_words cuts it in threes from the right
  kPhrase,         // prefix? (L M* ( L M*)*)+   words joined by single spaces (exaone-moe)
};

struct Rule {
  RuleKind kind = RuleKind::kRun;
  CharSet prefix = {};
  CharSet set = {};
  CharSet tail = {};
  uint32_t least = 1;
  uint32_t most = UINT32_MAX;
  uint32_t tail_most = UINT32_MAX;
  bool prefix_needed = false;
  bool contraction = false;  // kCasedWord: an attached contraction belongs to the word
};

using Stage = std::span<const Rule>;

// What a `tokenizer.ggml.pre` name stands for.
struct Pretokenizer {
  std::string_view name;
  std::span<const Stage> stages;
  bool ignore_merges = false;  // a word that is itself in the vocabulary is taken whole
  bool adds_bos = false;       // when the file does not say
  bool nfc = false;            // the text is composed first
  bool characters = false;     // SentencePiece style: spaces become ▁, characters are merged, not bytes
};

// The row of a name, or nullptr.
const Pretokenizer* find_pretokenizer(std::string_view name);

// The rules that match exactly what a regular expression of a tokenizer.json matches, or nullptr if none were written for it.
const Stage* find_pattern_rules(std::string_view regex);

// One stage on one text: its matches and the stretches between them, in order.
struct StagePart {
  std::string_view text;
  bool matched = false;
};
// `parts` grows.
void split_stage(Stage stage, std::string_view text, std::vector<StagePart>& parts);

// Cuts `text`; pieces replace the content of `pieces`, in order, and cover the text.
void split_words(std::string_view text, std::span<const Stage> stages, std::vector<std::string_view>& pieces);

// Bytes that a rule matches at byte `at` of `text` (0: no match). For tests and for patterns of other files.
size_t match_rule(const Rule& rule, std::string_view text, size_t at);

}  // namespace anedvd
