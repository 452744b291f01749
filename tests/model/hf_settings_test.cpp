// Settings of Hugging Face folders: old and new spellings, absent and null keys, and what is refused.
#include "model/hf_settings.h"

#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/fake_source.h"

namespace anedvd {
namespace {

nlohmann::json usual() {
  return {{"model_type", "llama"},
          {"hidden_size", 64},
          {"num_hidden_layers", 2},
          {"num_attention_heads", 4},
          {"intermediate_size", 96},
          {"rms_norm_eps", 1e-5},
          {"rope_theta", 5000.0},
          {"hidden_act", "silu"},
          {"vocab_size", 99},
          {"num_key_value_heads", 2},
          {"max_position_embeddings", 512}};
}

FakeHfSource source_of(const nlohmann::json& config) {
  FakeHfSource source(config.dump());
  source.tensor("model.embed_tokens.weight", {101, 64});
  return source;
}

ModelSpec read(const nlohmann::json& config) {
  const auto spec = read_usual_hf_settings(source_of(config));
  EXPECT_TRUE(spec) << (spec ? "" : spec.error().message);
  return spec ? *spec : ModelSpec{};
}

std::string refusal(const nlohmann::json& config) {
  const auto spec = read_usual_hf_settings(source_of(config));
  EXPECT_FALSE(spec) << config.dump();
  return spec ? "" : spec.error().message;
}

TEST(HfSettings, TheUsualKeysAreRead) {
  const ModelSpec spec = read(usual());
  EXPECT_EQ(spec.architecture, "llama");
  EXPECT_EQ(spec.name, "folder");
  EXPECT_EQ(spec.hidden, 64);
  EXPECT_EQ(spec.context, 512);
  EXPECT_EQ(spec.norm_eps, 1e-5f);
  EXPECT_FALSE(spec.adjacent_rope_rows);
  ASSERT_EQ(spec.layers.size(), 2u);
  EXPECT_EQ(spec.layers[1].heads, 4);
  EXPECT_EQ(spec.layers[1].kv_heads, 2);
  EXPECT_EQ(spec.layers[1].head_dim, 16);
  EXPECT_EQ(spec.layers[1].ffn_width, 96);
  EXPECT_EQ(spec.layers[1].attention_scale, 0.25f);
  EXPECT_EQ(spec.activation, Activation::kSilu);
  ASSERT_EQ(spec.ropes.size(), 1u);
  EXPECT_EQ(spec.ropes[0].inverse_frequency, plain_frequencies(5000, 16));
}

TEST(HfSettings, TheVocabularyIsTheEmbeddingsRows) { EXPECT_EQ(read(usual()).vocab, 101); }

TEST(HfSettings, TheHeadsTensorDecidesWhetherItIsTied) {
  for (const bool flag : {true, false}) {
    auto config = usual();
    config["tie_word_embeddings"] = flag;
    FakeHfSource source = source_of(config);
    EXPECT_TRUE(read_usual_hf_settings(source)->tied_head);
    source.tensor("lm_head.weight", {101, 64});
    EXPECT_FALSE(read_usual_hf_settings(source)->tied_head);
  }
}

TEST(HfSettings, OptionalKeysMayBeAbsentOrNull) {
  for (const bool is_null : {false, true}) {
    auto config = usual();
    for (const char* key : {"head_dim", "num_key_value_heads", "rms_norm_eps", "rope_theta", "rope_scaling",
                            "rope_parameters", "max_position_embeddings", "hidden_act", "attention_bias"}) {
      config.erase(key);
      if (is_null) config[key] = nullptr;
    }
    const ModelSpec spec = read(config);
    EXPECT_EQ(spec.layers[0].head_dim, 16);
    EXPECT_EQ(spec.layers[0].kv_heads, 4);
    EXPECT_EQ(spec.norm_eps, 1e-6f);
    EXPECT_EQ(spec.context, 2048);
    EXPECT_EQ(spec.ropes[0].inverse_frequency, plain_frequencies(10000, 16));
  }
}

// Qwen3-0.6B and Gemma 3 270M: heads × head width is not the model's width.
TEST(HfSettings, AHeadWidthThatIsGivenIsUsed) {
  for (const auto& [hidden, heads, head_dim] : {std::tuple(1024, 16, 128), std::tuple(640, 4, 256)}) {
    auto config = usual();
    config["hidden_size"] = hidden;
    config["num_attention_heads"] = heads;
    config["head_dim"] = head_dim;
    const ModelSpec spec = read(config);
    EXPECT_EQ(spec.layers[0].head_dim, head_dim);
    EXPECT_EQ(spec.layers[0].attention_scale, float(1 / std::sqrt(double(head_dim))));
    EXPECT_EQ(spec.ropes[0].rotated, head_dim);
  }
}

TEST(HfSettings, TheTextModelsNumbersWinOverTheOuterOnes) {
  auto config = usual();
  config["model_type"] = "gemma3";
  config["text_config"] = {{"model_type", "gemma3_text"}, {"hidden_size", 32}, {"num_attention_heads", 2}};
  const ModelSpec spec = read(config);
  EXPECT_EQ(spec.architecture, "gemma3_text");
  EXPECT_EQ(spec.hidden, 32);
  EXPECT_EQ(spec.layers[0].heads, 2);
  EXPECT_EQ(spec.layers[0].ffn_width, 96);
}

TEST(HfSettings, EachLayerTypeMayHaveItsOwnRotation) {
  auto config = usual();
  config.erase("rope_theta");
  config["rope_parameters"] = {
      {"full_attention", {{"rope_type", "linear"}, {"factor", 8.0}, {"rope_theta", 1e6}}},
      {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 1e4}}},
  };
  const FakeHfSource source = source_of(config);
  const auto full = read_hf_rope(source, 16, 512, "full_attention");
  const auto sliding = read_hf_rope(source, 16, 512, "sliding_attention");
  EXPECT_EQ(full->scaling, RopeScaling::kLinear);
  EXPECT_EQ(full->factor, 8);
  EXPECT_EQ(full->base, 1e6);
  EXPECT_EQ(sliding->scaling, RopeScaling::kNone);
  EXPECT_EQ(sliding->base, 1e4);
  EXPECT_EQ(read_hf_rope(source, 16, 512)->base, 1e6);
}

