#include "ane/scaling.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tensor/view.h"

namespace anedvd {
namespace {

constexpr int64_t kSampledRows = 64;
constexpr double kGrainError = 6e-6;  // times √inputs: the error of a sum (docs/ane.md#small-values)
// How much larger than that error sums should be: within a program half a unit of fp16, in what leaves it a quarter of that.
constexpr double kWithin = 0x1p13, kLeaving = 0x1p15;
// What only a norm reads has no size of its own, and is often a thousand times smaller than estimated, since trained gates are mostly shut: as large as
// leaves a factor of 8 below the chip's largest sum. Beyond it the overflow is noticed and the host takes that step.
constexpr double kBeforeNorm = 0x1p12;
constexpr int kMostExponent = 12;
constexpr double kLargestWeight = 0x1p8;  // of those sampled: the others stay within fp16
// A linear program's largest possible output: half of what the chip saturates at, and half again for rows that were not sampled.
constexpr double kLargestOutput = 0x1p13, kLargestInput = 0x1p15;

// Root mean square of a value over the columns of a text; by channel where that is known.
struct Size {
  double all = 0;
  std::vector<float> channels;
};

// Mean of f(z)² for z from a normal distribution of deviation `spread`, as a root.
template <class F>
double rms_of(double spread, F f) {
  double sum = 0, weights = 0;
  for (int i = -16; i <= 16; ++i) {
    const double z = i / 4.0, weight = std::exp(-z * z / 2), y = f(z * spread);
    sum += weight * y * y;
    weights += weight;
  }
  return std::sqrt(sum / weights);
}

class Estimate {
 public:
  Estimate(const Plan& plan, const ProgramSpec& spec, const TensorFinder& find)
      : plan_(plan), spec_(spec), find_(find) {}

  Scaling choose() {
    Scaling scaling;
    if (const double norm = linear_norm(); norm > 0) {
      scaling.row_norm = norm;
      return scaling;
    }
    for (const ValueId in : spec_.inputs) sizes_[in] = size_of_input(in);
    scaling.exponents.assign(spec_.ops.size(), 0);
    for (size_t i = 0; i < spec_.ops.size(); ++i) scaling.exponents[i] = visit(plan_.ops[size_t(spec_.ops[i])]);
    return scaling;
  }

 private:
  // The largest row of all linears if there is nothing else in the program and they read one value; else 0.
  double linear_norm() {
    double largest = 0;
    if (spec_.inputs.size() != 1) return 0;
    for (const int i : spec_.ops) {
      const Op& op = plan_.ops[size_t(i)];
      if (op.kind != OpKind::kLinear || op.bias >= 0 || op.in[0] != spec_.inputs[0]) return 0;
      for (const double norm : row_norms(op, nullptr)) largest = std::max(largest, norm);
    }
    return largest;
  }

  // Norms of some of a weight's rows, its columns times `sizes`. Empty: it cannot be read.
  std::vector<double> row_norms(const Op& op, const Size* sizes) {
    const WeightRef& ref = plan_.weights[size_t(op.weight)];
    const TensorView* tensor = find_(ref.tensor);
    largest_ = 0;
    if (tensor == nullptr || tensor->cols() != ref.cols || ref.rows <= 0) return {};
    std::vector<double> norms;
    std::vector<float> row(size_t(ref.cols));
    const int64_t count = std::min(kSampledRows, ref.rows);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t stored = stored_row(ref, ref.rows * i / count);
      if (stored < 0 || stored >= tensor->rows()) return {};
      dequantize(*tensor, stored, 1, row);
      double sum = 0;
      for (size_t c = 0; c < row.size(); ++c) {
        const double value = double(row[c]) + double(ref.add);
        largest_ = std::max(largest_, std::abs(value));
        const double size = sizes == nullptr ? 1 : !sizes->channels.empty() ? double(sizes->channels[c]) : sizes->all;
        sum += value * value * size * size;
      }
      norms.push_back(std::sqrt(sum));
    }
    return norms;
  }

