// tokenizer.json files against what the `tokenizers` package made of them (tools/text/make_tokenizer_fixtures.py), and what is refused.
#include "text/hf_tokenizer.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "text/hf/json_cursor.h"
#include "text/utf8_stream.h"

namespace anedvd {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string file_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string decode(const Tokenizer& tokenizer, const std::vector<Token>& tokens) {
  Utf8Stream stream;
  std::string text = stream.push(text_of(tokenizer, tokens, true));
  return text += stream.finish();
}

class HfGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(HfGolden, EqualsTheTokenizersPackage) {
  const fs::path folder = fs::path(ANEDVD_TEST_DATA) / "tokenizers";
  const auto made = make_hf_tokenizer(folder / (std::string(GetParam()) + ".json"));
  ASSERT_TRUE(made) << made.error().message;
  const Tokenizer& tokenizer = **made;
  const Json golden = Json::parse(file_text(folder / (std::string(GetParam()) + ".golden.json")));
  ASSERT_GT(golden["cases"].size(), 100u);
  for (const Json& item : golden["cases"]) {
    const auto text = item["string"].get<std::string>();
    const auto as_text = tokenizer.encode(text, Specials::kAsText);
    if (!item["text"].is_null()) {
      EXPECT_EQ(as_text, item["text"].get<std::vector<Token>>()) << ::testing::PrintToString(text);
    } else {
      for (const char* mark : {"<s>", "</s>", "[MASK]"}) {
        EXPECT_EQ(std::ranges::count(as_text, tokenizer.find(mark).value_or(-1)), 0) << ::testing::PrintToString(text);
      }
    }
    const auto tokens = tokenizer.encode(text, Specials::kAsTokens);
    EXPECT_EQ(tokens, item["tokens"].get<std::vector<Token>>()) << ::testing::PrintToString(text);
    // The package's WordPiece decoder also tidies spaces before punctuation, decoding without a decoder puts spaces everywhere, and added
    // tokens that are found in normalised text come back in normalised form.
    const std::string_view name = GetParam();
    const bool plain = name != "wordpiece" && name != "word_level" && name != "added";
    if (plain) {
      EXPECT_EQ(decode(tokenizer, tokens), item["decoded"].get<std::string>()) << ::testing::PrintToString(text);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, HfGolden,
                         ::testing::Values("qwen2", "llama3", "falcon", "added", "pcre", "llama2", "metaspace",
                                           "unigram", "wordpiece", "word_level"),
                         [](const auto& test) { return std::string(test.param); });

// A byte-level BPE of three pieces and two special tokens, with parts replaced.
Json small(const Json& changes = Json::object()) {
  Json file = Json::parse(R"({
    "version": "1.0",
    "added_tokens": [
      {"id": 3, "content": "<s>", "special": true}, {"id": 4, "content": "<end>", "special": true},
      {"id": 5, "content": "<tool>", "special": false}],
    "normalizer": null,
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
    "post_processor": {"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]},
    "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}})");
  file.merge_patch(changes);
  return file;
}

Result<std::unique_ptr<Tokenizer>> make(const Json& file, const HfSideFiles& side_files = {}) {
  return make_hf_tokenizer_from_json(file.dump(), "test.json", side_files);
}

TEST(HfTokenizer, EndsComeFromEveryFile) {
  HfSideFiles files;
  files.tokenizer_config = R"({"eos_token": {"content": "<end>"}, "bos_token": "<tool>"})";
  files.generation_config = R"({"eos_token_id": [0, 1]})";
  files.config = R"({"eos_token_id": 99, "text_config": {"eos_token_id": 2}})";
  const auto tokenizer = make(small(), files).value();
  for (const Token token : {0, 1, 2, 4}) EXPECT_TRUE(tokenizer->is_end(token)) << token;
  for (const Token token : {3, 5, 99, -1}) EXPECT_FALSE(tokenizer->is_end(token)) << token;
}

TEST(HfTokenizer, ThePostProcessorDecidesOnBos) {
  EXPECT_TRUE(make(small()).value()->adds_bos());
  EXPECT_EQ(make(small()).value()->bos(), 3);
  const Json without = {{"post_processor", nullptr}};
  HfSideFiles files;
  files.tokenizer_config = R"({"bos_token": "<s>", "add_bos_token": false})";
  EXPECT_FALSE(make(small(without), files).value()->adds_bos());
  EXPECT_EQ(make(small(without), files).value()->bos(), 3);
  files.tokenizer_config = R"({"bos_token": "<s>", "add_bos_token": true})";
  EXPECT_TRUE(make(small(without), files).value()->adds_bos());
  const Json no_first = {
      {"post_processor", {{"type", "TemplateProcessing"}, {"single", Json::parse(R"([{"Sequence": {"id": "A"}}])")}}}};
  EXPECT_FALSE(make(small(no_first), files).value()->adds_bos());
}

TEST(HfTokenizer, SpecialTokensComeFromTemplatesOnly) {
  const auto tokenizer = make(small()).value();
  EXPECT_EQ(tokenizer->encode("ab<end>a<tool>", Specials::kAsTokens), (std::vector<Token>{2, 4, 0, 5}));
  EXPECT_EQ(tokenizer->encode("ab<end>a<tool>", Specials::kAsText),
            (std::vector<Token>{2, 0, 5}));  // no pieces for < e n d >
}

TEST(HfTokenizer, AddedTokensInTheMarksOfTheModelDecodeToText) {
  const Json gemma = Json::parse(R"({
    "added_tokens": [{"id": 3, "content": "▁▁", "special": false}],
    "decoder": {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "▁": 2}, "merges": []}})");
  const auto tokenizer = make_hf_tokenizer_from_json(gemma.dump(), "gemma.json", {}).value();
  EXPECT_EQ(text_of(*tokenizer, std::vector<Token>{0, 3, 1, 2, 0}), "a  b a");
}

TEST(HfTokenizer, WhatItLacksIsRefusedByName) {
  const std::pair<const char*, Json> cases[] = {
      {"Zigzag", {{"normalizer", {{"type", "Zigzag"}}}}},
      {"UnicodeScripts", {{"pre_tokenizer", {{"type", "UnicodeScripts"}}}}},
      {"CTC", {{"decoder", {{"type", "CTC"}}}}},
      {"Mystery", {{"post_processor", {{"type", "Mystery"}}}}},
      {"NewModel", {{"model", {{"type", "NewModel"}}}}},
      {"dropout", {{"model", {{"dropout", 0.1}}}}},
      {"end_of_word_suffix", {{"model", {{"end_of_word_suffix", "</w>"}}}}},
      {"Sideways", {{"pre_tokenizer", {{"type", "Split"}, {"pattern", {{"String", "x"}}}, {"behavior", "Sideways"}}}}},
  };
  for (const auto& [name, changes] : cases) {
    const auto refused = make(small(changes));
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported) << refused.error().message;
    EXPECT_NE(refused.error().message.find(name), std::string::npos) << refused.error().message;
    EXPECT_EQ(refused.error().message.find("test.json"), 0u) << refused.error().message;
  }
}

TEST(HfTokenizer, BrokenFilesAreBadFiles) {
  const std::string good = small().dump();
  for (size_t length = 0; length < good.size(); length += 7) {
    const auto refused = make_hf_tokenizer_from_json(good.substr(0, length), "cut.json", {});
    ASSERT_FALSE(refused) << length;
    EXPECT_EQ(refused.error().code, ErrorCode::kBadFile) << refused.error().message;
  }
  for (const Json& changes :
       {Json{{"model", {{"vocab", {{"far", 2000000000}}}}}}, Json{{"model", {{"vocab", {{"a", -1}}}}}},
        Json{{"model", {{"vocab", {{"a", 0.5}}}}}}, Json{{"added_tokens", 7}},
        Json{{"added_tokens", Json::array({{{"id", 2000000000}, {"content", "x"}}})}}}) {
    const auto refused = make(small(changes));
    ASSERT_FALSE(refused) << changes.dump();
    EXPECT_EQ(refused.error().code, ErrorCode::kBadFile) << refused.error().message;
  }
  EXPECT_EQ(make_hf_tokenizer(fs::path(ANEDVD_TEST_DATA) / "no-such-folder").error().code, ErrorCode::kNotFound);
}

TEST(JsonCursor, WalksWhatItIsGiven) {
  std::deque<std::string> arena;
  JsonCursor cursor(R"( {"a\u00e9\ud83d\ude00\n": [1, -2.5e1, "x"], "skip": {"deep": [[{}]]}, "t": true} )", "x",
                    arena);
  std::string_view key;
  ASSERT_TRUE(cursor.enter('{'));
  ASSERT_TRUE(cursor.next_member(key));
  EXPECT_EQ(key, "aé😀\n");
  ASSERT_TRUE(cursor.enter('['));
  ASSERT_TRUE(cursor.next_element());
  EXPECT_EQ(cursor.number(), 1);
  ASSERT_TRUE(cursor.next_element());
  EXPECT_EQ(cursor.number(), -25);
  ASSERT_TRUE(cursor.next_element());
  EXPECT_EQ(cursor.string(), "x");
  EXPECT_FALSE(cursor.next_element());
  ASSERT_TRUE(cursor.next_member(key));
  EXPECT_EQ(cursor.skip(), R"({"deep": [[{}]]})");
  ASSERT_TRUE(cursor.next_member(key));
  EXPECT_EQ(cursor.skip(), "true");
  EXPECT_FALSE(cursor.next_member(key));
  EXPECT_TRUE(cursor.ok());
  EXPECT_TRUE(cursor.at_end());
}

TEST(JsonCursor, ComplainsOnceAndStops) {
  for (const char* text : {"", "{", "{\"a\"", "{\"a\" 1}", "{\"a\":1 \"b\":2}", "{\"a\":\"\\x\"}",
                           "{\"a\":\"\\ud800\"}", "{\"a\":\"\n\"}"}) {
    std::deque<std::string> arena;
    JsonCursor cursor(text, "x.json", arena);
    std::string_view key;
    if (cursor.enter('{')) {
      while (cursor.next_member(key)) cursor.skip();
    }
    EXPECT_FALSE(cursor.ok()) << text;
    EXPECT_FALSE(cursor.next_member(key));
    EXPECT_EQ(cursor.status().error().code, ErrorCode::kBadFile);
  }
}

}  // namespace
}  // namespace anedvd
