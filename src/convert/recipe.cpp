#include "convert/recipe.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "tensor/quantize.h"

namespace anedvd {
namespace {

// The numbers are `enum llama_ftype` (llama.cpp, include/llama.h).
constexpr std::array kRecipes = {
    Recipe{"F32", DType::kF32, Mixture::kPlain, 0},       Recipe{"F16", DType::kF16, Mixture::kPlain, 1},
    Recipe{"BF16", DType::kBF16, Mixture::kPlain, 32},    Recipe{"Q8_0", DType::kQ8_0, Mixture::kPlain, 7},
    Recipe{"Q4_0", DType::kQ4_0, Mixture::kPlain, 2},     Recipe{"Q4_1", DType::kQ4_1, Mixture::kPlain, 3},
    Recipe{"Q5_0", DType::kQ5_0, Mixture::kPlain, 8},     Recipe{"Q5_1", DType::kQ5_1, Mixture::kPlain, 9},
    Recipe{"Q4_K", DType::kQ4_K, Mixture::kPlain, 15},    Recipe{"Q5_K", DType::kQ5_K, Mixture::kPlain, 17},
    Recipe{"Q6_K", DType::kQ6_K, Mixture::kPlain, 18},    Recipe{"Q4_K_S", DType::kQ4_K, Mixture::kSmall, 14},
    Recipe{"Q4_K_M", DType::kQ4_K, Mixture::kMedium, 15}, Recipe{"Q5_K_S", DType::kQ5_K, Mixture::kSmall, 16},
    Recipe{"Q5_K_M", DType::kQ5_K, Mixture::kMedium, 17},
};

constexpr int kFirstLayersOfValues = 4;  // Q4_K_S's, for attn_v
constexpr int kEightExperts = 8;  // Mixtral: attention is so small a part of it that it costs nothing to keep it good

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool stays_as_it_is(std::string_view name, const Shape& shape) {
  constexpr std::string_view kNever[] = {"_norm.weight", "ffn_gate_inp.weight", "ffn_gate_inp_shexp.weight",
                                         "shortconv.conv.weight", "per_layer_model_proj"};
  // One long dimension is a vector, however many dimensions of 1 are written with it.
  const auto long_dimensions = std::ranges::count_if(shape, [](int64_t n) { return n > 1; });
  if (shape.size() < 2 || long_dimensions < 2 || !name.ends_with(".weight")) return true;
  return std::ranges::any_of(kNever, [&](std::string_view part) { return contains(name, part); });
}

int layer_of(std::string_view name) {
  constexpr std::string_view kPrefix = "blk.";
  int layer = -1;
  if (name.starts_with(kPrefix)) std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), layer);
  return layer;
}

// The first and last eighth of the layers, and every third between.
bool gets_more_bits(int i, int n) { return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2; }

DType mixed_type(const Recipe& recipe, const RecipeModel& model, std::string_view name, int64_t cols, int ordinal,
                 int of_ordinals) {
  const std::string_view kind = tensor_kind(name);
  const bool is_medium = recipe.mixture == Mixture::kMedium, is_q4 = recipe.base == DType::kQ4_K;
  if (kind == "output" || (kind == "token_embd" && model.tied_head))
    return cols % format_of(DType::kQ6_K).block_elements == 0 ? DType::kQ6_K : DType::kQ8_0;
  if (kind == "attn_v") {
    if (model.experts == kEightExperts) return DType::kQ8_0;
    if (is_medium && gets_more_bits(ordinal, of_ordinals)) return DType::kQ6_K;
    if (!is_medium && is_q4 && ordinal < kFirstLayersOfValues) return DType::kQ5_K;
  } else if (kind == "attn_k") {
    if (model.experts == kEightExperts) return DType::kQ8_0;
  } else if (kind == "attn_output") {
    if (model.experts == kEightExperts && is_q4) return DType::kQ5_K;
  } else if (kind == "attn_qkv") {
    if (is_medium) return is_q4 ? DType::kQ5_K : DType::kQ6_K;
  } else if (kind.starts_with("ffn_down")) {
    const int layer = layer_of(name);
    if (is_medium && gets_more_bits(layer, model.layers)) return DType::kQ6_K;
    if (!is_medium && is_q4 && layer < model.layers / 8) return DType::kQ5_K;
  }
  return recipe.base;
}

}  // namespace

const Recipe* find_recipe(std::string_view name) {
  const auto same = [&](const Recipe& recipe) {
    return std::ranges::equal(recipe.name, name, [](char a, char b) { return a == std::toupper((unsigned char)b); });
  };
  const auto* found = std::ranges::find_if(kRecipes, same);
  return found == kRecipes.end() ? nullptr : found;
}

std::string recipe_names() {
  std::string names;
  for (const Recipe& recipe : kRecipes) names.append(names.empty() ? "" : ", ").append(recipe.name);
  return names;
}

std::string_view tensor_kind(std::string_view name) {
  if (name.starts_with("blk.")) name.remove_prefix(std::min(name.size(), name.find('.', 4) + 1));
  return name.substr(0, name.find('.'));
}

std::optional<ChosenType> choose_type(const Recipe& recipe, const RecipeModel& model, std::string_view name,
                                      const Shape& shape, int ordinal, int of_ordinals) {
  if (stays_as_it_is(name, shape)) return std::nullopt;
  const int64_t cols = shape.back();
  const DType wanted =
      recipe.mixture == Mixture::kPlain ? recipe.base : mixed_type(recipe, model, name, cols, ordinal, of_ordinals);
  return ChosenType{wanted, legal_type(wanted, cols)};
}

}  // namespace anedvd
