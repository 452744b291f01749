// Chooses the kernels for this processor at run time.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "cpu/kernels/kernel_table.h"

namespace anedvd {

// Levels that this processor runs, worst first; "scalar" is always there.
std::vector<const KernelTable*> available_kernels();

// The best level, or the one that the environment variable ANEDVD_SIMD names (scalar avx2 avx512 vnni amx neon dotprod i8mm).
// kUsage if the name is unknown or the processor lacks it.
Result<const KernelTable*> select_kernels();

}  // namespace anedvd
