// Weights of the linears as the CPU reads them: packed panels in one arena a thread, in the order of execution, or rows straight from the file.
//
// Each thread streams one contiguous range of memory for a whole token, so the prefetch runs over the borders of matrices by itself.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/machine/huge_buffer.h"
#include "base/machine/spin_pool.h"
#include "base/result.h"
#include "cpu/kernels/kernel_table.h"
#include "cpu/phases.h"
#include "device/step.h"

namespace anedvd {

// Panels whose gate and up halves are computed before they are joined: one block of the next linear's input, and few enough to stay in the nearest cache
// at any width.
constexpr int kGatePanels = 2;

// One thread's panels of one linear.
struct PanelRange {
  int first = 0, count = 0;
  std::byte* base = nullptr;  // panel `first`; null when rows are read from the file
  int64_t stride = 0;         // from one panel of a group to the next
  int group = 1 << 30;        // panels that lie side by side; a gate's are followed by those of up
  int64_t group_stride = 0;

  std::byte* panel(int i) const { return base + int64_t(i / group) * group_stride + int64_t(i % group) * stride; }
};

struct LinearWeights {
  WeightRef ref;
  const TensorView* tensor = nullptr;
  std::optional<PackFormat> format;  // nullopt: rows are dequantised when they are used
  int panels = 0;                    // ⌈rows / 16⌉
  std::vector<float> bias;           // padded to whole panels; empty: none
  std::vector<PanelRange> ranges;    // one a thread
};

// Calls work(r, p, count) for the pieces that hold panels first … last − 1 of a linear: panels p … p + count − 1 of its range r. A step that has fewer
// threads than the linear has ranges reads across their borders.
template <class Work>
void for_each_piece(const LinearWeights& linear, int first, int last, Work&& work) {
  for (size_t r = 0; r < linear.ranges.size(); ++r) {
    const PanelRange& range = linear.ranges[r];
    const int begin = std::max(first, range.first), end = std::min(last, range.first + range.count);
    if (begin < end) work(r, begin - range.first, end - begin);
  }
}

// The stored tensor of a weight, its shape checked. kNotFound / kBadFile name it.
Result<const TensorView*> find_tensor(const WeightRef& ref, const TensorFinder& find);

class Weights {
 public:
  // Finds and checks every tensor that the plan names, and reads those that are vectors. `exact`: nothing will be packed, all products are fp32.
  // kNotFound / kBadFile name the tensor.
  static Result<Weights> find(const Plan& plan, const TensorFinder& find, bool exact);

  // Packs the linears of these phases, each thread of the pool what it will read. Callable again with others. kNoMemory; kNumeric for numbers
  // that the type asked for at load cannot hold.
  Result<> pack(std::span<const Phase> phases, SpinPool& pool);

  // The panels of thread `thread` of `threads` in a phase: [first, last) of those of its linears one after the other; of a gate and its up, of one.
  std::pair<int, int> panels_of(const LinearPhase& phase, int thread, int threads) const;

  const LinearWeights& linear(int op) const { return linears_[size_t(op)]; }      // op: index of a kLinear
  const float* vector(WeightId id) const { return vectors_[size_t(id)].data(); }  // a norm's weight, as floats
  const TensorView& table(WeightId id) const { return *tables_[size_t(id)]; }     // an embedding
  uint64_t packed_bytes() const { return packed_bytes_; }

 private:
  Result<> find_all(const Plan& plan, const TensorFinder& find, bool exact);
  void place(std::span<const Phase> phases, int threads, std::vector<int64_t>& arena_bytes);
  Result<> fill(std::span<const Phase> phases, int thread, const std::byte* arena);

  std::vector<LinearWeights> linears_;       // by op
  std::vector<std::vector<float>> vectors_;  // by weight
  std::vector<const TensorView*> tables_;    // by weight
  std::vector<HugeBuffer> arenas_;
  uint64_t packed_bytes_ = 0;
};

// Thread `thread` of `threads` takes [first, last) of n things.
inline std::pair<int, int> share_of(int n, int thread, int threads) {
  return {int(int64_t(n) * thread / threads), int(int64_t(n) * (thread + 1) / threads)};
}

}  // namespace anedvd
