// Which type each matrix gets: the table of llama.cpp's mixtures (src/llama-quant.cpp) on cases worked out by hand.
#include "convert/recipe.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "tensor/quantize.h"

namespace anedvd {
namespace {

ChosenType chosen(std::string_view recipe, std::string_view name, int64_t cols = 2048, int ordinal = 0,
                  RecipeModel model = {32, 0, true}) {
  const auto type = choose_type(*find_recipe(recipe), model, name, {512, cols}, ordinal, model.layers);
  EXPECT_TRUE(type) << recipe << " " << name;
  return type.value_or(ChosenType{});
}

TEST(Recipe, NamesAreFoundInAnyCaseAndOthersAreNot) {
  EXPECT_EQ(find_recipe("q4_k_m")->name, "Q4_K_M");
  EXPECT_EQ(find_recipe("bf16")->base, DType::kBF16);
  for (const char* name : {"", "Q4", "Q2_K", "Q8_0 ", "IQ4_XS"}) EXPECT_EQ(find_recipe(name), nullptr) << name;
}

TEST(Recipe, VectorsAndRoutersStayAsTheyAre) {
  const Recipe& recipe = *find_recipe("Q4_0");
  const Shape matrix = {64, 64};
  for (const char* name : {"blk.0.attn_q_norm.weight", "blk.3.ffn_gate_inp.weight", "blk.0.shortconv.conv.weight",
                           "blk.0.attn_q.bias", "per_layer_model_proj.weight"})
    EXPECT_FALSE(choose_type(recipe, {}, name, matrix, 0, 1)) << name;
  EXPECT_FALSE(choose_type(recipe, {}, "rope_freqs.weight", {64}, 0, 1));
  EXPECT_FALSE(choose_type(recipe, {}, "blk.0.x.weight", {1, 64}, 0, 1));
  EXPECT_TRUE(choose_type(recipe, {}, "blk.0.ffn_up_exps.weight", {4, 64, 64}, 0, 1));
}

TEST(Recipe, RowsThatAreNoWholeBlocksFallBack) {
  const struct {
    DType wanted;
    int64_t cols;
    DType used;
  } cases[] = {{DType::kQ4_K, 576, DType::kQ5_0}, {DType::kQ5_K, 576, DType::kQ5_1}, {DType::kQ6_K, 576, DType::kQ8_0},
               {DType::kQ4_K, 512, DType::kQ4_K}, {DType::kQ4_0, 48, DType::kF16},   {DType::kQ6_K, 40, DType::kF16},
               {DType::kF32, 7, DType::kF32},     {DType::kBF16, 7, DType::kBF16}};
  for (const auto& c : cases) EXPECT_EQ(legal_type(c.wanted, c.cols), c.used) << format_of(c.wanted).name;
}

TEST(Recipe, MixturesGiveSomeMatricesMoreBits) {
  const RecipeModel untied{32, 0, false};
  EXPECT_EQ(chosen("Q4_K_M", "token_embd.weight").used, DType::kQ6_K);
  EXPECT_EQ(chosen("Q4_K_M", "token_embd.weight", 2048, 0, untied).used, DType::kQ4_K);
  EXPECT_EQ(chosen("Q4_K_M", "output.weight", 2048, 0, untied).used, DType::kQ6_K);
  EXPECT_EQ(chosen("Q4_K_M", "token_embd.weight", 576).wanted, DType::kQ8_0);
  EXPECT_EQ(chosen("Q4_K", "token_embd.weight").used, DType::kQ4_K);
  for (int layer = 0; layer < 32; ++layer) {
    const bool more = layer < 4 || layer >= 28 || (layer - 4) % 3 == 2;
    const std::string down = fmt::format("blk.{}.ffn_down.weight", layer);
    const std::string values = fmt::format("blk.{}.attn_v.weight", layer);
    EXPECT_EQ(chosen("Q4_K_M", down).used, more ? DType::kQ6_K : DType::kQ4_K) << layer;
    EXPECT_EQ(chosen("Q5_K_M", down).used, more ? DType::kQ6_K : DType::kQ5_K) << layer;
    EXPECT_EQ(chosen("Q4_K_M", values, 2048, layer).used, more ? DType::kQ6_K : DType::kQ4_K) << layer;
    EXPECT_EQ(chosen("Q4_K_S", down).used, layer < 4 ? DType::kQ5_K : DType::kQ4_K) << layer;
    EXPECT_EQ(chosen("Q4_K_S", values, 2048, layer).used, layer < 4 ? DType::kQ5_K : DType::kQ4_K) << layer;
    EXPECT_EQ(chosen("Q5_K_S", down).used, DType::kQ5_K) << layer;
  }
  EXPECT_EQ(chosen("Q4_K_M", "blk.5.attn_q.weight").used, DType::kQ4_K);
  EXPECT_EQ(chosen("Q4_K_M", "blk.5.attn_qkv.weight").used, DType::kQ5_K);
  EXPECT_EQ(chosen("Q5_K_M", "blk.5.attn_qkv.weight").used, DType::kQ6_K);
  const RecipeModel mixtral{32, 8, false};
  EXPECT_EQ(chosen("Q4_K_M", "blk.9.attn_v.weight", 4096, 9, mixtral).used, DType::kQ8_0);
  EXPECT_EQ(chosen("Q4_K_M", "blk.9.attn_k.weight", 4096, 9, mixtral).used, DType::kQ8_0);
  EXPECT_EQ(chosen("Q4_K_M", "blk.9.attn_output.weight", 4096, 9, mixtral).used, DType::kQ5_K);
}

TEST(Recipe, KindsAreNamesWithoutTheirLayer) {
  EXPECT_EQ(tensor_kind("blk.12.attn_v.weight"), "attn_v");
  EXPECT_EQ(tensor_kind("token_embd.weight"), "token_embd");
  EXPECT_EQ(tensor_kind("blk.7"), "blk");  // no tensor of a model
}

}  // namespace
}  // namespace anedvd
