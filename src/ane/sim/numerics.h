// How the chip rounds, saturates and approximates: docs/ane.md#numerics.
#pragma once

#include <array>
#include <cstdint>

#include "ane/sim/profile.h"

namespace anedvd::sim {

// To the nearest fp16 number, ties to even or away from zero; beyond 65504 infinity. Takes a double because sums are wider than a float.
float round_to_half(double value, bool ties_up);

// A convolution's sum as it leaves the accumulator.
float leave_accumulator(double sum, const Numerics& numerics);

// An elementwise result: rounded to nearest even; not-a-number becomes +0 and the sign of zero is lost.
float leave_elementwise(float value);

// What the chip makes of a number that comes in: not-a-number becomes infinity.
float enter(float value);

// A function as 33 equally spaced knots with straight lines between them.
class ActivationTable {
 public:
  enum class Function { kSigmoid, kTanh, kSilu, kGelu };
  explicit ActivationTable(Function function);

  float operator()(float x) const;

 private:
  static constexpr int kKnots = 33;
  Function function_;
  std::array<double, kKnots> knots_;
};

// The exact function, in float.
float exact_activation(ActivationTable::Function function, float x);

}  // namespace anedvd::sim