  // A norm's output has the size of its gains. Of other inputs nothing is known: 0.
  Size size_of_input(ValueId in) const {
    const auto writes = [&](const Op& op) { return op.out == in; };
    const auto op = std::find_if(plan_.ops.begin(), plan_.ops.end(), writes);
    if (op == plan_.ops.end() || op->kind != OpKind::kRmsNorm) return {};
    Size size{1, {}};
    if (op->weight < 0) return size;
    const WeightRef& ref = plan_.weights[size_t(op->weight)];
    const TensorView* tensor = find_(ref.tensor);
    const int dim = plan_.values[size_t(in)].dim;
    const int64_t gains = ref.rows * ref.cols;
    if (tensor == nullptr || gains <= 0 || dim % gains != 0 || tensor->elements() < ref.first_row + gains) return {};
    std::vector<float> stored(size_t(tensor->elements()));
    dequantize(*tensor, 0, tensor->rows(), stored);
    for (int c = 0; c < dim; ++c) {
      const int64_t at = stored_row(ref, c % gains);
      if (at < 0 || at >= int64_t(stored.size())) return {};
      size.channels.push_back(std::abs(stored[size_t(at)] + ref.add));
    }
    return size;
  }

  bool leaves(ValueId id) const {
    return std::find(spec_.outputs.begin(), spec_.outputs.end(), id) != spec_.outputs.end();
  }

  bool is_read_by_norms(ValueId id) const {
    return id != plan_.logits && std::all_of(plan_.ops.begin(), plan_.ops.end(), [&](const Op& op) {
             return op.kind == OpKind::kRmsNorm || std::find(op.in.begin(), op.in.end(), id) == op.in.end();
           });
  }

  // Notes the size of what the step writes, as it will be in the program; returns the exponent of a linear's weights.
  int visit(const Op& op) {
    const Size& x = sizes_[op.in[0]];
    double size = x.all;
    int exponent = 0;
    switch (op.kind) {
      case OpKind::kLinear: {
        const std::vector<double> norms = row_norms(op, &x);
        double sum = 0;
        for (const double norm : norms) sum += norm * norm;
        size = norms.empty() ? 0 : std::sqrt(sum / double(norms.size()));
        if (size > 0 && op.bias < 0) {
          const double error = kGrainError * std::sqrt(double(plan_.values[size_t(op.in[0])].dim));
          const double wanted = !leaves(op.out)            ? error * kWithin
                                : is_read_by_norms(op.out) ? kBeforeNorm
                                                           : error * kLeaving;
          // As it is in the program, its input's factor in it.
          const double there = std::ldexp(size, shifts_[op.in[0]]);
          const double most = std::min(double(kMostExponent), std::floor(std::log2(kLargestWeight / largest_)));
          exponent = int(std::clamp(std::ceil(std::log2(wanted / there)), 0.0, std::max(0.0, most)));
        }
        shifts_[op.out] = shifts_[op.in[0]] + exponent;
        break;
      }
      case OpKind::kSilu: size = rms_of(x.all, [](double z) { return z / (1 + std::exp(-z)); }); break;
      case OpKind::kGeluTanh: size = rms_of(x.all, [](double z) { return z / (1 + std::exp(-1.702 * z)); }); break;
      case OpKind::kMul:
        size *= sizes_[op.in[1]].all;
        shifts_[op.out] = shifts_[op.in[0]] + shifts_[op.in[1]];
        break;
      case OpKind::kScale:
        size *= double(std::abs(op.param));
        shifts_[op.out] = shifts_[op.in[0]];
        break;
      default: size = 0;
    }
    sizes_[op.out] = {size, {}};
    return exponent;
  }

  const Plan& plan_;
  const ProgramSpec& spec_;
  const TensorFinder& find_;
  std::map<ValueId, Size> sizes_;  // true sizes; 0: not known
  std::map<ValueId, int> shifts_;  // a value in the program is 2^shift times the true one
  double largest_ = 0;             // weight of the last row_norms()
};

}  // namespace

Scaling choose_scaling(const Plan& plan, const ProgramSpec& spec, const TensorFinder& find) {
  return Estimate(plan, spec, find).choose();
}

float column_scale(const float* column, int64_t count, double row_norm) {
  double sum = 0;
  float largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    sum += double(column[i]) * double(column[i]);
    largest = std::max(largest, std::abs(column[i]));
  }
  const double output = std::sqrt(sum) * row_norm;
  if (!(output > 0) || !std::isfinite(output)) return 1;
  return float(std::exp2(std::clamp(
      std::floor(std::log2(std::min(kLargestOutput / output, kLargestInput / double(largest)))), -24.0, 24.0)));
}

}  // namespace anedvd
