#include "device/random_plan.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <unistd.h>

#include "base/half.h"

namespace anedvd {

WeightId RandomPlan::weight(int64_t rows, int64_t cols, float spread) {
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> values(size_t(rows * cols));
  for (float& value : values) value = half_to_float(float_to_half(normal(random_)));
  const std::string name = "w" + std::to_string(plan_.weights.size());
  tensors_.push_back({name, DType::kF32, {rows, cols}, {}});
  data_.push_back(std::move(values));
  plan_.weights.push_back({.tensor = name, .rows = rows, .cols = cols});
  return WeightId(plan_.weights.size() - 1);
}

ValueId RandomPlan::emit(Op op, int dim) {
  plan_.values.push_back({"v" + std::to_string(plan_.values.size()), dim});
  op.out = ValueId(plan_.values.size() - 1);
  plan_.ops.push_back(op);
  return op.out;
}

ValueId RandomPlan::linear_on(ValueId in, int rows, float size) {
  const int cols = plan_.values[size_t(in)].dim;
  const WeightId id = weight(rows, cols, size / std::sqrt(float(cols)));
  return emit({.kind = OpKind::kLinear, .in = {in, -1, -1}, .weight = id}, rows);
}

ValueId RandomPlan::norm_on(ValueId in) {
  const int dim = plan_.values[size_t(in)].dim;
  const WeightId id = weight(1, dim, 1);
  return emit({.kind = OpKind::kRmsNorm, .in = {in, -1, -1}, .weight = id, .param = 1e-5f}, dim);
}

Result<> RandomPlan::store() {
  std::string name = (std::filesystem::temp_directory_path() / "anedvd-random-XXXXXX").string();
  const int descriptor = mkstemp(name.data());
  if (descriptor < 0) return fail(ErrorCode::kIo, "{}: cannot be created: {}", name, std::strerror(errno));
  for (const auto& values : data_) {
    const auto bytes = ssize_t(values.size() * sizeof(float));
    for (ssize_t done = 0; done < bytes;) {
      const ssize_t wrote =
          ::write(descriptor, reinterpret_cast<const char*>(values.data()) + done, size_t(bytes - done));
      if (wrote <= 0) {
        const int error = errno;
        ::close(descriptor);
        std::filesystem::remove(name);
        return fail(ErrorCode::kIo, "{}: cannot be written: {}", name, std::strerror(error));
      }
      done += wrote;
    }
  }
  ::close(descriptor);
  auto opened = MappedFile::open(name);
  std::filesystem::remove(name);
  if (!opened) return tl::unexpected(opened.error());
  file_ = std::make_shared<MappedFile>(std::move(*opened));
  size_t at = 0;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const size_t bytes = data_[i].size() * sizeof(float);
    tensors_[i].bytes = file_->bytes().subspan(at, bytes);
    at += bytes;
  }
  data_.clear();
  check_plan(plan_);
  return {};
}

TensorFinder RandomPlan::finder() const {
  return [this](std::string_view name) -> const TensorView* {
    for (const TensorView& tensor : tensors_)
      if (tensor.name == name) return &tensor;
    return nullptr;
  };
}

Result<RandomPlan> RandomPlan::linear(int rows, int cols, int tokens, uint32_t seed) {
  RandomPlan made(seed);
  const ValueId x = made.emit({.kind = OpKind::kEmbed, .weight = made.weight(tokens, cols, 1), .param = 1}, cols);
  made.plan_.logits = made.linear_on(x, rows);
  made.plan_.vocab = rows;
  ANEDVD_TRY_VOID(made.store());
  return made;
}

void RandomPlan::add_layer(int index, ValueId& x, int heads, int kv_heads, int ffn, float size) {
  const int hidden = plan_.values[size_t(x)].dim, head = hidden / heads;
  const ValueId n = norm_on(x);
  const ValueId q = linear_on(n, hidden), k = linear_on(n, kv_heads * head), v = linear_on(n, kv_heads * head);
  PlanAttention attention;
  attention.cache_layer = index;
  attention.heads = heads;
  attention.kv_heads = kv_heads;
  attention.head_dim = head;
  attention.scale = 1 / std::sqrt(float(head));
  plan_.attentions.push_back(attention);
  plan_.cache.push_back({kv_heads, head});
  const ValueId rq = emit({.kind = OpKind::kRope, .in = {q, -1, -1}, .group = head, .spec = 0}, hidden);
  const ValueId rk = emit({.kind = OpKind::kRope, .in = {k, -1, -1}, .group = head, .spec = 0}, kv_heads * head);
  const ValueId a = emit({.kind = OpKind::kAttention, .in = {rq, rk, v}, .spec = index}, hidden);
  const ValueId o = linear_on(a, hidden, size);
  x = emit({.kind = OpKind::kAdd, .in = {x, o, -1}}, hidden);
  const ValueId m = norm_on(x), g = linear_on(m, ffn), u = linear_on(m, ffn);
  const ValueId s = emit({.kind = OpKind::kSilu, .in = {g, -1, -1}}, ffn);
  const ValueId h = emit({.kind = OpKind::kMul, .in = {s, u, -1}}, ffn);
  const ValueId d = linear_on(h, hidden, size);
  x = emit({.kind = OpKind::kAdd, .in = {x, d, -1}}, hidden);
}

Result<RandomPlan> RandomPlan::transformer(int layers, int hidden, int ffn, int vocab, uint32_t seed) {
  constexpr int kHeads = 4, kKvHeads = 2;
  RandomPlan made(seed);
  ValueId x = made.emit({.kind = OpKind::kEmbed, .weight = made.weight(vocab, hidden, 1), .param = 1}, hidden);
  const int head = hidden / kHeads;
  PlanRope rope{head, {}, 1};
  for (int i = 0; i < head / 2; ++i) rope.inverse_frequency.push_back(std::pow(1e4, -2.0 * i / head));
  made.plan_.ropes.push_back(rope);
  for (int i = 0; i < layers; ++i) {
    const size_t first = made.plan_.ops.size();
    made.add_layer(i, x, kHeads, kKvHeads, ffn, 1 / std::sqrt(2 * float(layers)));
    for (size_t op = first; op < made.plan_.ops.size(); ++op) made.plan_.ops[op].layer = i;
  }
  made.plan_.logits = made.linear_on(made.norm_on(x), vocab);
  made.plan_.vocab = vocab;
  ANEDVD_TRY_VOID(made.store());
  return made;
}

}  // namespace anedvd
