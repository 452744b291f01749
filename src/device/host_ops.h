// Steps that stay on the host while a device runs the others: what a device needs from whoever owns the CPU.
//
// A device that takes only part of a plan (device/partition.h) keeps every value as rows of floats and asks for the steps between its programs
// one by one. Also for a program's own steps, when the device gives them up in the middle of an answer: the cache belongs to neither, so the
// host can go on from where the device failed.
//
// One thread calls.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "device/step.h"

namespace anedvd {

struct HostColumn {
  int slice = 0;  // index into HostStep::slices
  int position = 0;
  int32_t token = 0;
};

// The columns of one step. Behind the last attention only those whose logits are wanted are left.
struct HostStep {
  std::span<const Slice> slices;
  std::span<const HostColumn> columns;
};

class HostOps {
 public:
  virtual ~HostOps() = default;

  // Makes steps of the plan ready (reads and packs their weights): indices into Plan::ops. Callable again with further ones, also between runs.
  // Errors: kNotFound, kBadFile (a tensor, named), kNoMemory.
  virtual Result<> prepare(std::span<const int> ops) = 0;

  // Runs one prepared step for all columns.
  //   values[id]   [columns][dim], floats, a column contiguous; null for a value that is not in use. The inputs are filled; the output is written.
  // kAttention also appends its keys and values to the slices' caches, all columns before any is attended.
  virtual Result<> run(int op, const HostStep& step, std::span<float* const> values) = 0;
};

}  // namespace anedvd
