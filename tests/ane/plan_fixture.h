// Plans with random weights, and what they should give: every step as a plain loop in double precision.
#pragma once

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <unistd.h>

#include "base/half.h"
#include "base/mapped_file.h"
#include "device/host_ops.h"
#include "device/kv_view.h"
#include "device/plan.h"
#include "device/step.h"

namespace anedvd {

// A plan under construction with its tensors.
class PlanFixture {
 public:
  explicit PlanFixture(uint32_t seed = 1) : random_(seed) {}

  Plan plan;

  ValueId emit(Op op, int dim) {
    plan.values.push_back({"v" + std::to_string(plan.values.size()), dim});
    op.out = ValueId(plan.values.size() - 1);
    plan.ops.push_back(op);
    return op.out;
  }
  int dim(ValueId id) const { return plan.values[size_t(id)].dim; }

  WeightId weight(int64_t rows, int64_t cols, float spread) {
    const std::string name = "w" + std::to_string(plan.weights.size());
    auto& data = data_[name];
    data.resize(size_t(rows * cols));
    std::normal_distribution<float> normal(0, spread);
    for (float& value : data) value = half_to_float(float_to_half(normal(random_)));
    views_[name] = {name, DType::kF32, {rows, cols}, {}};
    plan.weights.push_back({.tensor = name, .rows = rows, .cols = cols});
    return WeightId(plan.weights.size() - 1);
  }

  ValueId embed(int vocab, int hidden) {
    return emit({.kind = OpKind::kEmbed, .weight = weight(vocab, hidden, 1), .param = 1}, hidden);
  }
  ValueId linear(ValueId in, int rows, bool with_bias = false) {
    const WeightId id = weight(rows, dim(in), 1 / std::sqrt(float(dim(in))));
    const WeightId bias = with_bias ? weight(rows, 1, 0.5f) : -1;
    return emit({.kind = OpKind::kLinear, .in = {in, -1, -1}, .weight = id, .bias = bias}, rows);
  }
  ValueId one(OpKind kind, ValueId in, float param = 0) {
    return emit({.kind = kind, .in = {in, -1, -1}, .param = param}, dim(in));
  }
  ValueId two(OpKind kind, ValueId a, ValueId b) { return emit({.kind = kind, .in = {a, b, -1}}, dim(a)); }
  ValueId norm(ValueId in) {
    return emit({.kind = OpKind::kRmsNorm, .in = {in, -1, -1}, .weight = weight(1, dim(in), 1), .param = 1e-5f},
                dim(in));
  }

  // The tensors as a mapped file: whoever reads them gives the pages back, which memory of our own would not survive.
  TensorFinder finder() {
    static int count = 0;
    path_ =
        std::filesystem::temp_directory_path() / ("plan-" + std::to_string(getpid()) + "-" + std::to_string(count++));
    std::ofstream file(path_, std::ios::binary);
    for (const auto& [name, data] : data_)
      file.write(reinterpret_cast<const char*>(data.data()), std::streamsize(data.size() * sizeof(float)));
    file.close();
    map_ = std::make_shared<MappedFile>(std::move(*MappedFile::open(path_)));
    std::filesystem::remove(path_);
    size_t at = 0;
    for (const auto& [name, data] : data_) {
      views_[name].bytes = map_->bytes().subspan(at, data.size() * sizeof(float));
      at += data.size() * sizeof(float);
    }
    return [this](std::string_view name) -> const TensorView* {
      const auto found = views_.find(std::string(name));
      return found == views_.end() ? nullptr : &found->second;
    };
  }

  const std::vector<float>& tensor(WeightId id) const { return data_.at(plan.weights[size_t(id)].tensor); }

