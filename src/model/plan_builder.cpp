#include "model/plan_builder.h"

#include <cmath>

#include "base/words.h"
#include "model/plan_writer.h"

namespace anedvd {
namespace {

constexpr std::string_view kBlocks = "_blocks";

class Builder {
 public:
  Builder(const ModelSpec& spec, const Family& family, const TensorSource& source, int context)
      : spec_(spec), source_(source), context_(context), w_(spec, family, source) {}

  Result<Plan> build() {
    ANEDVD_TRY_VOID(check_spec());
    for (const RopeSpec& rope : spec_.ropes) {
      const bool is_long = !rope.long_inverse_frequency.empty() && context_ > rope.original_context;
      w_.plan().ropes.push_back(
          {rope.rotated, is_long ? rope.long_inverse_frequency : rope.inverse_frequency, rope.magnitude});
    }
    cache_of_.assign(spec_.layers.size(), -1);
    ValueId x = embed(Role::kEmbedding, spec_.hidden, spec_.embed_scale);
    if (spec_.per_layer_inputs > 0) per_layer_ = per_layer_inputs(x);
    for (layer_ = 0; layer_ < int(spec_.layers.size()); ++layer_) {
      w_.enter_layer(layer_);
      x = add_layer(spec_.layers[size_t(layer_)], x);
    }
    w_.enter_layer(-1);
    x = w_.norm(Role::kOutputNorm, x);
    x = w_.linear(spec_.tied_head ? Role::kEmbedding : Role::kOutput, x, spec_.vocab, "logits");
    x = scaled(x, spec_.logit_scale);
    if (spec_.final_softcap > 0) x = w_.unary(OpKind::kSoftCap, x, spec_.final_softcap);
    w_.plan().logits = x;
    w_.plan().vocab = spec_.vocab;
    return std::move(w_.plan());
  }

 private:
  // What a family's reader may leave undone for files that contradict themselves.
  Result<> check_spec() const {
    const auto bad = [&](size_t layer, std::string_view what) {
      return fail(ErrorCode::kBadFile, "{}: layer {} has {}; use another file", source_.path().string(), layer, what);
    };
    for (size_t i = 0; i < spec_.layers.size(); ++i) {
      const LayerSpec& layer = spec_.layers[i];
      if (!layer.conv_kernel && (layer.heads < 1 || layer.kv_heads < 1)) return bad(i, "no attention heads");
      if (layer.ffn_width < 1 && (!layer.moe || layer.moe->beside_dense)) return bad(i, "a feed-forward width of 0");
      if (layer.rope >= 0 && spec_.adjacent_rope_rows) {
        const int rotated = spec_.ropes[size_t(layer.rope)].rotated;
        if (rotated != 0 && rotated != layer.head_dim)
          return fail(ErrorCode::kUnsupported,
                      "{}: layer {} rotates {} of {} elements in adjacent pairs, which anedvd does not do",
                      source_.path().string(), i, rotated, layer.head_dim);
      }
    }
    return {};
  }

  ValueId embed(Role role, int dim, float scale) {
    const WeightId table = w_.weight({.tensor = w_.tensor(role), .rows = spec_.vocab, .cols = dim});
    return w_.emit({.kind = OpKind::kEmbed, .weight = table, .param = scale}, dim, "embedding");
  }

  ValueId scaled(ValueId x, float factor) { return factor == 1 ? x : w_.unary(OpKind::kScale, x, factor); }

  // Gemma 4 (E2B, E4B): every layer's share of a token's own table and of a projection of its embedding.
  ValueId per_layer_inputs(ValueId x) {
    const int width = spec_.per_layer_inputs, all = width * int(spec_.layers.size());
    const ValueId own = embed(Role::kPerLayerEmbedding, all, float(std::sqrt(double(width))));
    ValueId projected = w_.linear(Role::kPerLayerModelProjection, x, all, "per_layer");
    projected = scaled(projected, float(1 / std::sqrt(double(spec_.hidden))));
    projected = w_.norm(Role::kPerLayerModelNorm, projected, width);
    return scaled(w_.binary(OpKind::kAdd, projected, own), float(std::sqrt(0.5)));
  }

