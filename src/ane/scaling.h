// Powers of two that lift small sums above the grain of the chip's accumulator and undo it behind them: docs/ane.md#small-values.
//
// A convolution's sum carries an absolute error of about 6e-6·√inputs, whatever its size. Where a program's sums are that small, its weights are
// multiplied by powers of two, which no precision is lost by; what a sigmoid reads is brought back within the program, what leaves it on the host.
// How large sums will be is estimated from the weights alone: inputs of a program that a norm wrote have the size of its gains.
#pragma once

#include <vector>

#include "ane/program_spec.h"
#include "device/step.h"

namespace anedvd {

struct Scaling {
  std::vector<int>
      exponents;  // by position in ProgramSpec::ops: a linear's weights are multiplied by 2^exponent; empty: none are
  // > 0: the program is linear in its one input, and no output is larger than this times the input's norm. Each column can have a scale of its own.
  double row_norm = 0;
};

// Reads some rows of each weight. A tensor that is missing or of another shape gives no scaling: write_weights() tells what is wrong with it.
Scaling choose_scaling(const Plan& plan, const ProgramSpec& spec, const TensorFinder& find);

// The factor, a power of two, for a column of the input of a program that is linear. 1 for a column of zeros.
float column_scale(const float* column, int64_t count, double row_norm);

}  // namespace anedvd
