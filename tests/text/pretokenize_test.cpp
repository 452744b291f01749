// The rules written by hand against PCRE2 running the expressions that they stand for.
#include "text/pretokenize.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

#include "text/hf/regex_pattern.h"

namespace anedvd {
namespace {

const std::string kTail = R"(\s*[\r\n]+|\s+(?!\S)|\s+)";
const std::string kFolded = R"((?i:'s|'t|'re|'ve|'m|'ll|'d))";
const std::string kGpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const std::string kWord = R"([^\r\n\p{L}\p{N}]?\p{L}+)";
const std::string kOthers = R"( ?[^\s\p{L}\p{N}]+[\r\n]*|)";
const std::string kLlama3 = kFolded + "|" + kWord + R"(|\p{N}{1,3}|)" + kOthers + kTail;
const std::string kQwen2 = kFolded + "|" + kWord + R"(|\p{N}|)" + kOthers + kTail;

// The words told by case; `contraction` follows them.
std::string cased(const std::string& contraction, const std::string& exclude = "") {
  const std::string upper = "(?:" + exclude + R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]))";
  const std::string lower = "(?:" + exclude + R"([\p{Ll}\p{Lm}\p{Lo}\p{M}]))";
  const std::string prefix = R"([^\r\n\p{L}\p{N}]?)";
  return prefix + upper + "*" + lower + "+" + contraction + "|" + prefix + upper + "+" + lower + "*" + contraction;
}

const std::string kGpt4o = cased(kFolded + "?") + R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" + kTail;
const std::string kDeepseek3 =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|)" +
    kTail;
const std::string kHanKana = R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)";
const std::string kHanHangul = R"([\x{4E00}-\x{9FA5}\x{0800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";
const std::string kBloom = R"( ?[^(\s|.,!?…。，、।۔،)]+)";
const std::string kThreesFromRight = R"(\d{1,3}(?=(?:\d{3})*(?!\d)))";

