// The time that counts of several: neither the first, which warms up, nor one that something disturbed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace anedvd {

// The median; of an even number the upper one. `values` is not empty.
inline double middle_of(std::vector<double> values) {
  const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace anedvd
