#include "cpu/panel_rows.h"

#include "base/words.h"
#include "tensor/quantize.h"

namespace anedvd {

PanelRows::PanelRows(const TensorView& tensor, const WeightRef& ref) : tensor_(tensor), ref_(ref) {
  if (!ref.pack_as) return;
  const QuantFormat& type = format_of(*ref.pack_as);
  packed_row_bytes_ = ref.cols / type.block_elements * type.block_bytes;
  values_.resize(size_t(ref.cols));
  copies_.resize(size_t(packed_row_bytes_ * kLanes));
}

Result<std::array<const std::byte*, kLanes>> PanelRows::read(int panel) {
  std::array<const std::byte*, kLanes> rows{};
  for (int lane = 0; lane < kLanes; ++lane) {
    const int64_t row = int64_t(panel) * kLanes + lane;
    if (row >= ref_.rows) break;
    const int64_t stored = stored_row(ref_, row);
    if (ref_.pack_as) {
      ANEDVD_TRY(rows[size_t(lane)], quantised(stored, lane));
    } else {
      rows[size_t(lane)] = tensor_.row(stored).data();
    }
  }
  return rows;
}

Result<const std::byte*> PanelRows::quantised(int64_t stored, int lane) {
  std::byte* out = copies_.data() + lane * packed_row_bytes_;
  dequantize(tensor_, stored, 1, values_);
  if (const auto done = quantize_row(*ref_.pack_as, values_, out); !done)
    return fail_in(fmt::format("tensor \"{}\": row {}", visible(tensor_.name), stored), done.error());
  return out;
}

}  // namespace anedvd
