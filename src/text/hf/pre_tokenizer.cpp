#include "text/hf/pre_tokenizer.h"

#include <optional>

#include <nlohmann/json.hpp>

#include "base/words.h"
#include "text/bert_normalizer.h"
#include "text/byte_map.h"
#include "text/hf/json_fields.h"
#include "text/hf/regex_pattern.h"
#include "text/pretokenize.h"

namespace anedvd {
namespace {

using Json = nlohmann::json;

// What becomes of a match: SplitDelimiterBehavior.
enum class Behavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

Result<Behavior> read_behavior(std::string_view name, std::string_view where) {
  if (name == "Removed") return Behavior::kRemoved;
  if (name == "Isolated") return Behavior::kIsolated;
  if (name == "MergedWithPrevious") return Behavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return Behavior::kMergedWithNext;
  if (name == "Contiguous") return Behavior::kContiguous;
  return fail(ErrorCode::kUnsupported, "{}: split behavior \"{}\" is not one that anedvd knows", where, visible(name));
}

// Two neighbouring views of one text as one.
std::string_view joined(std::string_view a, std::string_view b) { return {a.data(), a.size() + b.size()}; }

void append_by_behavior(std::vector<StagePart>& parts, Behavior behavior, std::vector<std::string_view>& out) {
  const size_t first = out.size();
  bool previous_matched = false;
  switch (behavior) {
    case Behavior::kRemoved:
      for (const StagePart& part : parts) {
        if (!part.matched) out.push_back(part.text);
      }
      return;
    case Behavior::kIsolated:
      for (const StagePart& part : parts) out.push_back(part.text);
      return;
    case Behavior::kContiguous:
      for (const StagePart& part : parts) {
        const bool extends = out.size() > first && part.matched == previous_matched;
        if (extends) {
          out.back() = joined(out.back(), part.text);
        } else {
          out.push_back(part.text);
        }
        previous_matched = part.matched;
      }
      return;
    case Behavior::kMergedWithPrevious:
      for (const StagePart& part : parts) {
        if (part.matched && !previous_matched && out.size() > first) {
          out.back() = joined(out.back(), part.text);
        } else {
          out.push_back(part.text);
        }
        previous_matched = part.matched;
      }
      return;
    case Behavior::kMergedWithNext:
      // A match goes to the part after it, unless that is a match as well.
      for (size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].matched && i + 1 < parts.size() && !parts[i + 1].matched) {
          out.push_back(joined(parts[i].text, parts[i + 1].text));
          ++i;
        } else {
          out.push_back(parts[i].text);
        }
      }
      return;
  }
}

// Cuts each piece by `cut(piece, parts)` and a behavior.
template <class Cut>
void split_each(PieceList& list, Behavior behavior, bool invert, const Cut& cut) {
  std::vector<std::string_view> before;
  before.swap(list.pieces);
  std::vector<StagePart> parts;
  for (const std::string_view piece : before) {
    parts.clear();
    cut(piece, parts);
    if (invert) {
      for (StagePart& part : parts) part.matched = !part.matched;
    }
    append_by_behavior(parts, behavior, list.pieces);
  }
}

class RuleSplit final : public PreTokenStep {
 public:
  RuleSplit(Stage stage, Behavior behavior, bool invert = false)
      : stage_(stage), behavior_(behavior), invert_(invert) {}
  void apply(PieceList& list) const override {
    split_each(list, behavior_, invert_,
               [&](std::string_view piece, std::vector<StagePart>& parts) { split_stage(stage_, piece, parts); });
  }

 private:
  Stage stage_;
  Behavior behavior_;
  bool invert_;
};

class RegexSplit final : public PreTokenStep {
 public:
  RegexSplit(RegexPattern pattern, Behavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}
  void apply(PieceList& list) const override {
    split_each(list, behavior_, invert_,
               [&](std::string_view piece, std::vector<StagePart>& parts) { pattern_.split(piece, parts); });
  }

 private:
  RegexPattern pattern_;
  Behavior behavior_;
  bool invert_;
};

