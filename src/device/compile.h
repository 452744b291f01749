// How whoever holds a plan gets it onto a device without knowing which one it is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "device/step.h"

namespace anedvd {

struct DeviceRequest {
  int threads = 1;
  int max_columns = 64;  // that one step may hold
  bool exact = false;    // fp32 activations against dequantised rows: the reference
};

struct DeviceProgram {
  std::unique_ptr<Executable> executable;
  std::string device;         // "cpu", "ane", "sim": as --device names it
  std::string simd;           // of the host's kernels: "AVX-512 VNNI"
  uint64_t weight_bytes = 0;  // held in memory
};

// Makes a plan ready. What `find` returns and everything that the compiler was made with outlive the program; plan and layout are copied.
// Errors: kNotFound, kBadFile (a tensor, named), kNoMemory, kUsage, kDevice.
using DeviceCompiler =
    std::function<Result<DeviceProgram>(const Plan&, const KvLayout&, const TensorFinder&, const DeviceRequest&)>;

}  // namespace anedvd
