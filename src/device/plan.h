// A whole model as a straight list of steps over values, with no branch in it.
//
//   embed → [norm → linear q,k,v → rope → attention → linear o → add → norm → linear gate,up → silu·mul → linear down → add]* → norm → head
//
// A value is one activation of `dim` floats a column (token position in flight). Devices read nothing but this list: they never learn which
// model it is. Weights are named here and read later, one at a time, when a program is compiled.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tensor/dtype.h"

namespace anedvd {

using ValueId = int;   // index into Plan::values; −1: none
using WeightId = int;  // index into Plan::weights; −1: none

enum class OpKind {
  kEmbed,  // out = weight[token] · param
  kRmsNorm,  // out = in / sqrt(mean(in²) + param) ⊙ weight, over groups of `group` elements (0: all of them); no weight: no ⊙
  kLinear,    // out = weight · in + bias
  kAdd,       // out = in0 + in1
  kScale,     // out = in · param
  kSilu,      // out = in · sigmoid(in)
  kGeluTanh,  // out = gelu(in), tanh form
  kMul,       // out = in0 ⊙ in1
  kSoftCap,   // out = param · tanh(in / param)
  kRope,      // rotates each head of `group` elements by the column's position, with ropes[spec]
  kSlice,     // out = in[spec … spec + dim of out)
  kGateBy,    // out = in0 · sigmoid(in1[0]); in1 is one number
  kAttention,  // in = q, k, v; appends k and v to the cache, attends by attentions[spec] (that of another layer's cache: in = q alone)
  kShortConv,  // in = (B, C, X) of a third each; out = C ⊙ Σ_j weight[·, j] ⊙ u of j − kernel + 1 positions later, u = B ⊙ X, by convs[spec]
  kMoe,        // in = x, router logits; out = Σ of the chosen experts by moes[spec]
};
constexpr int kOpKinds = 15;
const char* op_name(OpKind kind);

// How the rows of a weight are to be read.
enum class RowOrder {
  kAsStored,
  kAdjacentToHalfSplit,  // within each head: stored rows 2i, 2i+1 become rows i, i + head/2 (ropes here are always half-split)
};

// How a stack of experts' matrices is laid out.
enum class StackLayout {
  kRows,        // rows of inputs, as any matrix
  kTransposed,  // [experts, inputs, outputs]: plain numbers (gpt-oss's folders)
  kSplitMxfp4,  // [experts, outputs, blocks, 16] bytes with elements 2i and 2i + 1 in byte i, exponents in a second tensor
};

// `rows` rows of a stored tensor from first_row on.
struct WeightRef {
  std::string tensor;
  int64_t first_row = 0, rows = 0, cols = 0;
  int64_t row_step = 1;  // 2: every other row (gate and up interleaved)
  RowOrder order = RowOrder::kAsStored;
  int head_dim = 0;                         // for kAdjacentToHalfSplit
  StackLayout layout = StackLayout::kRows;  // experts only
  std::string exponents = {};               // the second tensor of kSplitMxfp4
  float add = 0;                            // added to every element: Gemma's checkpoints hold w − 1
  std::optional<DType> pack_as = {};        // quantised while it is packed; nullopt: as stored
};

// The stored row that holds row `row` of the weight.
int64_t stored_row(const WeightRef& weight, int64_t row);

struct Op {
  OpKind kind;
  ValueId out = -1;
  std::array<ValueId, 3> in = {-1, -1, -1};
  WeightId weight = -1, bias = -1;
  float param = 0;
  int group = 0;
  int spec = -1;
  int layer = -1;  // for listings
};

struct Value {
  std::string name;
  int dim = 0;
};

// Tables of a rotation: see RopeSpec in the model layer, which computes them.
struct PlanRope {
  int rotated = 0;
  std::vector<double> inverse_frequency;
  double magnitude = 1;
};

struct PlanAttention {
  int cache_layer = 0;  // which layer's keys and values are read
  bool appends = true;  // false: another layer wrote them
  int heads = 0, kv_heads = 0, head_dim = 0;
  std::optional<int> window;
  float scale = 0, softcap = 0;
  WeightId sinks = -1;  // [heads]: a score that joins each head's softmax and has no value
};

// A causal convolution over the last `kernel` positions, each channel by itself. The cache holds u of every position.
struct PlanConv {
  int cache_layer = 0;
  int channels = 0, kernel = 0;
};

enum class ExpertActivation { kSilu, kGeluTanh, kClampedSwiglu };

// A mixture of experts. Ties between router logits go to the lower expert; outputs are added in the order of the experts' numbers.
struct PlanMoe {
  int experts = 0, used = 0, ffn_width = 0;
  bool renormalise = true;  // softmax over the chosen logits alone; false: over all
  ExpertActivation activation = ExpertActivation::kSilu;
  std::vector<WeightId> gate, up, down;                   // one an expert
  WeightId gate_bias = -1, up_bias = -1, down_bias = -1;  // all experts' after another; −1: none
  WeightId scale = -1;                                    // a factor for each expert's weight; −1: none
};

// What one token costs in the cache, layer by layer (layers that share another's cache have none).
struct CacheLayer {
  int kv_heads = 0, head_dim = 0;
};

struct Plan {
  std::vector<Value> values;
  std::vector<WeightRef> weights;
  std::vector<Op> ops;
  std::vector<PlanRope> ropes;
  std::vector<PlanAttention> attentions;
  std::vector<PlanConv> convs;
  std::vector<PlanMoe> moes;
  std::vector<CacheLayer> cache;
  ValueId logits = -1;  // the last value; wanted for some columns only
  int vocab = 0;
};

// Ids in range, every input written before it is read, dimensions agree: the plan of a family that breaks this is our bug (aborts).
void check_plan(const Plan& plan);

}  // namespace anedvd
