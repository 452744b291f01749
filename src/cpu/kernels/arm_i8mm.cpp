// The vector comes before what is built on it.
// clang-format off
#include "cpu/kernels/simd_neon.h"
#include "cpu/kernels/table.inl"
// clang-format on

namespace anedvd {

const KernelTable* i8mm_kernels() {
  static constexpr KernelTable kTable = make_table("i8mm", "NEON i8mm");
  return &kTable;
}

}  // namespace anedvd
