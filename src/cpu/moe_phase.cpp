// A mixture of experts, all columns of the step together.
//
//   route (threads share the columns) | gate, up, activation (threads share the inner outputs) | down, weighted sum (threads share the outputs)
//
// Columns that chose an expert are put side by side and go through its weights as one batch. Every thread works on its own share of every chosen
// expert, so the work is even whatever was chosen; a step that has fewer threads than there are shares gives some of them several. A column's sum runs over its experts in the order of their numbers: neither neighbours nor threads
// change its bits.
#include <algorithm>
#include <cstring>

#include "cpu/pack.h"
#include "cpu/step_state.h"

namespace anedvd {
namespace {

constexpr int kInnerPanels = 2;  // computed before gate and up are joined: one block of 32

class MoeRunner {
 public:
  MoeRunner(StepState& state, const Mode& mode, const Op& op, int thread)
      : state_(state),
        mode_(mode),
        op_(op),
        moe_(state.plan->moes[size_t(op.spec)]),
        weights_(state.experts[size_t(op.spec)]),
        shared_(state.moe),
        own_(state.scratch[size_t(thread)].moe),
        set_(mode.narrow ? state.own[size_t(thread)] : state.shared),
        thread_(thread),
        hidden_(state.plan->values[size_t(op.out)].dim),
        inner_stride_(inner_floats(moe_.ffn_width)) {}

  // The experts of this thread's columns and their weights.
  void route(int threads) {
    const auto [first, last] = share_of(mode_.columns, thread_, threads);
    for (int column = first; column < last; ++column) {
      const float* logits = row_of(state_, mode_, op_.in[1], thread_, column);
      int* chosen = shared_.chosen.data() + int64_t(column) * moe_.used;
      float* weight = shared_.weight.data() + int64_t(column) * moe_.used;
      choose(logits, chosen);
      weigh(logits, chosen, weight);
      if (moe_.scale >= 0)
        for (int i = 0; i < moe_.used; ++i) weight[i] *= state_.weights.vector(moe_.scale)[chosen[i]];
    }
  }

  // Puts the pairs (column, expert) in order of experts, then columns.
  void list_pairs() {
    own_.first.assign(size_t(moe_.experts) + 1, 0);
    const int pairs = mode_.columns * moe_.used;
    for (int i = 0; i < pairs; ++i) ++own_.first[size_t(shared_.chosen[size_t(i)]) + 1];
    for (int e = 0; e < moe_.experts; ++e) own_.first[size_t(e) + 1] += own_.first[size_t(e)];
    own_.pairs.resize(size_t(pairs));
    own_.next.assign(own_.first.begin(), own_.first.end() - 1);
    for (int i = 0; i < pairs; ++i) own_.pairs[size_t(own_.next[size_t(shared_.chosen[size_t(i)])]++)] = i;
  }

  // act(gate) ⊙ up of every pair, a share of the outputs, and their int8 form.
  void compute_inner(int share) {
    for (int expert = 0; expert < moe_.experts; ++expert) {
      const int count = pairs_of(expert);
      if (count == 0) continue;
      const ExpertPanels gate = weights_.gate(expert, share), up = weights_.up(expert, share);
      const Batch batch = gather(expert, *gate.matrix, *up.matrix);
      own_.gate.resize(std::max(own_.gate.size(), size_t(count) * kInnerPanels * kLanes));
      own_.up.resize(own_.gate.size());
      for (int p = 0; p < gate.count; p += kInnerPanels) {
        const int panels = std::min(kInnerPanels, gate.count - p);
        compute(gate, p, panels, batch, own_.gate.data(), kInnerPanels * kLanes);
        compute(up, p, panels, batch, own_.up.data(), kInnerPanels * kLanes);
        finish_inner(expert, gate.first + p, panels, count);
      }
    }
  }

  // Σ weight · (down · inner + bias), a share of the outputs.
  void compute_outer(int share) {
    const ExpertPanels any = weights_.down(first_chosen(), share);
    if (any.count == 0) return;
    const int64_t begin = int64_t(any.first) * kLanes;
    const int floats = any.count * kLanes;
    for (int column = 0; column < mode_.columns; ++column)
      std::memset(row_of(state_, mode_, op_.out, thread_, column) + begin, 0, size_t(floats) * sizeof(float));
    for (int expert = 0; expert < moe_.experts; ++expert) {
      const int count = pairs_of(expert);
      if (count == 0) continue;
      own_.outer.resize(std::max(own_.outer.size(), size_t(count) * size_t(floats)));
      const ExpertPanels down = weights_.down(expert, share);
      compute(down, 0, down.count, inner_batch(expert), own_.outer.data(), floats);
      for (int i = 0; i < count; ++i) {
        const int pair = own_.pairs[size_t(own_.first[size_t(expert)] + i)];
        float* y = own_.outer.data() + int64_t(i) * floats;
        add_bias(moe_.down_bias, int64_t(expert) * hidden_ + begin, std::min<int64_t>(floats, hidden_ - begin), y);
        float* out = row_of(state_, mode_, op_.out, thread_, pair / moe_.used) + begin;
        state_.kernels->scale(y, shared_.weight[size_t(pair)], floats, y);
        state_.kernels->add(out, y, floats, out);
      }
    }
  }

