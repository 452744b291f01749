// What a plan should give: every step as a plain loop in double precision.
#pragma once

#include <cmath>
#include <vector>

#include "ane/plan_fixture.h"
#include "base/half.h"
#include "device/host_ops.h"
#include "device/kv_view.h"

namespace anedvd {

// Every step as a loop that can be checked by eye. `as_half`: rounds what an elementwise step or a linear gives to fp16, as the chip does.
class ScalarHostOps : public HostOps {
 public:
  ScalarHostOps(const PlanFixture& fixture, bool as_half = false)
      : fixture_(fixture), plan_(fixture.plan), layout_(plan_.cache), as_half_(as_half) {}

  std::vector<int> prepared;
  int runs_of_linears = 0;

  Result<> prepare(std::span<const int> ops) override {
    prepared.insert(prepared.end(), ops.begin(), ops.end());
    return {};
  }

  Result<> run(std::span<const int> ops, const HostStep& step, std::span<float* const> values) override {
    for (const int index : ops) run_one(plan_.ops[size_t(index)], step, values);
    return {};
  }

  void limit_threads(int /*threads*/) override {}

 private:
  void run_one(const Op& op, const HostStep& step, std::span<float* const> values) {
    if (op.kind == OpKind::kAttention) {
      attend(op, step, values);
      return;
    }
    runs_of_linears += op.kind == OpKind::kLinear ? 1 : 0;
    for (size_t c = 0; c < step.columns.size(); ++c) column(op, step.columns[c], c, values);
  }

  int64_t stride(ValueId value) const { return column_floats(plan_.values[size_t(value)].dim); }

  float rounded(double value) const { return as_half_ ? half_to_float(float_to_half(float(value))) : float(value); }

  void column(const Op& op, const HostColumn& at, size_t c, std::span<float* const> values) const {
    const int dim = plan_.values[size_t(op.out)].dim;
    float* out = values[size_t(op.out)] + int64_t(c) * stride(op.out);
    const auto in = [&](int i) { return values[size_t(op.in[size_t(i)])] + int64_t(c) * stride(op.in[size_t(i)]); };
    switch (op.kind) {
      case OpKind::kEmbed:
        for (int i = 0; i < dim; ++i)
          out[i] = fixture_.tensor(op.weight)[size_t(at.token) * size_t(dim) + size_t(i)] * op.param;
        break;
      case OpKind::kLinear: {
        const int64_t cols = plan_.weights[size_t(op.weight)].cols;
        for (int r = 0; r < dim; ++r) {
          double sum = 0;
          for (int64_t k = 0; k < cols; ++k)
            sum += double(fixture_.tensor(op.weight)[size_t(r * cols + k)]) * double(in(0)[k]);
          out[r] = rounded(sum);
          if (op.bias >= 0) out[r] = rounded(double(out[r]) + double(fixture_.tensor(op.bias)[size_t(r)]));
        }
        break;
      }
      case OpKind::kRmsNorm: {
        double sum = 0;
        for (int i = 0; i < dim; ++i) sum += double(in(0)[i]) * double(in(0)[i]);
        const double inverse = 1 / std::sqrt(sum / dim + double(op.param));
        for (int i = 0; i < dim; ++i)
          out[i] =
              rounded(double(in(0)[i]) * inverse * (op.weight < 0 ? 1 : double(fixture_.tensor(op.weight)[size_t(i)])));
        break;
      }
      case OpKind::kRope: {
        const PlanRope& rope = plan_.ropes[size_t(op.spec)];
        const int half = op.group / 2;
        for (int head = 0; head < dim; head += op.group)
          for (int i = 0; i < half; ++i) {
            const double angle = at.position * rope.inverse_frequency[size_t(i)];
            const double a = double(in(0)[head + i]), b = double(in(0)[head + half + i]);
            out[head + i] = float(a * std::cos(angle) - b * std::sin(angle));
            out[head + half + i] = float(a * std::sin(angle) + b * std::cos(angle));
          }
        break;
      }
      default:
        for (int i = 0; i < dim; ++i)
          out[i] = rounded(elementwise(op, double(in(0)[i]), op.in[1] >= 0 ? double(in(1)[i]) : 0));
    }
  }

