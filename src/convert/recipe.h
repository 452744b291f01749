// What `anedvd quantize` may be asked for, and the type that each matrix gets by it.
//
// A plain type ("Q4_0") is for every matrix. A mixture ("Q4_K_M") gives more bits to those that suffer most: the head, and in some layers the
// values and the FFN's way down. Names, file_type numbers and the choice of tensors are llama.cpp's (src/llama-quant.cpp), so that a name means
// the same file everywhere. Norms, routers, biases and short convolutions are never quantised.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tensor/view.h"

namespace anedvd {

enum class Mixture { kPlain, kSmall, kMedium };

struct Recipe {
  std::string_view name;
  DType base;
  Mixture mixture;
  uint32_t file_type;  // general.file_type
};

// The recipe of this name, any case; nullptr: none.
const Recipe* find_recipe(std::string_view name);

// "F32, F16, …", for messages and help.
std::string recipe_names();

// What the choice depends on beside the tensor itself.
struct RecipeModel {
  int layers = 0;
  int experts = 0;
  bool tied_head = false;  // the embedding is the head
};

struct ChosenType {
  DType wanted;  // by the recipe
  DType used;    // `wanted`, or what its rows allow
};

// The type of a tensor; nullopt: it stays as it is (no matrix, or one that is never quantised).
//   ordinal   among the tensors of this kind, in layer order: attn_v of layer 7 is the fourth if only every other layer has one
std::optional<ChosenType> choose_type(const Recipe& recipe, const RecipeModel& model, std::string_view name,
                                      const Shape& shape, int ordinal, int of_ordinals);

// "attn_v" of "blk.7.attn_v.weight": what ordinals are counted by.
std::string_view tensor_kind(std::string_view name);

}  // namespace anedvd
