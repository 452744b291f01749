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

namespace anedvd {

using ValueId = int;   // index into Plan::values; −1: none
using WeightId = int;  // index into Plan::weights; −1: none

enum class OpKind {
  kEmbed,  // out = weight[token] · param
  kRmsNorm,  // out = in / sqrt(mean(in²) + param) ⊙ weight, over groups of `group` elements (0: all of them); no weight: no ⊙
  kLinear,     // out = weight · in + bias
  kAdd,        // out = in0 + in1
  kScale,      // out = in · param
  kSilu,       // out = in · sigmoid(in)
  kGeluTanh,   // out = gelu(in), tanh form
  kMul,        // out = in0 ⊙ in1
  kSoftCap,    // out = param · tanh(in / param)
  kRope,       // rotates each head of `group` elements by the column's position, with ropes[spec]
  kAttention,  // in = q, k, v; appends k and v to the cache, attends by attentions[spec]
};
constexpr int kOpKinds = 11;
const char* op_name(OpKind kind);

// How the rows of a weight are to be read.
enum class RowOrder {
  kAsStored,
  kAdjacentToHalfSplit,  // within each head: stored rows 2i, 2i+1 become rows i, i + head/2 (ropes here are always half-split)
};

// Rows [first_row, first_row + rows) of a stored tensor.
struct WeightRef {
  std::string tensor;
  int64_t first_row = 0, rows = 0, cols = 0;
  RowOrder order = RowOrder::kAsStored;
  int head_dim = 0;  // for kAdjacentToHalfSplit
  float add = 0;     // added to every element: Gemma's checkpoints hold w − 1
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
  std::vector<CacheLayer> cache;
  ValueId logits = -1;  // the last value; wanted for some columns only
  int vocab = 0;
};

// Ids in range, every input written before it is read, dimensions agree: the plan of a family that breaks this is our bug (aborts).
void check_plan(const Plan& plan);

}  // namespace anedvd
