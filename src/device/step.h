// One step of work: columns of one or more sequences that go through the model together.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "device/kv_view.h"
#include "device/partition.h"
#include "device/plan.h"
#include "device/trace.h"
#include "tensor/view.h"

namespace anedvd {

// Neighbouring positions of one sequence.
struct Slice {
  KvView kv;
  int first_position = 0;
  std::span<const int32_t> tokens;  // ids are within the vocabulary (checked by the caller)
  bool want_all_logits = false;     // otherwise want_last_logits says whether the last column's are wanted
  bool want_last_logits = true;
};

// Reads a stored tensor by name; its bytes live as long as the model file.
using TensorFinder = std::function<const TensorView*(std::string_view)>;

// A plan made ready on a device that takes all of it.
class Executable {
 public:
  virtual ~Executable() = default;

  // Columns one step may hold, all slices together.
  virtual int max_columns() const = 0;

  // Runs the slices. Logits come in the order of the columns that wanted them.
  virtual Result<> run(std::span<const Slice> slices) = 0;

  // Row i of the last step's logits, [vocab] floats; valid until the next run.
  virtual std::span<const float> logits(int i) const = 0;

  // The same row before the head, behind the last norm: [hidden] floats, for embeddings. Empty: this device does not keep it.
  virtual std::span<const float> hidden(int /*i*/) const { return {}; }

  // From the next run on, what each thread does goes into `trace`, which has `trace_threads` threads; null: no longer.
  virtual void record(Trace* /*trace*/) {}
  virtual int trace_threads() const { return 1; }

  // At most so many of its threads work from the next run on; the results stay the same, bit for bit.
  virtual void limit_threads(int /*threads*/) {}
};

}  // namespace anedvd
