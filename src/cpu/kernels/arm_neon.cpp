// The vector comes before what is built on it.
// clang-format off
#include "cpu/kernels/simd_neon.h"
#include "cpu/kernels/table.inl"
// clang-format on

namespace anedvd {

const KernelTable* neon_kernels() {
  static constexpr KernelTable kTable = make_table("neon", "NEON");
  return &kTable;
}

}  // namespace anedvd
