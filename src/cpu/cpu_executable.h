// A plan on the CPU: the whole model as one program, run by all threads as one job a step.
#pragma once

#include <memory>
#include <string>

#include "device/step.h"

namespace anedvd {

struct CpuOptions {
  int threads = 1;
  int max_columns = 64;
  bool exact = false;  // fp32 activations against dequantised rows: the reference
};

struct CpuProgram {
  std::unique_ptr<Executable> executable;
  uint64_t packed_bytes = 0;
  std::string simd;  // "AVX-512 VNNI"
};

// Errors: kNotFound, kBadFile (a tensor, named), kNoMemory, kUsage (ANEDVD_SIMD).
Result<CpuProgram> compile_for_cpu(const Plan& plan, const KvLayout& layout, const TensorFinder& find,
                                   const CpuOptions& options);

}  // namespace anedvd