 private:
  // Inputs of one expert's columns side by side, as floats and as int8 (those that its matrices read).
  struct Batch {
    const float* x = nullptr;  // [count][x_stride]
    int64_t x_stride = 0;
    const int8_t* q = nullptr;
    const float* scale = nullptr;
    const int32_t* sum = nullptr;
    int count = 0;
    int64_t dim = 0;
  };

  static bool reads_int8(const ExpertMatrix& matrix) { return matrix.format && !reads_floats(*matrix.format); }

  int pairs_of(int expert) const { return own_.first[size_t(expert) + 1] - own_.first[size_t(expert)]; }

  int first_chosen() const {
    int expert = 0;
    while (pairs_of(expert) == 0) ++expert;
    return expert;
  }

  // The `used` largest logits, the lower expert on ties. NaN is never larger; if nothing else is left the lowest free expert is taken.
  void choose(const float* logits, int* chosen) {
    own_.taken.assign(size_t(moe_.experts), 0);
    for (int i = 0; i < moe_.used; ++i) {
      int best = -1;
      for (int e = 0; e < moe_.experts; ++e)
        if (own_.taken[size_t(e)] == 0 && (best < 0 || logits[e] > logits[best])) best = e;
      own_.taken[size_t(best)] = 1;
      chosen[i] = best;
    }
  }

  void weigh(const float* logits, const int* chosen, float* weight) {
    if (moe_.renormalise) {
      for (int i = 0; i < moe_.used; ++i) weight[i] = logits[chosen[i]];
      state_.kernels->softmax(weight, moe_.used, weight);
      return;
    }
    own_.shares.resize(size_t(moe_.experts));
    state_.kernels->softmax(logits, moe_.experts, own_.shares.data());
    for (int i = 0; i < moe_.used; ++i) weight[i] = own_.shares[size_t(chosen[i])];
  }

  Batch gather(int expert, const ExpertMatrix& gate, const ExpertMatrix& up) {
    const int count = pairs_of(expert);
    const int64_t dim = hidden_, blocks = dim / kBlock;
    const auto column_of = [&](int i) { return own_.pairs[size_t(own_.first[size_t(expert)] + i)] / moe_.used; };
    const auto row = [&](int column) { return row_of(state_, mode_, op_.in[0], thread_, column); };
    Batch batch{.count = count, .dim = dim};
    const int first = column_of(0);
    if (column_of(count - 1) - first == count - 1) {  // neighbours already
      batch.x = row(first);
      batch.x_stride = row_stride(state_, op_.in[0]);
      batch.q = set_.input.q + first * dim;
      batch.scale = set_.input.scale + first * blocks * 2;
      batch.sum = set_.input.sum + first * blocks * 2;
      return batch;
    }
    if (!reads_int8(gate) || !reads_int8(up)) {
      own_.x.resize(std::max(own_.x.size(), size_t(count * dim)));
      for (int i = 0; i < count; ++i)
        std::memcpy(own_.x.data() + i * dim, row(column_of(i)), size_t(dim) * sizeof(float));
      batch.x = own_.x.data();
      batch.x_stride = dim;
    }
    if (!reads_int8(gate) && !reads_int8(up)) return batch;
    own_.q.resize(std::max(own_.q.size(), size_t(count * dim)));
    own_.scale.resize(std::max(own_.scale.size(), size_t(count * blocks * 2)));
    own_.sum.resize(std::max(own_.sum.size(), size_t(count * blocks * 2)));
    for (int i = 0; i < count; ++i) {
      const int column = column_of(i);
      std::memcpy(own_.q.data() + i * dim, set_.input.q + column * dim, size_t(dim));
      std::memcpy(own_.scale.data() + i * blocks * 2, set_.input.scale + column * blocks * 2,
                  size_t(blocks) * 2 * sizeof(float));
      std::memcpy(own_.sum.data() + i * blocks * 2, set_.input.sum + column * blocks * 2,
                  size_t(blocks) * 2 * sizeof(int32_t));
    }
    batch.q = own_.q.data();
    batch.scale = own_.scale.data();
    batch.sum = own_.sum.data();
    return batch;
  }

  Batch inner_batch(int expert) {
    const int64_t slot = own_.first[size_t(expert)], dim = moe_.ffn_width, blocks = dim / kBlock;
    return {.x = shared_.inner.data() + slot * inner_stride_,
            .x_stride = inner_stride_,
            .q = shared_.q.data() + slot * dim,
            .scale = shared_.scale.data() + slot * blocks * 2,
            .sum = shared_.sum.data() + slot * blocks * 2,
            .count = pairs_of(expert),
            .dim = dim};
  }

