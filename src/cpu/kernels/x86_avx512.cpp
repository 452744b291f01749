// The vector comes before what is built on it.
// clang-format off
#include "cpu/kernels/simd_avx512.h"
#include "cpu/kernels/table.inl"
// clang-format on

namespace anedvd {

const KernelTable* avx512_kernels() {
  static constexpr KernelTable kTable = make_table("avx512", "AVX-512");
  return &kTable;
}

}  // namespace anedvd
