// The 16 rows of a panel as packing reads them: where they lie in the file, or quantised on the way.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "base/result.h"
#include "cpu/kernels/kernel_table.h"
#include "device/plan.h"
#include "tensor/view.h"

namespace anedvd {

class PanelRows {
 public:
  PanelRows(const TensorView& tensor, const WeightRef& ref);

  // Null beyond the last row. Valid until the next call. kNumeric names the tensor and the row: numbers that the type cannot hold.
  Result<std::array<const std::byte*, kLanes>> read(int panel);

 private:
  Result<const std::byte*> quantised(int64_t stored, int lane);

  const TensorView& tensor_;
  const WeightRef& ref_;
  int64_t packed_row_bytes_ = 0;
  std::vector<float> values_;      // one row
  std::vector<std::byte> copies_;  // 16 quantised rows
};

}  // namespace anedvd