  // Panels p … p + count − 1 of the thread's, all columns of the batch, into out[i · stride].
  void compute(const ExpertPanels& panels, int p, int count, const Batch& batch, float* out, int64_t stride) {
    const ExpertMatrix& matrix = *panels.matrix;
    if (matrix.format) {
      LinearArgs args;
      args.panels = panels.base + p * panels.stride;
      args.panel_stride = panels.stride;
      args.panel_count = count;
      args.inputs = int(batch.dim);
      args.blocks = int(batch.dim / kBlock);
      args.q = batch.q;
      args.scale = batch.scale;
      args.sum = batch.sum;
      args.x = batch.x;
      args.x_stride = batch.x_stride;
      args.columns = batch.count;
      args.out = out;
      args.out_stride = stride;
      state_.kernels->linear[*matrix.format](args);
      return;
    }
    own_.row.resize(std::max(own_.row.size(), size_t(batch.dim)));
    const int64_t first = int64_t(panels.first + p) * kLanes;
    for (int64_t r = 0; r < int64_t(count) * kLanes; ++r) {
      if (first + r >= matrix.ref.rows) {
        for (int i = 0; i < batch.count; ++i) out[i * stride + r] = 0;
        continue;
      }
      matrix.dequantize_row(first + r, {own_.row.data(), size_t(batch.dim)});
      for (int i = 0; i < batch.count; ++i)
        out[i * stride + r] = state_.kernels->dot(own_.row.data(), batch.x + i * batch.x_stride, batch.dim);
    }
  }

  void add_bias(WeightId bias, int64_t first, int64_t count, float* x) {
    if (bias < 0) return;
    const float* values = state_.weights.vector(bias) + first;
    for (int64_t i = 0; i < count; ++i) x[i] += values[i];
  }

  // Joins gate and up of panels panel … panel + panels − 1.
  void finish_inner(int expert, int panel, int panels, int count) {
    const KernelTable& kernels = *state_.kernels;
    const int64_t begin = int64_t(panel) * kLanes;
    const int floats = panels * kLanes;
    const int64_t valid = std::min<int64_t>(floats, moe_.ffn_width - begin);
    for (int i = 0; i < count; ++i) {
      float* gate = own_.gate.data() + i * kInnerPanels * kLanes;
      float* up = own_.up.data() + i * kInnerPanels * kLanes;
      add_bias(moe_.gate_bias, int64_t(expert) * moe_.ffn_width + begin, valid, gate);
      add_bias(moe_.up_bias, int64_t(expert) * moe_.ffn_width + begin, valid, up);
      const int64_t slot = own_.first[size_t(expert)] + i;
      float* out = shared_.inner.data() + slot * inner_stride_ + begin;
      switch (moe_.activation) {
        case ExpertActivation::kClampedSwiglu: kernels.clamped_swiglu(gate, up, floats, out); break;
        case ExpertActivation::kSilu:
          kernels.silu(gate, floats, gate);
          kernels.mul(gate, up, floats, out);
          break;
        case ExpertActivation::kGeluTanh:
          kernels.gelu(gate, floats, gate);
          kernels.mul(gate, up, floats, out);
          break;
      }
      // Only linears that read floats take a width that is no whole number of blocks.
      if (moe_.ffn_width % kBlock != 0) continue;
      const int64_t block = begin / kBlock, blocks = moe_.ffn_width / kBlock;
      kernels.quantize(out, floats, shared_.q.data() + slot * moe_.ffn_width + begin,
                       shared_.scale.data() + (slot * blocks + block) * 2,
                       shared_.sum.data() + (slot * blocks + block) * 2);
    }
  }

  StepState& state_;
  const Mode& mode_;
  const Op& op_;
  const PlanMoe& moe_;
  ExpertWeights& weights_;
  MoeBuffers& shared_;
  MoeScratch& own_;
  BufferSet& set_;
  const int thread_;
  const int hidden_;
  const int64_t inner_stride_;
};

}  // namespace

int64_t inner_floats(int ffn_width) { return (ffn_width + kBlock - 1) / kBlock * kBlock; }

void MoeBuffers::reserve(const Plan& plan, int columns) {
  for (const PlanMoe& moe : plan.moes) {
    const size_t pairs = size_t(columns) * size_t(moe.used), width = size_t(inner_floats(moe.ffn_width));
    chosen.resize(std::max(chosen.size(), pairs));
    weight.resize(chosen.size());
    inner.resize(std::max(inner.size(), pairs * width));
    q.resize(inner.size());
    scale.resize(inner.size() / kBlock * 2);
    sum.resize(inner.size() / kBlock * 2);
  }
}

void run_moe(StepState& state, const Mode& mode, const Op& op, int thread, SpinPool& pool) {
  MoeRunner runner(state, mode, op, thread);
  const int threads = pool.threads(), shares = state.experts[size_t(op.spec)].shares();
  runner.route(threads);
  pool.barrier(thread);
  runner.list_pairs();
  for (int share = thread; share < shares; share += threads) runner.compute_inner(share);
  pool.barrier(thread);
  for (int share = thread; share < shares; share += threads) runner.compute_outer(share);
}

}  // namespace anedvd