  ValueId add_layer(const LayerSpec& layer, ValueId x) {
    ValueId out = layer.pre_norm ? w_.norm(Role::kAttentionNorm, x) : x;
    out = layer.conv_kernel ? short_conv(layer, out) : attention(layer, out);
    if (layer.sandwich_norm) out = w_.norm(Role::kPostAttentionNorm, out);
    x = join(x, out);
    out = feed_forward(layer, x);
    if (layer.sandwich_norm) out = w_.norm(Role::kPostFfnNorm, out);
    x = join(x, out);
    if (per_layer_ >= 0) x = add_per_layer_input(x);
    return scaled(x, layer.output_scale);
  }

  ValueId join(ValueId x, ValueId out) { return w_.binary(OpKind::kAdd, x, scaled(out, spec_.residual_scale)); }

  ValueId add_per_layer_input(ValueId x) {
    const int width = spec_.per_layer_inputs;
    const ValueId gate = w_.linear(Role::kPerLayerGate, x, width, "per_layer_gate");
    const ValueId own =
        w_.emit({.kind = OpKind::kSlice, .in = {per_layer_, -1, -1}, .spec = layer_ * width}, width, "per_layer_input");
    const ValueId product = w_.binary(OpKind::kMul, activate(gate), own);
    const ValueId out = w_.linear(Role::kPerLayerProjection, product, spec_.hidden, "per_layer_out");
    return w_.binary(OpKind::kAdd, x, w_.norm(Role::kPerLayerNorm, out));
  }

  ValueId activate(ValueId x) {
    return w_.unary(spec_.activation == Activation::kSilu ? OpKind::kSilu : OpKind::kGeluTanh, x);
  }

  // --- attention ---------------------------------------------------------------------------------------------------

  ValueId rotate(const LayerSpec& layer, ValueId in) {
    if (layer.rope < 0 || spec_.ropes[size_t(layer.rope)].rotated == 0) return in;
    return w_.emit({.kind = OpKind::kRope, .in = {in, -1, -1}, .group = layer.head_dim, .spec = layer.rope}, w_.dim(in),
                   "rotated");
  }

  ValueId qk_norm(const LayerSpec& layer, Role role, ValueId in) {
    if (layer.qk_norm == QkNorm::kNone) return in;
    return w_.norm(role, in, layer.qk_norm == QkNorm::kPerHead ? layer.head_dim : 0);
  }

  struct Projections {
    ValueId q = -1, k = -1, v = -1;  // k and v: −1 for a layer that shares another's
  };

  Projections project(const LayerSpec& layer, ValueId in) {
    const int q_rows = layer.heads * layer.head_dim, kv_rows = layer.kv_heads * layer.head_dim;
    Projections out;
    if (w_.has(Role::kQkv)) {
      out.q = w_.part_of_linear(Role::kQkv, in, 0, q_rows, "q", layer.head_dim);
      out.k = w_.part_of_linear(Role::kQkv, in, q_rows, kv_rows, "k", layer.head_dim);
      out.v = w_.part_of_linear(Role::kQkv, in, q_rows + kv_rows, kv_rows, "v");
      return out;
    }
    out.q = w_.linear(Role::kQuery, in, q_rows, "q", layer.head_dim);
    if (layer.kv_from_layer) return out;
    out.k = w_.linear(Role::kKey, in, kv_rows, "k", layer.head_dim);
    out.v = layer.value_is_key ? out.k : w_.linear(Role::kValue, in, kv_rows, "v");
    return out;
  }

  ValueId attention(const LayerSpec& layer, ValueId in) {
    Projections p = project(layer, in);
    p.q = rotate(layer, qk_norm(layer, Role::kQueryNorm, p.q));
    PlanAttention attention;
    attention.appends = !layer.kv_from_layer;
    if (attention.appends) {
      if (layer.value_norm) p.v = w_.norm_without_weight(p.v, layer.head_dim);
      p.k = rotate(layer, qk_norm(layer, Role::kKeyNorm, p.k));
      cache_of_[size_t(layer_)] = add_cache(layer.kv_heads, layer.head_dim);
    }
    attention.cache_layer = cache_of_[size_t(layer.kv_from_layer.value_or(layer_))];
    attention.heads = layer.heads;
    attention.kv_heads = layer.kv_heads;
    attention.head_dim = layer.head_dim;
    attention.window = layer.window;
    attention.scale = layer.attention_scale;
    attention.softcap = layer.attention_softcap;
    if (layer.sinks) attention.sinks = w_.weight({.tensor = w_.tensor(Role::kSinks), .rows = layer.heads, .cols = 1});
    w_.plan().attentions.push_back(attention);
    const int index = int(w_.plan().attentions.size()) - 1;
    const ValueId mixed = w_.emit({.kind = OpKind::kAttention, .in = {p.q, p.k, p.v}, .spec = index},
                                  layer.heads * layer.head_dim, "attention");
    return w_.linear(Role::kAttentionOutput, mixed, spec_.hidden, "o");
  }

