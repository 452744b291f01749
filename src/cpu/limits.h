// What the machine could do at best: the figures that speeds are judged by (bench --limits).
#pragma once

#include <cstdint>

#include "base/result.h"

namespace anedvd {

struct CpuLimits {
  double read_bytes_s = 0;  // all threads together, each reading its own part of huge pages from one end to the other
  double int8_ops_s =
      0;  // multiplications and additions of bytes, operands in registers, with this level's instructions; 0: scalar
};

// Measures for about half a second. `bytes`: how much is read, as large as the weights in question, for what fits a cache is read faster.
// kNoMemory, kUsage (ANEDVD_SIMD).
Result<CpuLimits> measure_limits(int threads, int64_t bytes);

}  // namespace anedvd
