// Steps that stay on the host while a device runs the others: what a device needs from whoever owns the CPU.
//
// A device that takes only part of a plan (device/partition.h) keeps every value as rows of floats and asks for the steps between its programs
// between two of them. Also for a program's own steps, when the device gives them up in the middle of an answer: the cache belongs to neither, so the
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

// Floats from one column of a value to the next: whole vectors of 16, so that a column may be written in them without touching the next one.
constexpr int64_t column_floats(int dim) { return (int64_t(dim) + 15) / 16 * 16; }

class HostOps {
 public:
  virtual ~HostOps() = default;

  // Makes steps of the plan ready (reads and packs their weights): indices into Plan::ops. Callable again with further ones, also between runs.
  // Errors: kNotFound, kBadFile (a tensor, named), kNoMemory.
  virtual Result<> prepare(std::span<const int> ops) = 0;

  // Runs prepared steps, in this order, for all columns.
  //   values[id]   [columns][column_floats(dim)]; null for a value that is not in use. The inputs are filled; the outputs are written, and what lies
  //                between dim and column_floats(dim) of them with anything.
  // kAttention also appends its keys and values to the slices' caches, all columns before any is attended.
  virtual Result<> run(std::span<const int> ops, const HostStep& step, std::span<float* const> values) = 0;

  // At most so many of its threads work from the next run on; the results stay the same, bit for bit.
  virtual void limit_threads(int threads) = 0;
};

}  // namespace anedvd
