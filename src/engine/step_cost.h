// How long a step takes, learned from the steps that ran: fixed + per column + per cache entry that is read.
//
// Recursive least squares with forgetting, so a machine that gets busy is noticed within some dozens of steps. Before anything was measured it
// is a guess in which columns are cheap.
#pragma once

#include <array>
#include <cstdint>

namespace anedvd {

// What a step holds.
struct StepShape {
  int columns = 0;
  int64_t cache_entries = 0;  // positions read, summed over columns
};

class StepCost {
 public:
  void observe(const StepShape& shape, double seconds);

  // Seconds. Never less than a small part of the fixed cost.
  double predict(const StepShape& shape) const;

  double fixed_seconds() const;
  double column_seconds() const;
  int64_t steps() const { return steps_; }

 private:
  static constexpr int kTerms = 3;
  using Vector = std::array<double, kTerms>;

  static Vector terms(const StepShape& shape);

  Vector weights_ = {3e-3, 1e-4, 1e-8};                                          // of terms()
  std::array<Vector, kTerms> covariance_ = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};  // of the weights, up to a factor
  int64_t steps_ = 0;
};

}  // namespace anedvd