const std::map<std::string, std::vector<std::string>> kExpressions = {
    {"gpt-2", {kGpt2}},
    {"llama-bpe", {kLlama3}},
    {"qwen2", {kQwen2}},
    {"qwen35", {kFolded + R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)" + kTail}},
    {"ufakzeka", {kWord + R"(|\p{N}|)" + kOthers + kTail}},
    {"minicpm5", {R"(\p{N}{1,3})", kFolded + "|" + kWord + R"(|\p{N}+|)" + kOthers + kTail}},
    {"bailingmoe",
     {R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)"}},
    {"seed-coder", {kFolded + "|" + kWord + R"(|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|)" + kTail}},
    {"exaone-moe",
     {kFolded +
      R"(|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)"}},
    {"jais-2",
     {kFolded + "|" + kWord + R"(|\p{N}{1,3}|)" + kOthers +
      R"(\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})"}},
    {"laguna", {R"([^\n]+|[\n]+)", kQwen2}},
    {"smollm", {R"(\p{N})", kGpt2}},
    {"falcon", {R"([\p{P}\$\+<=>\^~\|`]+)", kGpt2, "[0-9][0-9][0-9]"}},
    {"default", {R"([\p{P}\$\+<=>\^~\|]+)", kGpt2, R"(\p{N}+)", "[0-9][0-9][0-9]"}},
    {"deepseek-coder", {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", kHanHangul, R"(\p{N})"}},
    {"deepseek-v3", {R"(\p{N}{1,3})", kHanKana, kDeepseek3}},
    {"spark2_5",
     {R"(\p{N}{1,3})", kHanKana,
      R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+)",
      R"(\p{N})"}},
    {"bloom", {kBloom}},
    {"viking", {kBloom, R"(\p{N})"}},
    {"tekken", {cased("") + R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" + kTail}},
    {"gpt-4o", {kGpt4o}},
    {"youtu",
     {R"([가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)",
      cased(kFolded + "?") + R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" + kTail}},
    {"kimi-k2", {R"(\p{Han}+|)" + cased(kFolded + "?", R"((?!\p{Han}))") + R"(|\p{N}{1,3}|)" + kOthers + kTail}},
    {"tiny_aya", {kThreesFromRight, kGpt4o}},
    {"superbpe", {R"(\p{N}+)", kThreesFromRight}},
    {"chameleon", {R"([\t\n]|    |  )", R"(\p{N})", R"([\p{P}!-/:-@\[-`{-~])", kGpt2}},
    {"gemma4", {R"([^\n]+|[\n]+)"}},
};

std::vector<std::string> by_pcre(const std::vector<RegexPattern>& patterns, const std::string& text) {
  std::vector<std::string> pieces = {text};
  for (const RegexPattern& pattern : patterns) {
    std::vector<std::string> next;
    for (const std::string& piece : pieces) {
      std::vector<StagePart> parts;
      pattern.split(piece, parts);
      for (const StagePart& part : parts) next.emplace_back(part.text);
    }
    pieces = next;
  }
  return pieces;
}

std::string random_text(std::mt19937& random) {
  static const char* const kPieces[] = {
      "a",      "b",      "Z",      "Q",       "é",      "É",      "ß",   "ж",   "Ж",    "中", "文", "あ",     "カ",
      "가",     "ㄱ",     "ㄅ",     "ǅ",       "ʰ",      "ª",      "1",   "2",   "9",    "١",  "½",  "Ⅷ",      "²",
      "\u0301", "\u0903", "\u20dd", " ",       " ",      " ",      "  ",  "\n",  "\r\n", "\r", "\t", "\u00a0", "\u3000",
      "\u2028", "\u0085", "\x0b",   "'",       "'s",     "'S",     "'ll", "'Re", "'ſ",   "'x", "!",  "/",      ".",
      "(",      "|",      "…",      "。",      "，",     "«",      "_",   "$",   "+",    "`",  "~",  "€",      "©",
      "😀",      "\u200d", "\u0378", "\u0000x", "\ue000", "\u180e", "〆",  "々",  "・",   "ｱ"};
  std::string text;
  for (size_t i = 1 + random() % 12; i > 0; --i) {
    const char* piece = kPieces[random() % std::size(kPieces)];
    for (size_t times = random() % 4 == 0 ? 1 + random() % 5 : 1; times > 0; --times) text += piece;
  }
  return text;
}

TEST(Pretokenize, HandWrittenRulesMatchTheirExpressions) {
  std::mt19937 random(11);
  std::vector<std::string> texts = {
      "", std::string(1100, ' ') + "x", std::string(513, ' '), std::string(7, '1'), "ABC中DEF", "中A文B"};
  for (int i = 0; i < 2000; ++i) texts.push_back(random_text(random));
  for (const auto& [name, expressions] : kExpressions) {
    const Pretokenizer* pretokenizer = find_pretokenizer(name);
    ASSERT_NE(pretokenizer, nullptr) << name;
    std::vector<RegexPattern> patterns;
    for (const std::string& expression : expressions)
      patterns.push_back(RegexPattern::compile(expression, name).value());
    int shown = 0;
    for (size_t i = 0; i < texts.size() && shown < 3; ++i) {
      std::vector<std::string_view> got;
      split_words(texts[i], pretokenizer->stages, got);
      std::vector<std::string> want = by_pcre(patterns, texts[i]);
      std::erase(want, "");
      const bool equal = std::ranges::equal(got, want);
      EXPECT_TRUE(equal) << name << " on " << ::testing::PrintToString(texts[i]) << "\n got "
                         << ::testing::PrintToString(got) << "\nwant " << ::testing::PrintToString(want);
      shown += !equal;
    }
  }
}

TEST(Pretokenize, PiecesCoverAnyBytes) {
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (size_t n = random() % 30; n > 0; --n)
      text.push_back(static_cast<char>(random() % 3 == 0 ? random() : 32 + random() % 90));
    for (const char* name :
         {"default", "llama-bpe", "gpt-4o", "deepseek-llm", "jais-2", "exaone-moe", "kimi-k2", "superbpe"}) {
      std::vector<std::string_view> pieces;
      split_words(text, find_pretokenizer(name)->stages, pieces);
      std::string joined;
      for (const auto piece : pieces) {
        EXPECT_FALSE(piece.empty());
        joined += piece;
      }
      ASSERT_EQ(joined, text) << name;
    }
  }
}

TEST(Pretokenize, UnknownNamesAreNotFound) {
  EXPECT_EQ(find_pretokenizer("no-such-name"), nullptr);
  EXPECT_EQ(find_pretokenizer(""), nullptr);
  EXPECT_EQ(find_pattern_rules("\\w+"), nullptr);
}

TEST(RegexPattern, RefusesWhatItCannotRead) {
  const auto intersection = RegexPattern::compile("[\\p{L}&&[^\\p{Han}]]+", "x.json");
  ASSERT_FALSE(intersection);
  EXPECT_EQ(intersection.error().code, ErrorCode::kUnsupported);
  EXPECT_FALSE(RegexPattern::compile("(unclosed", "x.json"));
}

TEST(RegexPattern, SearchesThatWouldTakeForeverEnd) {
  const auto pattern = RegexPattern::compile("(a+)+$", "x.json").value();
  const std::string text = std::string(50, 'a') + "b";
  std::vector<StagePart> parts;
  pattern.split(text, parts);
  std::string joined;
  for (const StagePart& part : parts) joined += part.text;
  EXPECT_EQ(joined, text);
}

}  // namespace
}  // namespace anedvd