TEST(HfSettings, DynamicScalingIsPlainRotation) {
  auto config = usual();
  config["rope_scaling"] = {{"type", "dynamic"}, {"factor", 2.0}};
  EXPECT_EQ(read(config).ropes[0].inverse_frequency, plain_frequencies(5000, 16));
}

// Its short divisors are right only there.
TEST(HfSettings, LongropeKeepsSessionsWithinTheOriginalContext) {
  auto config = usual();
  const std::vector<double> divisors(8, 2.0), far(8, 9.0);
  config["original_max_position_embeddings"] = 128;
  config["rope_scaling"] = {{"type", "longrope"}, {"short_factor", divisors}, {"long_factor", far}};
  const ModelSpec spec = read(config);
  EXPECT_EQ(spec.context, 128);
  EXPECT_EQ(spec.ropes[0].inverse_frequency[0], 0.5);
  EXPECT_NEAR(spec.ropes[0].magnitude, std::sqrt(1 + std::log(4.0) / std::log(128.0)), 1e-15);
}

TEST(HfSettings, WhatMakesNoSenseIsRefusedByItsKey) {
  const auto with = [](const char* key, const nlohmann::json& value) {
    auto config = usual();
    config[key] = value;
    return config;
  };
  EXPECT_EQ(refusal(with("hidden_size", nullptr)),
            "folder: config.json has no \"hidden_size\"; fetch the folder again");
  EXPECT_EQ(refusal(with("hidden_size", "64")),
            "folder: \"hidden_size\" in config.json is not a whole number; use another model");
  EXPECT_EQ(refusal(with("num_hidden_layers", 1025)),
            "folder: \"num_hidden_layers\" in config.json is 1025, which makes no sense; use another model");
  for (const char* key : {"hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim",
                          "intermediate_size", "max_position_embeddings"})
    for (const nlohmann::json& value : {nlohmann::json(0), nlohmann::json(-1), nlohmann::json(int64_t(1) << 40),
                                        nlohmann::json(1.5), nlohmann::json("x")})
      EXPECT_NE(refusal(with(key, value)).find(key), std::string::npos) << key << value;
  EXPECT_NE(refusal(with("num_attention_heads", 128)).find("128 heads"), std::string::npos);
  EXPECT_NE(refusal(with("num_key_value_heads", 3)).find("share 3"), std::string::npos);
  EXPECT_NE(refusal(with("hidden_act", "relu\n2")).find("\"relu\\n2\""), std::string::npos);
  EXPECT_NE(refusal(with("partial_rotary_factor", 1.5)).find("partial_rotary_factor"), std::string::npos);
  EXPECT_NE(refusal(with("rope_scaling", {{"type", "spiral"}})).find("\"spiral\""), std::string::npos);
  EXPECT_NE(refusal(with("rope_scaling", {{"type", "linear"}})).find("factor"), std::string::npos);
  EXPECT_NE(refusal(with("rope_scaling", {{"type", "longrope"}})).find("short_factor"), std::string::npos);
  EXPECT_NE(refusal(with("quantization_config", {{"quant_method", "gptq"}})).find("\"gptq\""), std::string::npos);
  EXPECT_NE(refusal(with("model_type", nullptr)).find("model_type"), std::string::npos);
}

TEST(HfSettings, APromisedBiasThatIsMissingIsRefused) {
  auto config = usual();
  config["attention_bias"] = true;
  FakeHfSource source = source_of(config);
  for (const char* layer : {"0", "1"})
    source.tensor(fmt::format("model.layers.{}.self_attn.q_proj.weight", layer), {64, 64});
  source.tensor("model.layers.0.self_attn.q_proj.bias", {64});
  const auto spec = read_usual_hf_settings(source);
  ASSERT_FALSE(spec);
  EXPECT_EQ(
      spec.error().message,
      "folder: tensor \"model.layers.1.self_attn.q_proj.bias\" is missing (\"attention_bias\" is true); fetch the "
      "folder again");
  source.tensor("model.layers.1.self_attn.q_proj.bias", {64});
  EXPECT_TRUE(read_usual_hf_settings(source));
}

TEST(HfSettings, AMissingEmbeddingIsRefused) {
  const FakeHfSource source(usual().dump());
  EXPECT_EQ(read_usual_hf_settings(source).error().message,
            "folder: tensor \"model.embed_tokens.weight\" is missing; fetch the folder again");
}

}  // namespace
}  // namespace anedvd
