// Puts this translation unit's kernels into its table. Included last.
#pragma once

// attention uses what columns defines
// clang-format off
#include "cpu/kernels/linear.inl"
#include "cpu/kernels/linear_float.inl"
#include "cpu/kernels/columns.inl"
#include "cpu/kernels/attention.inl"
// clang-format on

namespace anedvd {
namespace {

constexpr KernelTable make_table(const char* name, const char* words) {
  return KernelTable{
      name,
      words,
      {linear<LayoutQ4_0>, linear<LayoutQ4_1>, linear<LayoutQ5_0>, linear<LayoutQ5_1>, linear<LayoutQ8_0>,
       linear<LayoutQ4_K>, linear<LayoutQ5_K>, linear<LayoutQ6_K>, linear<LayoutIQ4_NL>, linear<LayoutMXFP4>,
       linear<LayoutQ3_K>, linear<LayoutQ2_K>, linear<LayoutIQ4_XS>, linear_float<HalfWeights>,
       linear_float<BfloatWeights>, linear_float<FloatWeights>},
      quantize,
      dot,
      rms_norm,
      add,
      mul,
      scale,
      silu,
      gelu,
      softcap,
      clamped_swiglu,
      softmax,
      rope,
      append_kv,
      attention_chunk,
      attention_merge,
      dot_rate,
  };
}

}  // namespace
}  // namespace anedvd
