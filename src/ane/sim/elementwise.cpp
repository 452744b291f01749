#include "ane/sim/elementwise.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ane/sim/interpreter.h"
#include "ane/sim/numerics.h"
#include "base/half.h"

namespace anedvd::sim {
namespace {

using Function = ActivationTable::Function;

constexpr std::string_view kBinary[] = {"add", "maximum", "minimum", "mul", "pow", "real_div", "sub"};
constexpr std::string_view kOthers[] = {"abs",     "clip",   "concat",        "conv",        "erf",        "exp",
                                        "gelu",    "log",    "reduce_max",    "reduce_mean", "reduce_sum", "rsqrt",
                                        "sigmoid", "silu",   "slice_by_size", "softmax",     "sqrt",       "square",
                                        "tanh",    "matmul", "quantize",      "dequantize"};

template <class F>
Columns broadcast(const Columns& x, const Columns& y, F f) {
  Columns out{std::max(x.channels, y.channels), std::max(x.columns, y.columns), {}};
  out.values.resize(size_t(out.channels * out.columns));
  const int64_t x_step = x.channels == 1 ? 0 : 1, y_step = y.channels == 1 ? 0 : 1;
  for (int64_t column = 0; column < out.columns; ++column) {
    const float* a = x.column(x.columns == 1 ? 0 : column);
    const float* b = y.column(y.columns == 1 ? 0 : column);
    float* o = out.column(column);
    for (int64_t c = 0; c < out.channels; ++c) o[c] = leave_elementwise(f(a[c * x_step], b[c * y_step]));
  }
  return out;
}

template <class F>
Columns each(const Columns& x, F f) {
  Columns out{x.channels, x.columns, {}};
  out.values.resize(x.values.size());
  for (size_t i = 0; i < x.values.size(); ++i) out.values[i] = leave_elementwise(f(x.values[i]));
  return out;
}

Columns activate(Function function, const Columns& x, const Numerics& numerics) {
  if (!numerics.table_activations) return each(x, [=](float v) { return exact_activation(function, v); });
  const ActivationTable table(function);
  return each(x, [&](float v) { return table(v); });
}

}  // namespace

bool is_binary(std::string_view op) {
  return std::find(std::begin(kBinary), std::end(kBinary), op) != std::end(kBinary);
}

bool has_arithmetic(std::string_view op) {
  return is_binary(op) || std::find(std::begin(kOthers), std::end(kOthers), op) != std::end(kOthers);
}

Columns run_binary(std::string_view op, const Columns& x, const Columns& y) {
  if (op == "add") return broadcast(x, y, [](float a, float b) { return a + b; });
  if (op == "sub") return broadcast(x, y, [](float a, float b) { return a - b; });
  if (op == "mul") return broadcast(x, y, [](float a, float b) { return a * b; });
  if (op == "real_div") return broadcast(x, y, [](float a, float b) { return a / b; });
  if (op == "maximum") return broadcast(x, y, [](float a, float b) { return std::max(a, b); });
  if (op == "minimum") return broadcast(x, y, [](float a, float b) { return std::min(a, b); });
  return broadcast(x, y, [](float a, float b) { return std::pow(a, b); });
}

Columns run_unary(std::string_view op, const Columns& x, std::span<const double> parameters, const Numerics& numerics) {
  if (const auto sampled = numerics.samples.find(op); sampled != numerics.samples.end()) {
    const std::vector<uint16_t>& table = *sampled->second;
    return each(x, [&](float v) { return half_to_float(table[float_to_half(v)]); });
  }
  if (op == "sigmoid") return activate(Function::kSigmoid, x, numerics);
  if (op == "tanh") return activate(Function::kTanh, x, numerics);
  if (op == "silu") return activate(Function::kSilu, x, numerics);
  if (op == "gelu") return activate(Function::kGelu, x, numerics);
  if (op == "exp") return each(x, [](float v) { return std::exp(v); });
  if (op == "abs") return each(x, [](float v) { return std::abs(v); });
  if (op == "erf") return each(x, [](float v) { return std::erf(v); });
  if (op == "sqrt") return each(x, [](float v) { return std::sqrt(v); });
  if (op == "square") return each(x, [](float v) { return v * v; });
  const auto first = float(parameters[0]);
  if (op == "quantize") return each(x, [=](float v) { return std::clamp(std::nearbyint(v / first), -128.0f, 127.0f); });
  if (op == "dequantize") return each(x, [=](float v) { return v * first; });
  if (op == "rsqrt") return each(x, [=](float v) { return 1 / std::sqrt(v + first); });
  if (op == "log") return each(x, [=](float v) { return std::log(v + first); });
  const auto second = float(parameters[1]);
  return each(x, [=](float v) { return std::min(std::max(v, first), second); });
}

}  // namespace anedvd::sim
