// Cosines and sines of the rotations, computed in double precision once for each position and kept.
#pragma once

#include <vector>

#include "device/plan.h"

namespace anedvd {

class RopeTable {
 public:
  explicit RopeTable(const PlanRope& rope) : rope_(rope), pairs_(int(rope.inverse_frequency.size())) {}

  // Makes positions 0 … count − 1 ready. Not while other threads read.
  void reserve(int count);

  int pairs() const { return pairs_; }
  const float* cosine(int position) const { return table_.data() + size_t(position) * 2 * size_t(pairs_); }
  const float* sine(int position) const { return cosine(position) + pairs_; }

 private:
  PlanRope rope_;
  int pairs_;
  int ready_ = 0;
  std::vector<float> table_;  // [position][cosines, sines]
};

}  // namespace anedvd
