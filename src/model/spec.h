// What a model is: numbers that a family reads from the file's settings, and that the plan asks in place of the model's name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace anedvd {

enum class Activation {
  kSilu,
  kGeluTanh,
  kClampedSwiglu,  // gpt-oss's experts: gate = min(gate, 7), up = clamp(up, ±7), (up + 1) · gate · sigmoid(1.702 · gate)
};

// A mixture of experts: a router's logits choose `experts_used` of them; their outputs are summed by softmax weights.
struct MoeSpec {
  int experts = 0;
  int experts_used = 0;
  int ffn_width = 0;
  int shared_ffn_width = 0;   // 0: no shared expert
  bool renormalise = true;    // softmax over the chosen logits alone; false: over all of them
  bool beside_dense = false;  // Gemma 4: the dense FFN runs too, both are normed apart and added
};

// Rotary position embedding. Angle of pair i at position t: t · inverse_frequency[i]; pairs beyond the list do not turn.
// Pairs are always (i, i + rotated/2): q and k rows stored the adjacent way are put in this order when weights are loaded.
struct RopeSpec {
  int rotated = 0;                        // elements of a head that turn; 0: none
  std::vector<double> inverse_frequency;  // rotated / 2 entries, scaling included
  double magnitude = 1.0;                 // cos and sin are multiplied by it (YaRN, longrope)
  // Longrope: the frequencies of sessions that may exceed `original_context`. Empty: the same at any length.
  std::vector<double> long_inverse_frequency;
  int original_context = 0;
};

enum class QkNorm {
  kNone,
  kPerHead,  // one weight of a head's size for all heads
  kWhole,    // over all heads together
};

struct LayerSpec {
  int heads = 0, kv_heads = 0, head_dim = 0, ffn_width = 0;
  std::optional<int> window;         // tokens seen, itself included; nullopt: all
  std::optional<int> kv_from_layer;  // shares another layer's keys and values
  std::optional<int> conv_kernel;    // a gated short convolution over so many positions in place of attention
  int rope = 0;                      // index into ModelSpec::ropes; −1: none
  QkNorm qk_norm = QkNorm::kNone;
  bool value_norm = false;      // RMSNorm without weight over each head of v
  bool value_is_key = false;    // v is k before its norm and rotation
  bool sinks = false;           // a learnt logit a head joins the softmax and has no value
  bool pre_norm = true;         // a norm before attention and before the FFN
  bool sandwich_norm = false;   // a norm after attention and after the FFN, before they join the residual
  float attention_scale = 0;    // factor on q·k
  float attention_softcap = 0;  // 0: none
  float output_scale = 1;       // factor on the residual stream behind the layer
  std::optional<MoeSpec> moe;
};

struct ModelSpec {
  std::string family;        // "llama"
  std::string architecture;  // as the file names it
  std::string name;          // the file's own title, may be empty
  int hidden = 0, vocab = 0, context = 0;
  float norm_eps = 0;
  float norm_offset = 0;  // added to every norm's weight: Gemma's checkpoints hold w − 1
  Activation activation = Activation::kSilu;
  float embed_scale = 1, residual_scale = 1, final_softcap = 0, logit_scale = 1;
  int per_layer_inputs = 0;  // width of what every layer gets from a token's own table; 0: none
  bool tied_head = false;
  bool adjacent_rope_rows = false;  // q and k rows are stored for adjacent pairs
  bool transposed_experts = false;  // stacks of experts are [experts, inputs, outputs] unless they are MXFP4
  std::vector<RopeSpec> ropes;
  std::vector<LayerSpec> layers;
};

}  // namespace anedvd
