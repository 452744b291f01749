// The vector comes before what is built on it.
// clang-format off
#include "cpu/kernels/simd_avx2.h"
#include "cpu/kernels/table.inl"
// clang-format on

namespace anedvd {

const KernelTable* avx2_kernels() {
  static constexpr KernelTable kTable = make_table("avx2", "AVX2");
  return &kTable;
}

}  // namespace anedvd
