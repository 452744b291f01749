// Plans with random weights.
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

  void replace(const std::string& name, std::vector<float> data) { data_.at(name) = std::move(data); }
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

// Rows of every value of a plan, twice: what a program computes and what is expected of it. The first value holds the same random halves in both.
struct PairedRows {
  PairedRows(const PlanFixture& fixture, int columns, std::mt19937& random) {
    for (std::vector<float*>* side : {&got, &want})
      for (const Value& value : fixture.plan.values)
        side->push_back(rows.emplace_back(size_t(column_floats(value.dim) * columns)).data());
    std::normal_distribution<float> normal(0, 1);
    for (int i = 0; i < column_floats(fixture.dim(0)) * columns; ++i)
      got[0][i] = want[0][i] = half_to_float(float_to_half(normal(random)));
  }

  std::vector<std::vector<float>> rows;  // moved rows keep their memory
  std::vector<float*> got, want;
};

}  // namespace anedvd
