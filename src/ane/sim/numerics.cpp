#include "ane/sim/numerics.h"

#include <bit>
#include <cmath>

namespace anedvd::sim {
namespace {

constexpr double kLargestHalf = 65504;
constexpr double kSmallestNormal = 0x1p-14;
constexpr int kDroppedBits = 52 - 10;  // of a double's fraction

double exact(ActivationTable::Function function, double x) {
  switch (function) {
    case ActivationTable::Function::kSigmoid: return 1 / (1 + std::exp(-x));
    case ActivationTable::Function::kTanh: return std::tanh(x);
    case ActivationTable::Function::kSilu: return x / (1 + std::exp(-x));
    default: return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
  }
}

// Knots from `first` to `last`. The spacing was not published; these spans give the published largest errors (docs/ane.md#activation-tables). tanh is
// odd, so that its knots serve one side.
struct Span {
  double first, last;
};
Span span_of(ActivationTable::Function function) {
  return function == ActivationTable::Function::kTanh ? Span{0, 4} : Span{-8, 8};
}

}  // namespace

float round_to_half(double value, bool ties_up) {
  const double magnitude = std::abs(value);
  if (!(magnitude < kLargestHalf + 16))
    return std::isnan(value) ? float(value) : std::copysign(HUGE_VALF, float(value));
  double rounded;
  if (magnitude < kSmallestNormal) {
    const double steps = magnitude * 0x1p24;
    rounded = (ties_up ? std::floor(steps + 0.5) : std::nearbyint(steps)) * 0x1p-24;
  } else {
    const auto bits = std::bit_cast<uint64_t>(magnitude);
    const uint64_t half = uint64_t(1) << (kDroppedBits - 1), odd = bits >> kDroppedBits & 1;
    rounded = std::bit_cast<double>((bits + (ties_up ? half : half - 1 + odd)) >> kDroppedBits << kDroppedBits);
  }
  return float(std::copysign(rounded, value));
}

float leave_accumulator(double sum, const Numerics& numerics) {
  if (std::isnan(sum)) return 0;
  if (std::abs(sum) >= double(numerics.saturation))
    return numerics.overflow_is_zero ? 0 : std::copysign(HUGE_VALF, float(sum));
  const float rounded = round_to_half(sum, numerics.ties_up);
  if (numerics.flush_denormals && std::abs(double(rounded)) < kSmallestNormal) return 0;
  return rounded + 0.0f;  // −0 becomes +0
}

float leave_elementwise(float value) {
  if (std::isnan(value)) return 0;
  return round_to_half(double(value), false) + 0.0f;
}

float enter(float value) { return std::isnan(value) ? HUGE_VALF : value + 0.0f; }

ActivationTable::ActivationTable(Function function) : function_(function) {
  const auto [first, last] = span_of(function);
  for (int i = 0; i < kKnots; ++i) knots_[size_t(i)] = exact(function, first + (last - first) * i / (kKnots - 1));
}

float ActivationTable::operator()(float x) const {
  const auto [first, last] = span_of(function_);
  const bool is_odd = function_ == Function::kTanh;
  const double place = ((is_odd ? std::abs(double(x)) : double(x)) - first) / (last - first) * (kKnots - 1);
  // Beyond the knots: the function's own limit.
  if (!(place >= 0)) return 0;
  const bool is_linear = function_ == Function::kSilu || function_ == Function::kGelu;
  double value = is_linear ? double(x) : 1;
  if (place < kKnots - 1) {
    const auto knot = int(place);
    const double part = place - knot;
    value = knots_[size_t(knot)] * (1 - part) + knots_[size_t(knot) + 1] * part;
  }
  return float(is_odd ? std::copysign(value, double(x)) : value);
}

float exact_activation(ActivationTable::Function function, float x) {
  if (std::isinf(x) && x < 0) return function == ActivationTable::Function::kTanh ? -1.0f : 0.0f;
  return float(exact(function, double(x)));
}

}  // namespace anedvd::sim
