#include "ane/sim/cost.h"

#include <algorithm>

namespace anedvd::sim {

double nanoseconds(const CostModel& cost, const ProgramCost& program, bool host_worked_before) {
  const double bytes = program.weight_bytes;
  const double reading =
      (program.is_slow_shape ? cost.kappa : 1) *
      (std::min(bytes, cost.near_bytes) / cost.near_gb_s + std::max(0.0, bytes - cost.near_bytes) / cost.far_gb_s);
  const double computing = 2 * program.macs_per_column * program.width / (cost.tflop_s * 1e3);
  const double launch = 1e3 * (host_worked_before ? cost.launch_after_host_us : cost.launch_us);
  return launch + std::max(reading, computing);
}

}  // namespace anedvd::sim
