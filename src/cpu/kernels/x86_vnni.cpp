// The vector comes before what is built on it.
// clang-format off
#include "cpu/kernels/simd_avx512.h"
#include "cpu/kernels/table.inl"
// clang-format on

namespace anedvd {

const KernelTable* vnni_kernels() {
  static constexpr KernelTable kTable = make_table("vnni", "AVX-512 VNNI");
  return &kTable;
}

}  // namespace anedvd
