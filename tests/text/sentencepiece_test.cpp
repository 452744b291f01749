// Score-merged, merge-listed, unigram and WordPiece vocabularies on a few pieces each.
#include <algorithm>

#include <gtest/gtest.h>

#include "text/fake_config.h"
#include "text/models/charsmap.h"
#include "text/tokenizer.h"

namespace anedvd {
namespace {

struct Piece {
  std::string text;
  double score;
  int64_t type;
};

FakeConfig config_of(const std::string& model, std::vector<Piece> pieces, bool bytes = true) {
  if (bytes) {
    for (int byte = 0; byte < 256; ++byte) pieces.push_back({fmt::format("<0x{:02X}>", byte), 0, 6});
  }
  std::vector<std::string> tokens;
  std::vector<double> scores;
  std::vector<int64_t> types;
  for (const Piece& piece : pieces) {
    tokens.push_back(piece.text);
    scores.push_back(piece.score);
    types.push_back(piece.type);
  }
  FakeConfig config;
  config["tokenizer.ggml.model"] = model;
  config["tokenizer.ggml.tokens"] = tokens;
  config["tokenizer.ggml.scores"] = scores;
  config["tokenizer.ggml.token_type"] = types;
  return config;
}

// 0–2: marks; then pieces with scores; then byte tokens from 13 on.
const std::vector<Piece> kLlama = {{"<unk>", 0, 2}, {"<s>", 0, 3}, {"</s>", 0, 3}, {"▁", -10, 1},  {"a", -11, 1},
                                   {"b", -12, 1},   {"ab", -1, 1}, {"▁a", -2, 1},  {"▁ab", -3, 1}, {"ba", -1, 1},
                                   {"<", -20, 1},   {"s", -21, 1}, {"▁▁", -4, 1}};
constexpr Token kFirstByte = 13;

std::vector<Token> encode(const Tokenizer& tokenizer, std::string_view text) {
  return tokenizer.encode(text, Specials::kAsText);
}

TEST(Spm, HighestScoreFirstLeftmostOnTies) {
  const FakeConfig config = config_of("llama", kLlama);
  const auto tokenizer = make_gguf_tokenizer(config, "test").value();
  // ▁abab: ab (−1) at 0 ties with ba (−1) at 1: leftmost; then ab again; then ▁ab.
  EXPECT_EQ(encode(*tokenizer, "abab"), (std::vector<Token>{8, 6}));
  EXPECT_TRUE(tokenizer->adds_bos());
  EXPECT_TRUE(tokenizer->is_end(2));
  EXPECT_TRUE(tokenizer->drops_first_space());
}

TEST(Spm, SpacePrefixAtTheStartAndAfterWholeTokens) {
  FakeConfig config = config_of("llama", kLlama);
  auto tokenizer = make_gguf_tokenizer(config, "test").value();
  EXPECT_EQ(encode(*tokenizer, "a"), (std::vector<Token>{7}));
  EXPECT_EQ(encode(*tokenizer, " a"), (std::vector<Token>{3, 7}));  // ▁a (−2) comes before ▁▁ (−4)
  EXPECT_EQ(encode(*tokenizer, ""), std::vector<Token>{});
  EXPECT_EQ(tokenizer->encode("a</s>a", Specials::kAsTokens), (std::vector<Token>{7, 2, 7}));
  config["tokenizer.ggml.add_space_prefix"] = false;
  tokenizer = make_gguf_tokenizer(config, "test").value();
  EXPECT_EQ(encode(*tokenizer, "a"), (std::vector<Token>{4}));
  EXPECT_FALSE(tokenizer->drops_first_space());
}

TEST(Spm, WholeTextsComeBackWithoutTheSpacePutBeforeThem) {
  FakeConfig config = config_of("llama", kLlama);
  auto tokenizer = make_gguf_tokenizer(config, "test").value();
  for (const char* text : {"", "a", " a", "  ab", "ab ba"}) {
    EXPECT_EQ(text_of(*tokenizer, encode(*tokenizer, text)), text);
  }
  EXPECT_EQ(text_of(*tokenizer, std::vector<Token>{1, 7, 2, 7}), "a a");
  EXPECT_EQ(text_of(*tokenizer, std::vector<Token>{1, 7, 2, 7}, true), "<s> a</s> a");
  EXPECT_EQ(text_of(*tokenizer, std::vector<Token>{4, 7}), "a a");
  config["tokenizer.ggml.add_space_prefix"] = false;
  tokenizer = make_gguf_tokenizer(config, "test").value();
  EXPECT_EQ(text_of(*tokenizer, std::vector<Token>{7}), " a");
}

TEST(Spm, UnknownCharactersBecomeBytesAndByteTextsStayText) {
  const FakeConfig config = config_of("llama", kLlama);
  const auto tokenizer = make_gguf_tokenizer(config, "test").value();
  EXPECT_EQ(encode(*tokenizer, "é"), (std::vector<Token>{3, kFirstByte + 0xC3, kFirstByte + 0xA9}));
  const auto typed = encode(*tokenizer, "<0x0A>");
  EXPECT_EQ(std::ranges::count(typed, kFirstByte + 0x0A), 0);
  std::string back;
  for (const Token token : encode(*tokenizer, "a\n\xFFé<s>")) tokenizer->append_bytes(token, back);
  EXPECT_EQ(back, " a\n\xFFé<s>");
}

// </s> would come together from its characters, if control tokens could.
TEST(Spm, TextNeverMergesIntoControlTokens) {
  std::vector<Piece> pieces = kLlama;
  for (const char* text : {"/", ">", "</", "</s"}) pieces.push_back({text, -1, 1});
  const FakeConfig config = config_of("llama", pieces);
  const auto tokenizer = make_gguf_tokenizer(config, "test").value();
  for (const Token token : encode(*tokenizer, "</s><s><unk>")) EXPECT_GT(token, 2);
}

TEST(Spm, AnEndMarkOfTheWrongTypeIsAControlTokenWhereItsPartnerIs) {
  std::vector<Piece> pieces = kLlama;
  pieces[2].type = 4;
  FakeConfig config = config_of("llama", pieces);
  EXPECT_TRUE(make_gguf_tokenizer(config, "test").value()->is_control(2));
  pieces[1].type = 4;  // both are tags of some markup language
  config = config_of("llama", pieces);
  config["tokenizer.ggml.eos_token_id"] = int64_t{0};
  const auto tokenizer = make_gguf_tokenizer(config, "test").value();
  EXPECT_FALSE(tokenizer->is_control(2));
  EXPECT_FALSE(tokenizer->is_end(2));
}

TEST(Spm, PhiMarksTakeTheSpaceAfterThem) {
  std::vector<Piece> pieces = kLlama;
  pieces.push_back({"<|end|>", 0, 3});
  FakeConfig config = config_of("llama", pieces);
  const Token end = static_cast<Token>(kLlama.size());
  EXPECT_EQ(make_gguf_tokenizer(config, "test").value()->encode("<|end|> \n", Specials::kAsTokens).size(), 3u);
  config["general.name"] = std::string("Phi-3 mini");
  EXPECT_EQ(make_gguf_tokenizer(config, "test").value()->encode("<|end|> \n", Specials::kAsTokens),
            std::vector<Token>{end});
}

TEST(Spm, ScoresMustBeThereForEveryToken) {
  FakeConfig config = config_of("llama", kLlama);
  config["tokenizer.ggml.scores"] = std::vector<double>{1, 2};
  EXPECT_EQ(make_gguf_tokenizer(config, "test").error().code, ErrorCode::kBadFile);
}

TEST(Gemma4, MergesCharactersAndKeepsLineFeedsApart) {
  std::vector<Piece> pieces = {{"<pad>", 0, 3}, {"<eos>", 0, 3}, {"<bos>", 0, 3}, {"▁", 0, 1},  {"a", 0, 1},
                               {"▁a", 0, 1},    {"\n", 0, 1},    {"\n\n", 0, 1},  {"a\n", 0, 1}};
  FakeConfig config = config_of("gemma4", pieces);
  config["tokenizer.ggml.merges"] = std::vector<std::string>{"\n \n", "▁ a", "a \n"};
  config["tokenizer.ggml.bos_token_id"] = int64_t{2};
  config["tokenizer.ggml.add_bos_token"] = false;
  const auto tokenizer = make_gguf_tokenizer(config, "test").value();
  EXPECT_EQ(encode(*tokenizer, "a a\n\n"), (std::vector<Token>{4, 5, 7}));
  EXPECT_TRUE(tokenizer->adds_bos());
}

TEST(Unigram, TakesTheBestSumOfScores) {
  const std::vector<Piece> pieces = {{"<pad>", 0, 3}, {"</s>", 0, 3}, {"<unk>", 0, 2}, {"▁", -3, 1},   {"a", -4, 1},
                                     {"b", -4, 1},    {"ab", -5, 1},  {"▁a", -5, 1},   {"▁aba", -7, 1}};
  FakeConfig config = config_of("t5", pieces, false);
  config["tokenizer.ggml.add_space_prefix"] = true;
  config["tokenizer.ggml.remove_extra_whitespaces"] = true;
  const auto tokenizer = make_gguf_tokenizer(config, "test").value();
  EXPECT_EQ(encode(*tokenizer, "ab"), (std::vector<Token>{3, 6}));  // −3 −5 beats −5 −4
  EXPECT_EQ(encode(*tokenizer, "  aba   ab "), (std::vector<Token>{8, 3, 6}));
  EXPECT_EQ(encode(*tokenizer, "axyb"), (std::vector<Token>{7, 2, 5}));  // unknown characters are one token together
  EXPECT_EQ(encode(*tokenizer, "   "), std::vector<Token>{});
}

TEST(Charsmap, BrokenTablesAreRefusedOrHarmless) {
  EXPECT_FALSE(Charsmap::parse("abc", "x"));
  EXPECT_FALSE(Charsmap::parse(std::string("\xFF\xFF\x00\x00zzzz", 8), "x"));
  EXPECT_FALSE(Charsmap::parse(std::string("\x04\x00\x00\x00zzzzno end", 14), "x"));
  // Offsets that point far outside.
  const auto map = Charsmap::parse(std::string("\x04\x00\x00\x00\xFF\xFF\xFF\xFFr\0", 10), "x");
  ASSERT_TRUE(map);
  EXPECT_EQ(map->apply("abc\xFF"), "abc\xEF\xBF\xBD");
}

TEST(Wordpiece, LongestPiecesFirstAfterCleaning) {
  std::vector<Piece> pieces = {{"[PAD]", 0, 3}, {"[UNK]", 0, 3}, {"[CLS]", 0, 3}, {"▁un", 0, 1}, {"want", 0, 1},
                               {"ed", 0, 1},    {"▁,", 0, 1},    {"▁中", 0, 1},   {"▁e", 0, 1}};
  FakeConfig config = config_of("bert", pieces, false);
  config["tokenizer.ggml.unknown_token_id"] = int64_t{1};
  config["tokenizer.ggml.cls_token_id"] = int64_t{2};
  const auto tokenizer = make_gguf_tokenizer(config, "test").value();
  EXPECT_EQ(encode(*tokenizer, "UNwanted,\tun\x01want"), (std::vector<Token>{3, 4, 5, 6, 3, 4}));
  EXPECT_EQ(encode(*tokenizer, "unwanx un"), (std::vector<Token>{1, 3}));
  EXPECT_EQ(encode(*tokenizer, "un中É"), (std::vector<Token>{3, 7, 8}));
  EXPECT_EQ(encode(*tokenizer, std::string(101, 'u')), (std::vector<Token>{1}));
  EXPECT_EQ(tokenizer->bos(), 2);
}

}  // namespace
}  // namespace anedvd
