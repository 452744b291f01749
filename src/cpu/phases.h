// A plan lowered to the phases that the CPU's threads run together.
//
//   columns → linear → columns → attention → columns → linear → …
//
// A *column phase* is everything that needs a whole column: norms, residuals, rotation, and quantising the next linear's input. A *linear phase* is all
// linears that read one input, split over threads by panels of 16 outputs, with what follows element by element fused in (bias, gate, soft-cap).
// With few columns every thread does the column phases for itself, in private buffers: cheaper than a barrier. So a layer has five barriers.
#pragma once

#include <functional>
#include <variant>
#include <vector>

#include "device/plan.h"

namespace anedvd {

struct ColumnPhase {
  std::vector<int> ops;      // indices into Plan::ops
  ValueId quantized = -1;    // the value that the next linear phase reads as int8; −1: none
  bool only_narrow = false;  // with many columns the gate before it has quantised its output
};

struct LinearPhase {
  ValueId input = -1;
  std::vector<int> linears;      // ops; a gated phase has exactly two: gate, then up
  std::vector<ValueId> outputs;  // one a linear; a gated phase has one for both
  bool gated = false;
  bool quantises =
      false;  // gated, with many columns: leaves only the int8 form of its output, in the step's inner buffer
  bool reads_inner = false;                     // with many columns: the input is there
  OpKind activation = OpKind::kSilu;            // of the gate
  std::vector<std::pair<OpKind, float>> after;  // elementwise steps on the only output: soft-cap, scale
};

struct AttentionPhase {
  int op = -1;
};

// A short convolution: threads share the channels, each goes through all columns.
struct ConvPhase {
  int op = -1;
};

// A mixture of experts: has its own barriers (moe_phase.cpp).
struct MoePhase {
  int op = -1;
};

using Phase = std::variant<ColumnPhase, LinearPhase, AttentionPhase, ConvPhase, MoePhase>;

struct Lowered {
  std::vector<Phase> phases;
  size_t tail =
      0;  // first phase after the last that writes to the cache: only columns whose logits are wanted go on from there
  std::vector<int> buffer;         // for each value: which buffer holds it; −1: never stored
  std::vector<int> buffer_floats;  // size of each buffer, floats a column, a multiple of 16
  std::vector<bool>
      from_columns;  // for each value: written by a column phase or by attention (private when columns are few)
  std::vector<ValueId> live_at_tail;  // values written before the tail and read in it
};

Lowered lower(const Plan& plan);

// With many columns, lets a gate whose product only the next linears read hand it over as int8, without the column phase between: a barrier less, and a
// quarter of the bytes go from core to core. With few columns the product is quantised by every thread for itself, in one go: a block at a time between
// the gate's panels was measured 4 % slower for one column, for then nothing streams. `reads_int8`: whether the linear with that op index takes int8.
void quantise_in_gates(Lowered& lowered, const Plan& plan, const std::function<bool(int op)>& reads_int8);

}  // namespace anedvd
