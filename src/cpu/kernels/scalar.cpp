// The vector comes before what is built on it.
// clang-format off
#include "cpu/kernels/simd_scalar.h"
#include "cpu/kernels/table.inl"
// clang-format on

namespace anedvd {

const KernelTable* scalar_kernels() {
  static constexpr KernelTable kTable = make_table("scalar", "portable loops");
  return &kTable;
}

}  // namespace anedvd
