#include "formats/hf_config.h"

#include <cmath>

#include <gtest/gtest.h>

namespace anedvd {
namespace {

HfConfig parse(const std::string& config, const std::string& generation = "") {
  auto result = HfConfig::read(config, generation, "folder");
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  return std::move(*result);
}

std::string refusal(const std::string& config, const std::string& generation = "") {
  const auto result = HfConfig::read(config, generation, "folder");
  EXPECT_FALSE(result);
  return result ? "" : result.error().message;
}

TEST(HfConfig, NumbersOfAnyWidthAreRead) {
  const HfConfig config = parse(R"({"i": 7, "f": 7.0, "h": 7.5, "big": 9223372036854775807, "too": 9223372036854775808,
                                    "neg": -3, "huge": 1e300, "t": true, "one": 1, "two": 2, "s": "7"})");
  EXPECT_EQ(config.integer("i"), 7);
  EXPECT_EQ(config.integer("f"), 7);
  EXPECT_EQ(config.integer("h"), std::nullopt);
  EXPECT_EQ(config.integer("big"), INT64_MAX);
  EXPECT_EQ(config.integer("too"), std::nullopt);
  EXPECT_EQ(config.integer("neg"), -3);
  EXPECT_EQ(config.integer("huge"), std::nullopt);
  EXPECT_EQ(config.integer("t"), std::nullopt);
  EXPECT_EQ(config.integer("s"), std::nullopt);
  EXPECT_EQ(config.number("i"), 7.0);
  EXPECT_EQ(config.number("h"), 7.5);
  EXPECT_EQ(config.number("huge"), 1e300);
  EXPECT_EQ(config.number("t"), std::nullopt);
  EXPECT_EQ(config.boolean("t"), true);
  EXPECT_EQ(config.boolean("one"), true);
  EXPECT_EQ(config.boolean("two"), std::nullopt);
  EXPECT_EQ(config.boolean("i"), std::nullopt);
  EXPECT_EQ(config.string("s"), "7");
  EXPECT_EQ(config.string("i"), std::nullopt);
}

TEST(HfConfig, DotsGoIntoObjects) {
  const HfConfig config = parse(R"({"rope_parameters": {"full_attention": {"rope_theta": 1e6}, "n": null}, "a": 1})");
  EXPECT_EQ(config.number("rope_parameters.full_attention.rope_theta"), 1e6);
  EXPECT_TRUE(config.has("rope_parameters.full_attention"));
  for (const char* key : {"rope_parameters.sliding_attention.rope_theta", "rope_parameters.n", "rope_parameters.n.x",
                          "a.b", "", ".", "rope_parameters.", ".a", "rope_parameters..x"})
    EXPECT_FALSE(config.has(key)) << key;
}

TEST(HfConfig, NullIsAbsent) {
  const HfConfig config = parse(R"({"head_dim": null})");
  EXPECT_FALSE(config.has("head_dim"));
  EXPECT_EQ(config.integer("head_dim"), std::nullopt);
  EXPECT_EQ(config.integers("head_dim").error().code, ErrorCode::kNotFound);
}

TEST(HfConfig, TheTextConfigComesFirstThenTheTopLevel) {
  const HfConfig config = parse(R"({"hidden_size": 1, "eos_token_id": 5, "only": 2,
    "text_config": {"hidden_size": 64, "eos_token_id": null, "rope_scaling": {"factor": 2}}, "rope_scaling": {"type": "x"},
    "vision_config": {"hidden_size": 9}})");
  EXPECT_EQ(config.integer("hidden_size"), 64);
  EXPECT_EQ(config.integer("eos_token_id"), 5);
  EXPECT_EQ(config.integer("only"), 2);
  EXPECT_EQ(config.integer("text_config.hidden_size"), 64);
  EXPECT_EQ(config.integer("vision_config.hidden_size"), 9);
  // An object is one or the other, not a mixture of both.
  EXPECT_EQ(config.integer("rope_scaling.factor"), 2);
  EXPECT_FALSE(config.has("rope_scaling.type"));
  EXPECT_EQ(parse(R"({"text_config": [1], "a": 3})").integer("a"), 3);
}

TEST(HfConfig, GenerationSettingsHaveAPrefix) {
  const HfConfig config = parse(R"({"eos_token_id": 1})", R"({"eos_token_id": [2, 3]})");
  EXPECT_EQ(config.integer("eos_token_id"), 1);
  EXPECT_EQ(*config.integers("generation_config.eos_token_id"), (std::vector<int64_t>{2, 3}));
  EXPECT_FALSE(parse("{}").has("generation_config.eos_token_id"));
}

TEST(HfConfig, ArraysAreReadWhole) {
  const HfConfig config = parse(
      R"({"names": ["full_attention", "x"], "flags": [1, 0, true, false], "f": [1, 2.5], "mixed": ["a", 1], "n": 3})");
  EXPECT_EQ(config.array_size("names"), 2);
  EXPECT_EQ(config.array_size("n"), std::nullopt);
  EXPECT_EQ(*config.strings("names"), (std::vector<std::string_view>{"full_attention", "x"}));
  EXPECT_EQ(*config.integers("flags"), (std::vector<int64_t>{1, 0, 1, 0}));
  EXPECT_EQ(*config.numbers("f"), (std::vector<double>{1, 2.5}));
  EXPECT_EQ(config.integers("f").error().message,
            "folder: config key \"f\", entry 1 is not a whole number of 64 bits; use another model");
  EXPECT_EQ(config.strings("mixed").error().code, ErrorCode::kBadFile);
  EXPECT_EQ(config.numbers("mixed").error().code, ErrorCode::kBadFile);
  EXPECT_EQ(config.integers("n").error().message, "folder: config key \"n\" is no array; use another model");
}

TEST(HfConfig, DescribeShowsEveryKeyAsAPersonReadsIt) {
  const HfConfig config =
      parse(R"({"b": true, "a": {"z": 1.5, "y": "t\u001b[1m"}, "e": [1, "x", [2], {}], "gone": null, "o": {}})",
            R"({"eos_token_id": 2})");
  const std::vector<std::pair<std::string, std::string>> want = {
      {"a.y", "t\\x1b[1m"}, {"a.z", "1.5"},
      {"b", "true"},        {"e", "4 entries: 1, \"x\", […], {…}"},
      {"o", "{…}"},         {"generation_config.eos_token_id", "2"}};
  EXPECT_EQ(config.describe(), want);
}

TEST(HfConfig, WhatIsNoObjectIsRefused) {
  EXPECT_EQ(refusal("[]"), "folder/config.json: holds no JSON object; fetch it again");
  EXPECT_NE(refusal("{").find("folder/config.json: not valid JSON"), std::string::npos);
  EXPECT_NE(refusal("{}", "5").find("folder/generation_config.json: holds no JSON object"), std::string::npos);
}

TEST(HfConfig, NestingIsBounded) {
  const std::string open(100000, '['), close(100000, ']');
  for (const std::string& deep : {open, open + close, "{\"a\":" + open + close + "}"}) {
    EXPECT_NE(refusal(deep).find("nested deeper than"), std::string::npos);
    EXPECT_NE(refusal("{}", deep).find("nested deeper than"), std::string::npos);
  }
}

}  // namespace
}  // namespace anedvd
