#include "cpu/rope_table.h"

#include <algorithm>
#include <cmath>

namespace anedvd {

void RopeTable::reserve(int count) {
  if (count <= ready_) return;
  // In steps, so that decoding does not grow the table token by token.
  const int target = std::max(count, ready_ + 256);
  table_.resize(size_t(target) * 2 * size_t(pairs_));
  for (int position = ready_; position < target; ++position) {
    float* row = table_.data() + size_t(position) * 2 * size_t(pairs_);
    for (int i = 0; i < pairs_; ++i) {
      const double angle = double(position) * rope_.inverse_frequency[size_t(i)];
      row[i] = float(std::cos(angle) * rope_.magnitude);
      row[pairs_ + i] = float(std::sin(angle) * rope_.magnitude);
    }
  }
  ready_ = target;
}

}  // namespace anedvd
