#include "engine/step_cost.h"

#include <algorithm>

namespace anedvd {
namespace {

constexpr double kForgetting = 0.98;
// Terms are scaled to about one, so that one covariance fits all three.
constexpr double kColumnScale = 1.0 / 16, kEntryScale = 1.0 / 4096;
constexpr double kLargestVariance = 1e3;  // what is never observed must not grow without bound

}  // namespace

StepCost::Vector StepCost::terms(const StepShape& shape) {
  return {1, shape.columns * kColumnScale, double(shape.cache_entries) * kEntryScale};
}

void StepCost::observe(const StepShape& shape, double seconds) {
  const Vector x = terms(shape);
  ++steps_;
  // A step that took far longer than expected was held up by somebody else: one such must not turn the picture over, many will.
  if (steps_ > 8) seconds = std::min(seconds, 2 * predict(shape));
  Vector gain{};
  double scale = kForgetting;
  for (int i = 0; i < kTerms; ++i)
    for (int j = 0; j < kTerms; ++j) gain[size_t(i)] += covariance_[size_t(i)][size_t(j)] * x[size_t(j)];
  for (int i = 0; i < kTerms; ++i) scale += x[size_t(i)] * gain[size_t(i)];
  double error = seconds;
  for (int i = 0; i < kTerms; ++i) error -= weights_[size_t(i)] * x[size_t(i)];
  for (int i = 0; i < kTerms; ++i) weights_[size_t(i)] += gain[size_t(i)] / scale * error;
  for (int i = 0; i < kTerms; ++i)
    for (int j = 0; j < kTerms; ++j) {
      double& entry = covariance_[size_t(i)][size_t(j)];
      entry = (entry - gain[size_t(i)] * gain[size_t(j)] / scale) / kForgetting;
      entry = std::clamp(entry, -kLargestVariance, kLargestVariance);
    }
}

double StepCost::predict(const StepShape& shape) const {
  const Vector x = terms(shape);
  double sum = 0;
  for (int i = 0; i < kTerms; ++i) sum += std::max(weights_[size_t(i)], 0.0) * x[size_t(i)];
  return std::max(sum, 1e-6);
}

double StepCost::fixed_seconds() const { return std::max(weights_[0], 0.0); }
double StepCost::column_seconds() const { return std::max(weights_[1], 0.0) * kColumnScale; }

}  // namespace anedvd