  // Layers of Llama's shape between an embedding and a head.
  static PlanFixture llama(int layers, int hidden = 64, int ffn = 96, int vocab = 128, OpKind gate = OpKind::kSilu,
                           bool with_bias = false) {
    PlanFixture made;
    ValueId x = made.embed(vocab, hidden);
    const int heads = 4, kv_heads = 2, head = hidden / heads;
    PlanRope rope{head, {}, 1};
    for (int i = 0; i < head / 2; ++i) rope.inverse_frequency.push_back(std::pow(1e4, -2.0 * i / head));
    made.plan.ropes.push_back(rope);
    for (int i = 0; i < layers; ++i) {
      const ValueId n = made.norm(x);
      const ValueId q = made.linear(n, hidden, with_bias), k = made.linear(n, kv_heads * head, with_bias);
      const ValueId v = made.linear(n, kv_heads * head, with_bias);
      PlanAttention attention;
      attention.cache_layer = i;
      attention.heads = heads;
      attention.kv_heads = kv_heads;
      attention.head_dim = head;
      attention.scale = 1 / std::sqrt(float(head));
      made.plan.attentions.push_back(attention);
      made.plan.cache.push_back({kv_heads, head});
      const ValueId rq = made.emit({.kind = OpKind::kRope, .in = {q, -1, -1}, .group = head, .spec = 0}, hidden);
      const ValueId rk =
          made.emit({.kind = OpKind::kRope, .in = {k, -1, -1}, .group = head, .spec = 0}, kv_heads * head);
      const ValueId a = made.emit({.kind = OpKind::kAttention, .in = {rq, rk, v}, .spec = i}, hidden);
      x = made.two(OpKind::kAdd, x, made.linear(a, hidden));
      const ValueId m = made.norm(x);
      const ValueId g = made.linear(m, ffn), u = made.linear(m, ffn);
      x = made.two(OpKind::kAdd, x, made.linear(made.two(OpKind::kMul, made.one(gate, g), u), hidden));
    }
    made.plan.logits = made.linear(made.norm(x), vocab);
    made.plan.vocab = vocab;
    check_plan(made.plan);
    return made;
  }

 private:
  std::mt19937 random_;
  std::map<std::string, std::vector<float>> data_;
  std::map<std::string, TensorView> views_;
  std::filesystem::path path_;
  std::shared_ptr<MappedFile> map_;
};

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

  Result<> run(int index, const HostStep& step, std::span<float* const> values) override {
    const Op& op = plan_.ops[size_t(index)];
    if (op.kind == OpKind::kAttention) {
      attend(op, step, values);
      return {};
    }
    runs_of_linears += op.kind == OpKind::kLinear ? 1 : 0;
    for (size_t c = 0; c < step.columns.size(); ++c) column(op, step.columns[c], c, values);
    return {};
  }

 private:
  float rounded(double value) const { return as_half_ ? half_to_float(float_to_half(float(value))) : float(value); }

  void column(const Op& op, const HostColumn& at, size_t c, std::span<float* const> values) const {
    const int dim = plan_.values[size_t(op.out)].dim;
    float* out = values[size_t(op.out)] + c * size_t(dim);
    const auto in = [&](int i) {
      return values[size_t(op.in[size_t(i)])] + c * size_t(plan_.values[size_t(op.in[size_t(i)])].dim);
    };
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
          out[i] = rounded(double(in(0)[i]) * inverse * double(fixture_.tensor(op.weight)[size_t(i)]));
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
    const int head = attention.head_dim, padded = (head + 15) / 16 * 16, kv_dim = attention.kv_heads * head;
    for (size_t c = 0; c < step.columns.size(); ++c) {
      const HostColumn& at = step.columns[c];
      for (int h = 0; h < attention.kv_heads; ++h) {
        uint16_t* block = head_block(step.slices[size_t(at.slice)], attention, h, at.position);
        for (int i = 0; i < head; ++i) {
          block[i * kPageTokens + at.position % kPageTokens] =
              float_to_half(values[size_t(op.in[1])][c * size_t(kv_dim) + size_t(h * head + i)]);
          block[padded * kPageTokens + at.position % kPageTokens * padded + i] =
              float_to_half(values[size_t(op.in[2])][c * size_t(kv_dim) + size_t(h * head + i)]);
        }
      }
    }
    for (size_t c = 0; c < step.columns.size(); ++c) {
      const HostColumn& at = step.columns[c];
      for (int h = 0; h < attention.heads; ++h) {
        const float* q = values[size_t(op.in[0])] + c * size_t(attention.heads * head) + size_t(h * head);
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
          values[size_t(op.out)][c * size_t(attention.heads * head) + size_t(h * head + i)] =
              float(sum[size_t(i)] / total);
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
