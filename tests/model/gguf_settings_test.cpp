// Settings of GGUF files that contradict themselves, lack something or are hostile: every refusal names the file and the key or tensor.
#include "model/gguf_settings.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/fake_source.h"
#include "model/family.h"
#include "model/plan_builder.h"

namespace anedvd {
namespace {

using Keys = std::map<std::string, nlohmann::json>;

// GGUF keys over the JSON reader, which takes dots as paths, and tensors of zeros.
class FakeGguf final : public FakeSource {
 public:
  explicit FakeGguf(const Keys& keys) : FakeSource(json_of(keys), SourceKind::kGguf, "m.gguf") {}

 private:
  static std::string json_of(const Keys& keys) {
    nlohmann::json json = nlohmann::json::object();
    for (const auto& [name, value] : keys) {
      std::string pointer = "/" + name;
      std::replace(pointer.begin(), pointer.end(), '.', '/');
      json[nlohmann::json::json_pointer(pointer)] = value;
    }
    return json.dump();
  }
};

FakeGguf file_of(const std::string& architecture, const Keys& more, bool with_embedding = true) {
  Keys keys = {{"general.architecture", architecture}};
  const Keys usual = {{"block_count", 2},          {"context_length", 512},     {"embedding_length", 64},
                      {"feed_forward_length", 96}, {"attention.head_count", 4}, {"attention.head_count_kv", 2}};
  for (const auto& [name, value] : usual) keys[architecture + "." + name] = value;
  for (const auto& [name, value] : more) {
    if (value.is_null()) {
      keys.erase(architecture + "." + name);
    } else {
      keys[architecture + "." + name] = value;
    }
  }
  FakeGguf file(keys);
  if (with_embedding) file.tensor("token_embd.weight", {99, 64});
  return file;
}

Result<ModelSpec> read(const FakeGguf& file) {
  ANEDVD_TRY(const Family* family, find_family(file));
  return family->read(file);
}

struct Refusal {
  std::string architecture;
  Keys keys;
  std::string words;  // a part of the message
};

TEST(GgufSettings, RefusalsNameTheKey) {
  const Refusal kCases[] = {
      {"llama", {{"block_count", nullptr}}, "llama.block_count"},
      {"llama", {{"block_count", 100000}}, "100000 layers"},
      {"llama", {{"embedding_length", 0}}, "llama.embedding_length"},
      {"llama", {{"embedding_length", 1LL << 40}}, "llama.embedding_length"},
      {"llama", {{"attention.head_count", {4, 4, 4}}}, "llama.attention.head_count\" has 3 entries for 2 layers"},
      {"llama", {{"attention.head_count_kv", 3}}, "4 heads cannot share 3"},
      {"llama", {{"attention.key_length", 1 << 20}}, "a head of 1048576"},
      {"llama", {{"attention.value_length", 8}}, "value heads of 8"},
      {"llama", {{"rope.dimension_count", 17}}, "llama.rope.dimension_count"},
      {"llama", {{"rope.dimension_count", 18}}, "llama.rope.dimension_count"},
      {"llama", {{"rope.freq_base", 0.0}}, "rotary base"},
      {"llama", {{"rope.scaling.type", "odd"}}, "\"odd\""},
      {"llama", {{"rope.scaling.type", "yarn"}, {"rope.scaling.factor", 2.0}}, "original context"},
      {"llama", {{"attention.layer_norm_rms_epsilon", -1.0}}, "llama.attention.layer_norm_rms_epsilon"},
      {"llama", {{"expert_count", 4}}, "llama.expert_used_count"},
      {"llama", {{"expert_count", 4}, {"expert_used_count", 5}}, "5 of 4 experts"},
      {"qwen2moe", {}, "qwen2moe.expert_count"},
      {"gpt-oss", {}, "gpt-oss.expert_count"},
      {"phi3", {{"rope.scaling.type", "longrope"}}, "phi3.rope.scaling.original_context_length"},
      {"phi3",
       {{"rope.scaling.type", "longrope"}, {"rope.scaling.original_context_length", 64}},
       "rope_factors_short.weight"},
      {"gemma3", {{"attention.sliding_window_pattern", {true}}}, "has 1 entries for 2 layers"},
      {"gemma4", {{"attention.shared_kv_layers", 2}}, "layer 0 shares"},
      {"gemma4", {{"attention.shared_kv_layers", 3}}, "3 of 2 layers"},
      {"granite", {{"logit_scale", 0.0}}, "divided by 0"},
      {"lfm2", {{"shortconv.l_cache", 1000}}, "1000 positions"},
  };
  for (const Refusal& c : kCases) {
    const auto spec = read(file_of(c.architecture, c.keys));
    ASSERT_FALSE(spec) << c.architecture << ": " << c.words;
    EXPECT_TRUE(spec.error().message.starts_with("m.gguf")) << spec.error().message;
    EXPECT_NE(spec.error().message.find(c.words), std::string::npos) << spec.error().message;
  }
}

TEST(GgufSettings, MissingTensorsAreNamed) {
  const auto without_embedding = read(file_of("llama", {}, false));
  ASSERT_FALSE(without_embedding);
  EXPECT_NE(without_embedding.error().message.find("token_embd.weight"), std::string::npos);
  const auto unknown = find_family(file_of("mamba", {}));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(unknown.error().message.find("\"mamba\""), std::string::npos);
  EXPECT_NE(unknown.error().message.find("output_norm.weight"), std::string::npos) << unknown.error().message;
}

// A spec that no plan follows from is refused before the plan is written.
TEST(GgufSettings, LayersWithoutHeadsOrWidthAreRefused) {
  for (const auto& [keys, words] : {std::pair<Keys, std::string>{{{"attention.head_count_kv", {2, 0}}}, "no attention"},
                                    {{{"feed_forward_length", {96, 0}}}, "width of 0"}}) {
    const FakeGguf file = file_of("llama", keys);
    const auto family = find_family(file);
    ASSERT_TRUE(family);
    const auto spec = (*family)->read(file);
    ASSERT_TRUE(spec) << spec.error().message;
    const auto plan = build_plan(*spec, **family, file, 512);
    ASSERT_FALSE(plan);
    EXPECT_NE(plan.error().message.find("layer 1"), std::string::npos) << plan.error().message;
    EXPECT_NE(plan.error().message.find(words), std::string::npos) << plan.error().message;
  }
}

// What GGUF files leave to the architecture.
TEST(GgufSettings, UnsaidThingsFollowTheFamily) {
  const Keys experts = {{"expert_count", 8}, {"expert_used_count", 2}, {"expert_feed_forward_length", 32}};
  EXPECT_TRUE(read(file_of("llama", experts))->layers[0].moe->renormalise);
  EXPECT_FALSE(read(file_of("qwen2moe", experts))->layers[0].moe->renormalise);
  EXPECT_TRUE(read(file_of("qwen3moe", experts))->layers[0].moe->renormalise);
  const auto gemma3 = read(file_of("gemma3", {{"block_count", 12}, {"attention.sliding_window", 512}}));
  ASSERT_TRUE(gemma3);
  for (size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(gemma3->layers[i].window.has_value(), i != 5 && i != 11) << i;
    EXPECT_EQ(gemma3->layers[i].rope, i != 5 && i != 11 ? 1 : 0) << i;
  }
  // The 270M's file has no base for the windowed layers.
  EXPECT_NEAR(gemma3->ropes[1].inverse_frequency[1], std::pow(10000.0, -2.0 / 16), 1e-12);
  EXPECT_NEAR(gemma3->ropes[0].inverse_frequency[1], std::pow(1000000.0, -2.0 / 16), 1e-12);
  // The 27B is known by its layers: 1/√(hidden / heads), not 1/√head.
  const Keys wide = {{"attention.key_length", 32}, {"attention.value_length", 32}};
  EXPECT_FLOAT_EQ(read(file_of("gemma2", wide))->layers[0].attention_scale, float(1 / std::sqrt(32.0)));
  Keys of_27b = wide;
  of_27b["block_count"] = 46;
  EXPECT_FLOAT_EQ(read(file_of("gemma2", of_27b))->layers[0].attention_scale, float(1 / std::sqrt(16.0)));
  const auto smollm3 = read(file_of("smollm3", {{"block_count", 8}}));
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(smollm3->layers[i].rope, i % 4 == 3 ? -1 : 0) << i;
}

}  // namespace
}  // namespace anedvd
