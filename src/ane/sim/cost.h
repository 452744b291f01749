// What an evaluation costs on a simulated chip: docs/ane.md#cost.
#pragma once

#include <cstdint>

#include "ane/sim/profile.h"

namespace anedvd::sim {

struct ProgramCost {
  double weight_bytes = 0;     // as they are streamed
  double macs_per_column = 0;  // multiplications
  int width = 1;
  bool is_slow_shape = false;  // a convolution with multiples of 4096 channels on both sides
};

// Without noise.
double nanoseconds(const CostModel& cost, const ProgramCost& program, bool host_worked_before);

}  // namespace anedvd::sim
