// Whether this machine expands a form of compressed weights rightly: asked once with a small matrix before any model's weights use it
// (docs/ane.md#compressed-weights).
#pragma once

#include "ane/driver.h"
#include "ane/weight_format.h"

namespace anedvd {

// Largest relative difference that is taken for rounding; the forms themselves change such a matrix by 1 % and more.
constexpr double kMostProbeError = 2e-3;

// Compiles one program with a random matrix in this form, runs it and compares with the same codes expanded here. Returns the relative error of
// the result. Errors: kDevice, in the device's words; kIo.
Result<double> probe_weight_format(Driver& driver, WeightFormat format);

// The dense matrix that codes of these weights stand for: what a right chip computes with. [rows][cols] both.
std::vector<float> expanded(const WeightCode& code, std::span<const uint16_t> halves, int64_t cols);

}  // namespace anedvd
