// One program for the Neural Engine before it is text: some steps of a plan, or a slice of the output rows of one linear.
//
// The partition of the device layer proposes programs; what the chip then refuses is cut here, by a fixed ladder:
//
//   fused FFN → gate, up, gating | down → rows in halves → the host
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "device/partition.h"
#include "device/plan.h"

namespace anedvd {

struct ProgramSpec {
  std::vector<int> ops;  // indices into Plan::ops, in order
  std::vector<ValueId> inputs, outputs;
  // Output rows [first_row, first_row + rows) of its only linear and of all that follows it; rows < 0: all.
  int64_t first_row = 0, rows = -1;

  bool is_sliced() const { return rows >= 0; }
};

using SpecPart = std::variant<ProgramSpec, HostOp>;

struct ProgramLimits {
  int weight_tensors = 15;                    // blob slots of one function (docs/ane.md#blob-slots)
  int slots_per_matrix = 1;                   // 2 where weights are codes with their scales or table
  int64_t weight_bytes = int64_t(256) << 20;  // of one program, as fp16 (docs/ane.md#large-heads)
  int64_t out_channels = 1 << 20;             // rows of one linear
};

// Whether MIL text can be written for this step at all; a norm over groups of a column, for one, cannot.
bool is_writable(const Plan& plan, const Op& op);

// The partition with everything that is not writable on the host, and programs that are over a limit cut. In order of execution.
std::vector<SpecPart> lower_partition(const Plan& plan, const Partition& partition, const ProgramLimits& limits);

// One rung down the ladder: the same work in smaller programs, in order. The last rung is the host, which takes the steps one by one.
std::vector<SpecPart> split(const Plan& plan, const ProgramSpec& spec);

// Bytes of its weights as fp16.
int64_t weight_bytes(const Plan& plan, const ProgramSpec& spec);

}  // namespace anedvd
