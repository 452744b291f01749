// A plan's steps one by one on the CPU, for a device that runs only some of them (device/host_ops.h).
//
// The same phases and kernels as CpuExecutable's, so a step gives the same bits here and there. Neighbouring steps are one job of the threads.
#pragma once

#include <memory>

#include "cpu/cpu_executable.h"
#include "device/host_ops.h"

namespace anedvd {

// Finds every tensor of the plan; weights are packed when steps are prepared. `find`'s tensors outlive the result.
// Errors: kNotFound, kBadFile (a tensor, named), kNoMemory, kUsage (ANEDVD_SIMD).
Result<std::unique_ptr<HostOps>> make_host_ops(const Plan& plan, const KvLayout& layout, const TensorFinder& find,
                                               const CpuOptions& options);

}  // namespace anedvd
