// What a model is: numbers that a family reads from the file's settings, and that the plan asks in place of the model's name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace anedvd {

enum class Activation { kSilu, kGeluTanh };

struct MoeSpec {
  int experts = 0;
  int experts_used = 0;
  int ffn_width = 0;
  int shared_ffn_width = 0;  // 0: no shared expert
  bool renormalise = true;   // divide the chosen probabilities by their sum
};

// Rotary position embedding of one layer. Angle of pair i at position t: t · inverse_frequency[i]; pairs beyond the list do not turn.
// Pairs are always (i, i + rotated/2): q and k rows stored the adjacent way are put in this order when weights are loaded.
struct RopeSpec {
  int rotated = 0;                        // elements of a head that turn; 0: none
  std::vector<double> inverse_frequency;  // rotated / 2 entries, scaling included
  double magnitude = 1.0;                 // cos and sin are multiplied by it (YaRN, longrope)
};

struct LayerSpec {
  int heads = 0, kv_heads = 0, head_dim = 0, ffn_width = 0;
  std::optional<int> window;         // tokens seen, itself included; nullopt: all
  std::optional<int> kv_from_layer;  // shares another layer's keys and values
  int rope = 0;                      // index into ModelSpec::ropes; −1: none
  bool qk_norm = false;
  bool sandwich_norm = false;   // a norm after attention and after the FFN, before they join the residual
  float attention_scale = 0;    // factor on q·k
  float attention_softcap = 0;  // 0: none
  std::optional<MoeSpec> moe;
};

struct ModelSpec {
  std::string family;        // "llama"
  std::string architecture;  // as the file names it
  std::string name;          // the file's own title, may be empty
  int hidden = 0, vocab = 0, context = 0;
  float norm_eps = 0;
  Activation activation = Activation::kSilu;
  float embed_scale = 1, residual_scale = 1, final_softcap = 0, logit_scale = 1;
  bool tied_head = false;
  bool adjacent_rope_rows = false;  // q and k rows are stored for adjacent pairs
  std::vector<RopeSpec> ropes;
  std::vector<LayerSpec> layers;
};

}  // namespace anedvd