  int add_cache(int kv_heads, int head_dim) {
    w_.plan().cache.push_back({kv_heads, head_dim});
    return int(w_.plan().cache.size()) - 1;
  }

  ValueId short_conv(const LayerSpec& layer, ValueId in) {
    PlanConv conv;
    conv.channels = spec_.hidden;
    conv.kernel = *layer.conv_kernel;
    // One fp16 number a channel and position: a head of half as many has room for it in its K and V words.
    conv.cache_layer = add_cache(1, (spec_.hidden + 1) / 2);
    w_.plan().convs.push_back(conv);
    const ValueId parts = w_.linear(Role::kConvIn, in, 3 * spec_.hidden, "conv_in");
    Op op{.kind = OpKind::kShortConv, .in = {parts, -1, -1}, .spec = int(w_.plan().convs.size()) - 1};
    op.weight = w_.weight({.tensor = w_.tensor(Role::kConvKernel), .rows = spec_.hidden, .cols = conv.kernel});
    if (w_.has_bias(Role::kConvKernel))
      op.bias = w_.weight({.tensor = w_.bias_name(Role::kConvKernel), .rows = spec_.hidden, .cols = 1});
    const ValueId out = w_.emit(op, spec_.hidden, "conv");
    return w_.linear(Role::kConvOut, out, spec_.hidden, "conv_out");
  }

  // --- feed-forward ------------------------------------------------------------------------------------------------

  ValueId feed_forward(const LayerSpec& layer, ValueId x) {
    if (layer.moe && layer.moe->beside_dense) return dense_beside_experts(layer, x);
    const ValueId in = layer.pre_norm ? w_.norm(Role::kFfnNorm, x) : x;
    if (!layer.moe) return gated(in, layer.ffn_width, Role::kGate, Role::kUp, Role::kDown);
    const MoeSpec& moe = *layer.moe;
    const ValueId router = w_.linear(Role::kRouter, in, moe.experts, "router");
    if (moe.shared_ffn_width == 0) return experts(moe, in, router);
    const ValueId share = w_.has(Role::kSharedRouter) ? w_.linear(Role::kSharedRouter, in, 1, "share") : -1;
    const ValueId routed = experts(moe, in, router);
    ValueId shared = gated(in, moe.shared_ffn_width, Role::kSharedGate, Role::kSharedUp, Role::kSharedDown);
    if (share >= 0) shared = w_.binary(OpKind::kGateBy, shared, share);
    return w_.binary(OpKind::kAdd, routed, shared);
  }

  ValueId gated(ValueId in, int width, Role gate_role, Role up_role, Role down_role) {
    ValueId gate, up;
    if (gate_role == Role::kGate && w_.has(Role::kGateUp)) {
      gate = w_.part_of_linear(Role::kGateUp, in, 0, width, "gate");
      up = w_.part_of_linear(Role::kGateUp, in, width, width, "up");
    } else {
      gate = w_.linear(gate_role, in, width, "gate");
      up = w_.linear(up_role, in, width, "up");
    }
    return w_.linear(down_role, w_.binary(OpKind::kMul, activate(gate), up), spec_.hidden, "down");
  }

  // Gemma 4: the router reads the residual stream by a norm of its own.
  ValueId dense_beside_experts(const LayerSpec& layer, ValueId x) {
    const ValueId dense = gated(w_.norm(Role::kFfnNorm, x), layer.ffn_width, Role::kGate, Role::kUp, Role::kDown);
    const ValueId dense_out = w_.norm(Role::kPostDenseNorm, dense);
    ValueId router = w_.norm(Role::kRouterScale, x);
    router = scaled(router, float(1 / std::sqrt(double(spec_.hidden))));
    router = w_.linear(Role::kRouter, router, layer.moe->experts, "router");
    const ValueId routed = experts(*layer.moe, w_.norm(Role::kExpertNorm, x), router);
    return w_.binary(OpKind::kAdd, dense_out, w_.norm(Role::kPostExpertNorm, routed));
  }