  static double elementwise(const Op& op, double a, double b) {
    switch (op.kind) {
      case OpKind::kAdd: return a + b;
      case OpKind::kMul: return a * b;
      case OpKind::kScale: return a * double(op.param);
      case OpKind::kSilu: return a / (1 + std::exp(-a));
      case OpKind::kGeluTanh: return 0.5 * a * (1 + std::tanh(std::sqrt(2 / M_PI) * (a + 0.044715 * a * a * a)));
      default: return double(op.param) * std::tanh(a / double(op.param));
    }
  }

  uint16_t* head_block(const Slice& slice, const PlanAttention& attention, int kv_head, int position) const {
    return slice.kv.pages[size_t(position / kPageTokens)] + layout_.head_offset(attention.cache_layer, kv_head);
  }

  void attend(const Op& op, const HostStep& step, std::span<float* const> values) const {
    const PlanAttention& attention = plan_.attentions[size_t(op.spec)];
    const int head = attention.head_dim, padded = (head + 15) / 16 * 16;
    for (size_t c = 0; c < step.columns.size(); ++c) {
      const HostColumn& at = step.columns[c];
      for (int h = 0; h < attention.kv_heads; ++h) {
        uint16_t* block = head_block(step.slices[size_t(at.slice)], attention, h, at.position);
        for (int i = 0; i < head; ++i) {
          block[i * kPageTokens + at.position % kPageTokens] =
              float_to_half(values[size_t(op.in[1])][int64_t(c) * stride(op.in[1]) + h * head + i]);
          block[padded * kPageTokens + at.position % kPageTokens * padded + i] =
              float_to_half(values[size_t(op.in[2])][int64_t(c) * stride(op.in[2]) + h * head + i]);
        }
      }
    }
    for (size_t c = 0; c < step.columns.size(); ++c) {
      const HostColumn& at = step.columns[c];
      for (int h = 0; h < attention.heads; ++h) {
        const float* q = values[size_t(op.in[0])] + int64_t(c) * stride(op.in[0]) + h * head;
        const int kv_head = h * attention.kv_heads / attention.heads;
        std::vector<double> scores, sum(size_t(head), 0.0);
        double total = 0;
        for (int p = 0; p <= at.position; ++p) {
          const uint16_t* k = head_block(step.slices[size_t(at.slice)], attention, kv_head, p);
          double score = 0;
          for (int i = 0; i < head; ++i)
            score += double(q[i]) * double(half_to_float(k[i * kPageTokens + p % kPageTokens]));
          scores.push_back(std::exp(score * double(attention.scale)));
          total += scores.back();
          for (int i = 0; i < head; ++i)
            sum[size_t(i)] +=
                scores.back() * double(half_to_float(k[padded * kPageTokens + p % kPageTokens * padded + i]));
        }
        for (int i = 0; i < head; ++i)
          values[size_t(op.out)][int64_t(c) * stride(op.out) + h * head + i] = float(sum[size_t(i)] / total);
      }
    }
  }

  const PlanFixture& fixture_;
  const Plan& plan_;
  KvLayout layout_;
  bool as_half_;
};

// Largest difference over the largest wanted magnitude.
inline double relative_error(std::span<const float> got, std::span<const float> want) {
  double worst = 0, largest = 1e-30;
  for (size_t i = 0; i < got.size(); ++i) {
    const double difference = std::abs(double(got[i]) - double(want[i]));
    worst = std::isnan(difference) ? HUGE_VAL : std::max(worst, difference);
    largest = std::max(largest, std::abs(double(want[i])));
  }
  return worst / largest;
}

}  // namespace anedvd
