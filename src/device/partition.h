// Cuts a plan into programs that a device can run and host steps between them.
//
// Greedy over the list: neighbouring steps that the device takes are merged into one program until one of its limits is met; every step that
// needs positions, the cache or something the device lacks runs on the host. A device that takes everything gets one program.
#pragma once

#include <bitset>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "device/plan.h"

namespace anedvd {

using OpSet = std::bitset<kOpKinds>;

// Data, not code: probed or configured, printed by `anedvd info`.
struct Capabilities {
  OpSet ops;
  int max_width = 1;                      // columns in one run
  int max_weights_per_program = 1 << 30;  // linears (each has one weight)
  int64_t max_weight_bytes = INT64_MAX;   // of one linear, as fp16
  int max_programs = 1 << 30;             // in one process
  bool native_quant = false;              // reads quantised blocks as they are
};

// Capabilities that take every step: the CPU's.
OpSet all_ops();

struct Program {
  std::string name;
  std::vector<int> ops;  // indices into Plan::ops, in order
  std::vector<ValueId> inputs, outputs;
};

struct HostOp {
  int op = -1;  // index into Plan::ops
};

struct Partition {
  std::vector<std::variant<Program, HostOp>> parts;  // in order of execution
  int programs() const;
};

// kUnsupported when the device would need more programs than it can hold.
Result<Partition> partition(const Plan& plan, const Capabilities& capabilities);

}  // namespace anedvd
