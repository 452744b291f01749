// Operations of one or two operands, element by element: one operation in fp32, then rounded to fp16.
#pragma once

#include <span>
#include <string_view>

#include "ane/sim/profile.h"

namespace anedvd::sim {

struct Columns;

// Whether the interpreter computes this operation at all.
bool has_arithmetic(std::string_view op);
bool is_binary(std::string_view op);

// Channels and columns of one are repeated.
Columns run_binary(std::string_view op, const Columns& x, const Columns& y);

// `parameters`: bounds of clip, epsilon of rsqrt and log.
Columns run_unary(std::string_view op, const Columns& x, std::span<const double> parameters, const Numerics& numerics);

}  // namespace anedvd::sim