class SpacePrefix final : public PreTokenStep {
 public:
  void apply(PieceList& list) const override {
    for (std::string_view& piece : list.pieces) {
      if (!piece.starts_with(' ')) piece = list.arena.emplace_back(" ").append(piece);
    }
  }
};

class ByteMapping final : public PreTokenStep {
 public:
  void apply(PieceList& list) const override {
    for (std::string_view& piece : list.pieces) {
      std::string& mapped = list.arena.emplace_back();
      append_mapped(piece, mapped);
      piece = mapped;
    }
  }
};

class Metaspace final : public PreTokenStep {
 public:
  enum class Prepend { kAlways, kFirst, kNever };
  Metaspace(std::string replacement, Prepend prepend, bool split)
      : replacement_(std::move(replacement)),
        prepend_(prepend),
        split_(split),
        mark_(RegexPattern::literal(replacement_)) {}

  void apply(PieceList& list) const override {
    for (size_t i = 0; i < list.pieces.size(); ++i) {
      std::string& text = list.arena.emplace_back();
      const std::string_view piece = list.pieces[i];
      const bool wanted = prepend_ == Prepend::kAlways || (prepend_ == Prepend::kFirst && i == 0 && list.starts_text);
      if (wanted && !piece.starts_with(' ') && !piece.starts_with(replacement_)) text.append(replacement_);
      for (const char byte : piece) {
        if (byte == ' ') {
          text.append(replacement_);
        } else {
          text.push_back(byte);
        }
      }
      list.pieces[i] = text;
    }
    if (!split_) return;
    split_each(list, Behavior::kMergedWithNext, false,
               [&](std::string_view piece, std::vector<StagePart>& parts) { mark_.split(piece, parts); });
  }

 private:
  std::string replacement_;
  Prepend prepend_;
  bool split_;
  RegexPattern mark_;
};

class BertWords final : public PreTokenStep {
 public:
  void apply(PieceList& list) const override {
    std::vector<std::string_view> before;
    before.swap(list.pieces);
    for (const std::string_view piece : before) {
      for (const std::string_view word : bert_words(piece)) list.pieces.push_back(word);
    }
  }
};

constexpr Rule kEachNumberRule[] = {{.kind = RuleKind::kRun, .set = {kNumber}, .most = 1}};
constexpr Rule kEachPunctuationRule[] = {{.kind = RuleKind::kRun, .set = {kPunctuation | kAsciiPunct}, .most = 1}};
constexpr Rule kEachSpaceRule[] = {{.kind = RuleKind::kRun, .set = {kSpace}, .most = 1}};
// \w+|[^\w\s]+ ; \w is Alphabetic, Mark, Decimal, Connector: letter numbers (Ⅷ) are alphabetic, other numbers (½) are not.
constexpr ClassMask kWordClasses = kLetter | kMark | kDecimal | kConnector | kLetterNumber;
// Letters in circles and squares are symbols with the Alphabetic property; the two joiners count as well.
constexpr CodeRange kWordRanges[] = {
    {0x200C, 0x200D}, {0x24B6, 0x24E9}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}};
constexpr Rule kWordsRule[] = {{.kind = RuleKind::kRun, .set = {kWordClasses, false, kWordRanges}},
                               {.kind = RuleKind::kRun, .set = {kWordClasses | kSpace, true, kWordRanges}}};

class Reader {
 public:
  explicit Reader(std::string_view where) : where_(where) {}

