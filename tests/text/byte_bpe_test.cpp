// Byte-level BPE on vocabularies small enough to read, and its promises: nothing is lost, nothing forged, nothing slow.
#include <algorithm>
#include <chrono>

#include <gtest/gtest.h>

#include "text/byte_map.h"
#include "text/fake_config.h"
#include "text/tokenizer.h"

namespace anedvd {
namespace {

// All bytes (ids 0–255), then merges, then <|im_start|> and <|im_end|> (control) and "<user>" (user-defined).
FakeConfig small_config(const std::string& pre = "smollm") {
  std::vector<std::string> tokens;
  for (unsigned byte = 0; byte < 256; ++byte) {
    std::string text;
    append_mapped(std::string(1, static_cast<char>(byte)), text);
    tokens.push_back(text);
  }
  const std::vector<std::string> merges = {"a a", "aa aa", "h i", "Ġ hi", "< |", "<| x", "Ġ Ġ"};
  for (std::string merge : merges) {
    merge.erase(merge.find(' '), 1);
    tokens.push_back(merge);
  }
  std::vector<int64_t> types(tokens.size(), 1);
  for (const char* text : {"<|im_start|>", "<|im_end|>"}) {
    tokens.emplace_back(text);
    types.push_back(3);
  }
  tokens.emplace_back("<user>");
  types.push_back(4);
  FakeConfig config;
  config["tokenizer.ggml.model"] = std::string("gpt2");
  config["tokenizer.ggml.pre"] = pre;
  config["tokenizer.ggml.tokens"] = tokens;
  config["tokenizer.ggml.token_type"] = types;
  config["tokenizer.ggml.merges"] = merges;
  return config;
}

constexpr Token kAa = 256, kAaaa = 257, kHi = 258, kSpaceHi = 259, kEnd = 264, kUser = 265;

std::string decode(const Tokenizer& tokenizer, const std::vector<Token>& tokens, bool with_control = false) {
  std::string bytes;
  for (const Token token : tokens) tokenizer.append_bytes(token, bytes, with_control);
  return bytes;
}

TEST(ByteBpe, MergesTheLowestRankFirstAndTheLeftmostOnTies) {
  const FakeConfig config = small_config();
  const auto tokenizer = make_gguf_tokenizer(config, "test").value();
  EXPECT_EQ(tokenizer->encode("aaaaa", Specials::kAsText), (std::vector<Token>{kAaaa, 'a'}));
  EXPECT_EQ(tokenizer->encode("aaa", Specials::kAsText), (std::vector<Token>{kAa, 'a'}));
  EXPECT_EQ(tokenizer->encode("hi hi", Specials::kAsText), (std::vector<Token>{kHi, kSpaceHi}));
}

TEST(ByteBpe, ControlTokensComeFromTemplatesOnly) {
  const FakeConfig config = small_config();
  const auto tokenizer = make_gguf_tokenizer(config, "test").value();
  const std::string text = "hi<|im_end|>hi";
  EXPECT_EQ(tokenizer->encode(text, Specials::kAsTokens), (std::vector<Token>{kHi, kEnd, kHi}));
  for (const Token token : tokenizer->encode(text, Specials::kAsText)) EXPECT_FALSE(tokenizer->is_control(token));
  EXPECT_EQ(decode(*tokenizer, tokenizer->encode(text, Specials::kAsText)), text);
  EXPECT_EQ(decode(*tokenizer, tokenizer->encode(text, Specials::kAsTokens)), "hihi");
  EXPECT_EQ(decode(*tokenizer, tokenizer->encode(text, Specials::kAsTokens), true), text);
}

TEST(ByteBpe, UserDefinedPiecesAreFoundInAnyText) {
  const FakeConfig config = small_config();
  const auto tokenizer = make_gguf_tokenizer(config, "test").value();
  EXPECT_EQ(tokenizer->encode("hi<user>hi", Specials::kAsText), (std::vector<Token>{kHi, kUser, kHi}));
}

// A file whose merges would build a control token's text, or whose vocabulary holds it as a whole word.
TEST(ByteBpe, NeitherMergesNorWholeWordsForgeControlTokens) {
  FakeConfig config = small_config("poro-chat");  // "<s>" is one word to this pre-tokenizer
  auto& tokens = std::get<std::vector<std::string>>(config["tokenizer.ggml.tokens"]);
  tokens.insert(tokens.end(), {"<s", "<s>"});
  auto& types = std::get<std::vector<int64_t>>(config["tokenizer.ggml.token_type"]);
  types.insert(types.end(), {1, 3});
  auto& merges = std::get<std::vector<std::string>>(config["tokenizer.ggml.merges"]);
  merges.insert(merges.end(), {"< s", "<s >"});
  for (const char* pre : {"poro-chat", "llama-bpe", "kimi-k2"}) {
    config["tokenizer.ggml.pre"] = std::string(pre);
    const auto tokenizer = make_gguf_tokenizer(config, "test").value();
    for (const Token token : tokenizer->encode("<s>", Specials::kAsText))
      EXPECT_FALSE(tokenizer->is_control(token)) << pre;
  }
}

TEST(ByteBpe, AnyBytesComeBack) {
  const FakeConfig config = small_config();
  const auto tokenizer = make_gguf_tokenizer(config, "test").value();
  std::string all;
  for (unsigned byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  all += "\xE2\x82 \xF0\x9F\x98 \xED\xA0\x80 \xC0\x80";
  EXPECT_EQ(decode(*tokenizer, tokenizer->encode(all, Specials::kAsText)), all);
}

TEST(ByteBpe, IdsOutOfRangeAreIgnored) {
  FakeConfig config = small_config();
  config["tokenizer.ggml.eos_token_id"] = int64_t{264};
  config["tokenizer.ggml.eot_token_id"] = int64_t{4711};
  config["tokenizer.ggml.bos_token_id"] = int64_t{-1};
  config["tokenizer.ggml.add_bos_token"] = true;
  const auto tokenizer = make_gguf_tokenizer(config, "test").value();
  EXPECT_TRUE(tokenizer->is_end(264));
  EXPECT_FALSE(tokenizer->is_end(4711));
  EXPECT_FALSE(tokenizer->is_end(-1));
  EXPECT_FALSE(tokenizer->adds_bos());
  std::string bytes;
  tokenizer->append_bytes(4711, bytes, true);
  tokenizer->append_bytes(-1, bytes, true);
  EXPECT_EQ(bytes, "");
}

TEST(ByteBpe, UnknownNamesAreRefusedByName) {
  FakeConfig config = small_config("glorp-7");
  auto refused = make_gguf_tokenizer(config, "x.gguf");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(refused.error().message.find("glorp-7"), std::string::npos) << refused.error().message;
  config["tokenizer.ggml.model"] = std::string("plamo2");
  refused = make_gguf_tokenizer(config, "x.gguf");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("plamo2"), std::string::npos) << refused.error().message;
}

TEST(ByteBpe, BrokenTablesAreBadFiles) {
  FakeConfig config = small_config();
  config["tokenizer.ggml.token_type"] = std::vector<int64_t>{1, 2};
  EXPECT_EQ(make_gguf_tokenizer(config, "x").error().code, ErrorCode::kBadFile);
  config = small_config();
  config["tokenizer.ggml.tokens"] = std::vector<std::string>{};
  EXPECT_FALSE(make_gguf_tokenizer(config, "x"));
  // Merges of pieces that do not exist, without a space, empty: left out.
  config = small_config();
  config["tokenizer.ggml.merges"] = std::vector<std::string>{"zz zz", "", " ", "x", "a a"};
  EXPECT_EQ(make_gguf_tokenizer(config, "x").value()->encode("aa", Specials::kAsText), std::vector<Token>{kAa});
}

// Short words are merged by scanning, long ones with a heap: both must give the same.
TEST(ByteBpe, LongWordsMergeLikeShortOnes) {
  const FakeConfig config = small_config();
  const auto tokenizer = make_gguf_tokenizer(config, "test").value();
  for (size_t length : {4u, 47u, 48u, 49u, 50u, 51u, 400u}) {
    std::vector<Token> expected(length / 4, kAaaa);
    if (length % 4 >= 2) expected.push_back(kAa);
    if (length % 2 == 1) expected.push_back('a');
    EXPECT_EQ(tokenizer->encode(std::string(length, 'a'), Specials::kAsText), expected) << length;
  }
}

TEST(ByteBpe, HostileLengthsStayFast) {
  for (const char* pre :
       {"smollm", "llama-bpe", "qwen2", "gpt-4o", "deepseek-llm", "jais-2", "superbpe", "kimi-k2", "tiny_aya"}) {
    const FakeConfig config = small_config(pre);
    const auto tokenizer = make_gguf_tokenizer(config, "test").value();
    for (const std::string unit : {"a", " ", "1", "\n", " \n", "A", "中", "😀", "\xFF", "'", "<|", " x  "}) {
      std::string text;
      while (text.size() < 200'000) text += unit;
      text += "x";
      const auto start = std::chrono::steady_clock::now();
      const auto tokens = tokenizer->encode(text, Specials::kAsText);
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
      EXPECT_LT(taken.count(), 2.0) << pre << " " << unit;  // sanitizers are slow; without them it is some 20 ms
      EXPECT_EQ(decode(*tokenizer, tokens), text);
    }
  }
}

}  // namespace
}  // namespace anedvd
