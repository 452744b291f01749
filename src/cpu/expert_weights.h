// Weights of the experts of one layer, packed when they are first chosen.
//
// Each thread of a step takes a share, the same panels of every expert, and packs them for itself, so nobody waits or asks another. Experts that are never chosen cost
// address space only: their pages in the file are not read either.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/machine/huge_buffer.h"
#include "base/result.h"
#include "cpu/kernels/kernel_table.h"
#include "device/step.h"

namespace anedvd {

struct ExpertMatrix {
  WeightRef ref;
  const TensorView* tensor = nullptr;
  std::optional<PackFormat> format;  // nullopt: rows are dequantised when they are used

  const TensorView* exponents = nullptr;  // of StackLayout::kSplitMxfp4

  // Bytes of a packed panel; 0 without a packed form.
  int64_t panel_bytes() const;
  void pack(int panel, std::byte* out) const;
  void dequantize_row(int64_t row, std::span<float> out) const;

 private:
  DType dtype() const;
  // The row as its type has it: borrowed from the file, or put together in `copy`.
  const std::byte* row_bytes(int64_t row, std::vector<std::byte>& copy) const;
  friend Result<ExpertMatrix> find_matrix(const WeightRef& ref, const TensorFinder& find, bool exact);
};

// A share's panels of one expert's matrix; base is null when rows are read from the file.
struct ExpertPanels {
  const ExpertMatrix* matrix = nullptr;
  int first = 0, count = 0;
  const std::byte* base = nullptr;
  int64_t stride = 0;
};

class ExpertWeights {
 public:
  // Finds and checks every expert's tensors; `shares`: one for each thread that there may be. Errors name the tensor.
  static Result<ExpertWeights> load(const Plan& plan, const PlanMoe& moe, const TensorFinder& find, bool exact,
                                    int shares);
  int shares() const { return int(shares_.size()); }

  // Panels of share `number` of gate and up (the same ones, in blocks of 32 outputs) and of down. Packs them at the first call. By one thread of a step only.
  ExpertPanels gate(int expert, int number);
  ExpertPanels up(int expert, int number);
  ExpertPanels down(int expert, int number);

  uint64_t packed_bytes() const;  // of all experts, chosen or not

 private:
  struct Share {
    int first = 0, count = 0;            // panels of gate and up
    int first_down = 0, count_down = 0;  // panels of down
    HugeBuffer arena;
    std::vector<int64_t> offset;  // of each expert: gate and up panels in turn, then down panels
    std::vector<uint8_t> is_inner_packed, is_down_packed;
  };

  int64_t inner_stride(int expert) const {
    return gate_[size_t(expert)].panel_bytes() + up_[size_t(expert)].panel_bytes();
  }
  std::byte* inner(int expert, int number);

  std::vector<ExpertMatrix> gate_, up_, down_;  // by expert
  std::vector<Share> shares_;                   // by number
};

}  // namespace anedvd