  Result<> read(const Json& step, bool last, int depth) {
    const std::string type = string_field(step, "type");
    if (type == "Sequence") return read_sequence(step, last, depth);
    if (type == "ByteLevel") return read_byte_level(step, last);
    if (type == "Split") return read_split(step);
    if (type == "Metaspace") return read_metaspace(step);
    if (type == "Digits") {
      add<RuleSplit>(kEachNumberRule,
                     bool_field(step, "individual_digits", false) ? Behavior::kIsolated : Behavior::kContiguous);
    } else if (type == "Punctuation") {
      ANEDVD_TRY(const Behavior behavior, read_behavior(string_field(step, "behavior", "Isolated"), where_));
      add<RuleSplit>(kEachPunctuationRule, behavior);
    } else if (type == "Whitespace") {
      add<RuleSplit>(kWordsRule, Behavior::kRemoved, true);
    } else if (type == "WhitespaceSplit") {
      add<RuleSplit>(kEachSpaceRule, Behavior::kRemoved);
    } else if (type == "BertPreTokenizer") {
      add<BertWords>();
    } else if (type == "CharDelimiterSplit") {
      add<RegexSplit>(RegexPattern::literal(string_field(step, "delimiter")), Behavior::kRemoved, false);
    } else {
      return fail(ErrorCode::kUnsupported, "{}: pre-tokenizer \"{}\" is not one that anedvd knows", where_,
                  visible(type));
    }
    return {};
  }

  PreTokenizerPlan plan;

 private:
  template <class Step, class... Args>
  void add(Args&&... args) {
    plan.steps.push_back(std::make_unique<Step>(std::forward<Args>(args)...));
  }

  Result<> read_sequence(const Json& step, bool last, int depth) {
    constexpr int kDeepest = 8;
    const Json* parts = array_field(step, "pretokenizers");
    if (parts == nullptr || depth > kDeepest)
      return fail(ErrorCode::kBadFile, "{}: a pre-tokenizer sequence is broken", where_);
    for (size_t i = 0; i < parts->size(); ++i)
      ANEDVD_TRY_VOID(read((*parts)[i], last && i + 1 == parts->size(), depth + 1));
    return {};
  }

  Result<> read_byte_level(const Json& step, bool last) {
    if (plan.mapped) return fail(ErrorCode::kUnsupported, "{}: two ByteLevel pre-tokenizers follow each other", where_);
    if (bool_field(step, "add_prefix_space", true)) add<SpacePrefix>();
    if (bool_field(step, "use_regex", true)) add<RuleSplit>(find_pretokenizer("gpt-2")->stages[0], Behavior::kIsolated);
    if (last) {
      plan.byte_level = true;
    } else {
      add<ByteMapping>();
      plan.mapped = true;
    }
    return {};
  }

  Result<> read_split(const Json& step) {
    ANEDVD_TRY(const Behavior behavior, read_behavior(string_field(step, "behavior"), where_));
    const bool invert = bool_field(step, "invert", false);
    ANEDVD_TRY(const PatternField pattern, pattern_field(step, where_));
    if (!pattern.is_regex) {
      add<RegexSplit>(RegexPattern::literal(pattern.text), behavior, invert);
    } else if (const Stage* stage = find_pattern_rules(pattern.text)) {
      add<RuleSplit>(*stage, behavior, invert);
    } else {
      ANEDVD_TRY(auto regex, RegexPattern::compile(pattern.text, where_));
      add<RegexSplit>(std::move(regex), behavior, invert);
    }
    return {};
  }

  Result<> read_metaspace(const Json& step) {
    // Files from before prepend_scheme have add_prefix_space.
    const std::string legacy = bool_field(step, "add_prefix_space", true) ? "always" : "never";
    const std::string scheme = string_field(step, "prepend_scheme", legacy);
    std::optional<Metaspace::Prepend> prepend;
    if (scheme == "always") prepend = Metaspace::Prepend::kAlways;
    if (scheme == "first") prepend = Metaspace::Prepend::kFirst;
    if (scheme == "never") prepend = Metaspace::Prepend::kNever;
    if (!prepend)
      return fail(ErrorCode::kUnsupported, "{}: prepend_scheme \"{}\" is not one that anedvd knows", where_,
                  visible(scheme));
    add<Metaspace>(string_field(step, "replacement", "▁"), *prepend, bool_field(step, "split", true));
    return {};
  }

  std::string_view where_;
};

}  // namespace

Result<PreTokenizerPlan> read_pre_tokenizer(const Json& description, std::string_view where) {
  Reader reader(where);
  if (!description.is_null()) ANEDVD_TRY_VOID(reader.read(description, true, 0));
  return std::move(reader.plan);
}

}  // namespace anedvd