  ValueId experts(const MoeSpec& moe, ValueId in, ValueId router) {
    PlanMoe plan;
    plan.experts = moe.experts;
    plan.used = moe.experts_used;
    plan.ffn_width = moe.ffn_width;
    plan.renormalise = moe.renormalise;
    plan.activation = spec_.activation == Activation::kSilu       ? ExpertActivation::kSilu
                      : spec_.activation == Activation::kGeluTanh ? ExpertActivation::kGeluTanh
                                                                  : ExpertActivation::kClampedSwiglu;
    for (int e = 0; e < moe.experts; ++e) add_expert(plan, moe, e);
    const int64_t rows = int64_t(moe.experts) * moe.ffn_width;
    if (w_.has_bias(Role::kExpertGateUp)) {
      // Only gpt-oss has these, and its halves are interleaved.
      const std::string name = w_.bias_name(Role::kExpertGateUp);
      plan.gate_bias = w_.weight({.tensor = name, .first_row = 0, .rows = rows, .cols = 1, .row_step = 2});
      plan.up_bias = w_.weight({.tensor = name, .first_row = 1, .rows = rows, .cols = 1, .row_step = 2});
    } else if (w_.has_bias(Role::kExpertGate)) {
      plan.gate_bias = w_.weight({.tensor = w_.bias_name(Role::kExpertGate), .rows = rows, .cols = 1});
      plan.up_bias = w_.weight({.tensor = w_.bias_name(Role::kExpertUp), .rows = rows, .cols = 1});
    }
    if (w_.has_bias(Role::kExpertDown))
      plan.down_bias = w_.weight(
          {.tensor = w_.bias_name(Role::kExpertDown), .rows = int64_t(moe.experts) * spec_.hidden, .cols = 1});
    if (w_.has(Role::kExpertScale))
      plan.scale = w_.weight({.tensor = w_.tensor(Role::kExpertScale), .rows = moe.experts, .cols = 1});
    w_.plan().moes.push_back(std::move(plan));
    return w_.emit({.kind = OpKind::kMoe, .in = {in, router, -1}, .spec = int(w_.plan().moes.size()) - 1}, spec_.hidden,
                   "experts");
  }

  void add_expert(PlanMoe& plan, const MoeSpec& moe, int e) {
    const int64_t width = moe.ffn_width, hidden = spec_.hidden;
    const auto rows = [&](std::string tensor, int64_t first, int64_t count, int64_t cols, int64_t step = 1) {
      WeightRef ref{.tensor = std::move(tensor), .first_row = first, .rows = count, .cols = cols, .row_step = step};
      if (ref.tensor.ends_with(kBlocks)) {
        ref.layout = StackLayout::kSplitMxfp4;
        ref.exponents = ref.tensor.substr(0, ref.tensor.size() - kBlocks.size()) + "_scales";
      } else if (spec_.transposed_experts) {
        ref.layout = StackLayout::kTransposed;
      }
      return w_.weight(std::move(ref));
    };
    if (w_.has(Role::kOneExpertDown, e)) {
      plan.gate.push_back(rows(w_.tensor(Role::kOneExpertGate, e), 0, width, hidden));
      plan.up.push_back(rows(w_.tensor(Role::kOneExpertUp, e), 0, width, hidden));
      plan.down.push_back(rows(w_.tensor(Role::kOneExpertDown, e), 0, hidden, width));
      return;
    }
    if (w_.has(Role::kExpertGateUp)) {
      const bool interleaved = spec_.activation == Activation::kClampedSwiglu;
      const int64_t first = e * 2 * width, second = first + (interleaved ? 1 : width), step = interleaved ? 2 : 1;
      plan.gate.push_back(rows(w_.tensor(Role::kExpertGateUp), first, width, hidden, step));
      plan.up.push_back(rows(w_.tensor(Role::kExpertGateUp), second, width, hidden, step));
    } else {
      plan.gate.push_back(rows(w_.tensor(Role::kExpertGate), e * width, width, hidden));
      plan.up.push_back(rows(w_.tensor(Role::kExpertUp), e * width, width, hidden));
    }
    plan.down.push_back(rows(w_.tensor(Role::kExpertDown), e * hidden, hidden, width));
  }

  const ModelSpec& spec_;
  const TensorSource& source_;
  const int context_;
  PlanWriter w_;
  std::vector<int> cache_of_;  // by layer: its entry of Plan::cache
  ValueId per_layer_ = -1;     // every layer's own inputs, one after another
  int layer_ = -1;
};

}  // namespace

Result<Plan> build_plan(const ModelSpec& spec, const Family& family, const TensorSource& source, int context) {
  return Builder(spec, family, source, context).build();
}

}  // namespace anedvd
