#include "model/plan_builder.h"

#include "base/words.h"

namespace anedvd {
namespace {

class Builder {
 public:
  Builder(const ModelSpec& spec, const Family& family, const TensorSource& source)
      : spec_(spec), family_(family), source_(source) {}

  Result<Plan> build() {
    for (const RopeSpec& rope : spec_.ropes)
      plan_.ropes.push_back({rope.rotated, rope.inverse_frequency, rope.magnitude});
    const WeightId table = weight(name(Role::kEmbedding), spec_.vocab, spec_.hidden);
    ValueId x = emit({.kind = OpKind::kEmbed, .weight = table, .param = spec_.embed_scale}, spec_.hidden, "embedding");
    for (layer_ = 0; layer_ < int(spec_.layers.size()); ++layer_) x = add_layer(spec_.layers[size_t(layer_)], x);
    layer_ = -1;
    x = norm(Role::kOutputNorm, x);
    const Role head = spec_.tied_head ? Role::kEmbedding : Role::kOutput;
    x = linear(head, x, spec_.hidden, spec_.vocab, "logits");
    if (spec_.logit_scale != 1) x = unary(OpKind::kScale, x, spec_.logit_scale);
    if (spec_.final_softcap > 0) x = unary(OpKind::kSoftCap, x, spec_.final_softcap);
    plan_.logits = x;
    plan_.vocab = spec_.vocab;
    return std::move(plan_);
  }

 private:
  std::string name(Role role) const { return tensor_name(family_, source_.kind(), role, layer_); }

  int dim(ValueId value) const { return plan_.values[size_t(value)].dim; }

  ValueId emit(Op op, int out_dim, std::string out_name) {
    plan_.values.push_back({layer_ < 0 ? std::move(out_name) : fmt::format("{}.{}", layer_, out_name), out_dim});
    op.out = ValueId(plan_.values.size() - 1);
    op.layer = layer_;
    plan_.ops.push_back(op);
    return op.out;
  }

  WeightId weight(const std::string& base, int64_t rows, int64_t cols) {
    plan_.weights.push_back({.tensor = base + ".weight", .rows = rows, .cols = cols});
    return WeightId(plan_.weights.size() - 1);
  }

  ValueId unary(OpKind kind, ValueId in, float param = 0) {
    return emit({.kind = kind, .in = {in, -1, -1}, .param = param}, dim(in), op_name(kind));
  }

  ValueId binary(OpKind kind, ValueId a, ValueId b) {
    return emit({.kind = kind, .in = {a, b, -1}}, dim(a), op_name(kind));
  }

  // RMSNorm with the role's weight; `group` > 0: over each head apart, one weight for all.
  ValueId norm(Role role, ValueId in, int group = 0) {
    const WeightId id = weight(name(role), 1, group > 0 ? group : dim(in));
    return emit({.kind = OpKind::kRmsNorm, .in = {in, -1, -1}, .weight = id, .param = spec_.norm_eps, .group = group},
                dim(in), "norm");
  }

  // `head_dim` > 0: rows of q or k, whose order the spec knows.
  ValueId linear(Role role, ValueId in, int cols, int rows, const char* out_name, int head_dim = 0) {
    const std::string base = name(role);
    const WeightId id = weight(base, rows, cols);
    WeightId bias = -1;
    if (source_.find(base + ".bias") != nullptr) {
      plan_.weights.push_back({.tensor = base + ".bias", .rows = rows, .cols = 1});
      bias = WeightId(plan_.weights.size() - 1);
    }
    if (head_dim > 0 && spec_.adjacent_rope_rows)
      for (const WeightId w : {id, bias})
        if (w >= 0) {
          plan_.weights[size_t(w)].order = RowOrder::kAdjacentToHalfSplit;
          plan_.weights[size_t(w)].head_dim = head_dim;
        }
    return emit({.kind = OpKind::kLinear, .in = {in, -1, -1}, .weight = id, .bias = bias}, rows, out_name);
  }

  ValueId rotate(const LayerSpec& layer, ValueId in) {
    if (layer.rope < 0 || spec_.ropes[size_t(layer.rope)].rotated == 0) return in;
    return emit({.kind = OpKind::kRope, .in = {in, -1, -1}, .group = layer.head_dim, .spec = layer.rope}, dim(in),
                "rotated");
  }

  ValueId add_layer(const LayerSpec& layer, ValueId x) {
    ValueId out = attention(layer, norm(Role::kAttentionNorm, x));
    if (layer.sandwich_norm) out = norm(Role::kPostAttentionNorm, out);
    x = join(x, out);
    out = feed_forward(layer, norm(Role::kFfnNorm, x));
    if (layer.sandwich_norm) out = norm(Role::kPostFfnNorm, out);
    return join(x, out);
  }

  ValueId join(ValueId x, ValueId out) {
    if (spec_.residual_scale != 1) out = unary(OpKind::kScale, out, spec_.residual_scale);
    return binary(OpKind::kAdd, x, out);
  }

  ValueId attention(const LayerSpec& layer, ValueId in) {
    const int q_dim = layer.heads * layer.head_dim, kv_dim = layer.kv_heads * layer.head_dim;
    ValueId q = linear(Role::kQuery, in, spec_.hidden, q_dim, "q", layer.head_dim);
    ValueId k = linear(Role::kKey, in, spec_.hidden, kv_dim, "k", layer.head_dim);
    const ValueId v = linear(Role::kValue, in, spec_.hidden, kv_dim, "v");
    if (layer.qk_norm) {
      q = norm(Role::kQueryNorm, q, layer.head_dim);
      k = norm(Role::kKeyNorm, k, layer.head_dim);
    }
    q = rotate(layer, q);
    k = rotate(layer, k);
    PlanAttention attention;
    attention.cache_layer = int(plan_.cache.size());
    attention.heads = layer.heads;
    attention.kv_heads = layer.kv_heads;
    attention.head_dim = layer.head_dim;
    attention.window = layer.window;
    attention.scale = layer.attention_scale;
    attention.softcap = layer.attention_softcap;
    plan_.cache.push_back({layer.kv_heads, layer.head_dim});
    plan_.attentions.push_back(attention);
    const ValueId mixed = emit({.kind = OpKind::kAttention, .in = {q, k, v}, .spec = int(plan_.attentions.size()) - 1},
                               q_dim, "attention");
    return linear(Role::kAttentionOutput, mixed, q_dim, spec_.hidden, "o");
  }

  ValueId feed_forward(const LayerSpec& layer, ValueId in) {
    const ValueId gate = linear(Role::kGate, in, spec_.hidden, layer.ffn_width, "gate");
    const ValueId up = linear(Role::kUp, in, spec_.hidden, layer.ffn_width, "up");
    const ValueId active = unary(spec_.activation == Activation::kSilu ? OpKind::kSilu : OpKind::kGeluTanh, gate);
    return linear(Role::kDown, binary(OpKind::kMul, active, up), layer.ffn_width, spec_.hidden, "down");
  }

  const ModelSpec& spec_;
  const Family& family_;
  const TensorSource& source_;
  Plan plan_;
  int layer_ = -1;
};

}  // namespace

Result<Plan> build_plan(const ModelSpec& spec, const Family& family, const TensorSource& source) {
  return Builder(spec, family, source).build();
}

}  // namespace anedvd
