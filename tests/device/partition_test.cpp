#include "device/partition.h"

#include <gtest/gtest.h>

namespace anedvd {
namespace {

// One layer of Llama's shape between an embedding and a head.
Plan small_plan(int layers) {
  Plan plan;
  const auto emit = [&](Op op, int dim) {
    plan.values.push_back({"v", dim});
    op.out = ValueId(plan.values.size() - 1);
    plan.ops.push_back(op);
    return op.out;
  };
  const auto linear = [&](ValueId in, int rows) {
    plan.weights.push_back({.tensor = "w", .rows = rows, .cols = plan.values[size_t(in)].dim});
    return emit({.kind = OpKind::kLinear, .in = {in, -1, -1}, .weight = WeightId(plan.weights.size() - 1)}, rows);
  };
  const auto one = [&](OpKind kind, ValueId in) {
    return emit({.kind = kind, .in = {in, -1, -1}}, plan.values[size_t(in)].dim);
  };
  const auto two = [&](OpKind kind, ValueId a, ValueId b) {
    return emit({.kind = kind, .in = {a, b, -1}}, plan.values[size_t(a)].dim);
  };
  ValueId x = emit({.kind = OpKind::kEmbed, .weight = 0}, 64);
  for (int i = 0; i < layers; ++i) {
    const ValueId n = one(OpKind::kRmsNorm, x);
    const ValueId q = linear(n, 64), k = linear(n, 32), v = linear(n, 32);
    PlanAttention attention;
    attention.cache_layer = i;
    attention.heads = 4;
    attention.kv_heads = 2;
    attention.head_dim = 16;
    plan.attentions.push_back(attention);
    plan.cache.push_back({2, 16});
    const ValueId rq = emit({.kind = OpKind::kRope, .in = {q, -1, -1}, .group = 16, .spec = 0}, 64);
    const ValueId rk = emit({.kind = OpKind::kRope, .in = {k, -1, -1}, .group = 16, .spec = 0}, 32);
    const ValueId a = emit({.kind = OpKind::kAttention, .in = {rq, rk, v}, .spec = i}, 64);
    x = two(OpKind::kAdd, x, linear(a, 64));
    const ValueId m = one(OpKind::kRmsNorm, x);
    const ValueId gate = linear(m, 96), up = linear(m, 96);
    x = two(OpKind::kAdd, x, linear(two(OpKind::kMul, one(OpKind::kSilu, gate), up), 64));
  }
  plan.logits = linear(one(OpKind::kRmsNorm, x), 128);
  plan.vocab = 128;
  return plan;
}

OpSet ops_of(std::initializer_list<OpKind> kinds) {
  OpSet set;
  for (const OpKind kind : kinds) set.set(size_t(kind));
  return set;
}

TEST(Partition, ADeviceThatTakesEverythingGetsOneProgram) {
  const Plan plan = small_plan(2);
  check_plan(plan);
  const auto cut = partition(plan, {.ops = all_ops()});
  ASSERT_TRUE(cut);
  ASSERT_EQ(cut->parts.size(), 1u);
  const auto& program = std::get<Program>(cut->parts[0]);
  EXPECT_EQ(program.ops.size(), plan.ops.size());
  EXPECT_TRUE(program.inputs.empty());
  EXPECT_EQ(program.outputs, std::vector<ValueId>{plan.logits});
}

// Convolutions and elementwise ops only: qkv, o (+ residual), ffn (+ residual) a layer, and the head; norms, rotation and attention stay on the host.
TEST(Partition, WithoutNormsALayerIsThreePrograms) {
  const Plan plan = small_plan(4);
  const auto cut = partition(plan, {.ops = ops_of({OpKind::kLinear, OpKind::kAdd, OpKind::kMul, OpKind::kSilu})});
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->programs(), 3 * 4 + 1);
}

TEST(Partition, WithNormsALayerIsOneProgram) {
  const Plan plan = small_plan(4);
  const auto cut =
      partition(plan, {.ops = ops_of({OpKind::kLinear, OpKind::kAdd, OpKind::kMul, OpKind::kSilu, OpKind::kRmsNorm})});
  ASSERT_TRUE(cut);
  // norm + qkv; then o + add + norm + ffn + add + norm + next qkv, the last with the head.
  EXPECT_EQ(cut->programs(), 4 + 1);
}

TEST(Partition, EveryStepRunsOnceAndInOrder) {
  const Plan plan = small_plan(3);
  const auto cut = partition(plan, {.ops = ops_of({OpKind::kLinear, OpKind::kMul}), .max_weights_per_program = 2});
  ASSERT_TRUE(cut);
  std::vector<int> order;
  for (const auto& part : cut->parts) {
    if (const auto* host = std::get_if<HostOp>(&part)) {
      order.push_back(host->op);
    } else {
      const auto& program = std::get<Program>(part);
      int linears = 0;
      for (const int op : program.ops) linears += plan.ops[size_t(op)].kind == OpKind::kLinear ? 1 : 0;
      EXPECT_LE(linears, 2);
      order.insert(order.end(), program.ops.begin(), program.ops.end());
    }
  }
  ASSERT_EQ(order.size(), plan.ops.size());
  for (int i = 0; i < int(order.size()); ++i) EXPECT_EQ(order[size_t(i)], i);
}

TEST(Partition, AProgramsBordersAreWhatOthersWroteAndRead) {
  const Plan plan = small_plan(1);
  const auto cut = partition(plan, {.ops = ops_of({OpKind::kLinear})});
  ASSERT_TRUE(cut);
  const auto& qkv = std::get<Program>(cut->parts[2]);  // embed, norm, then q k v
  EXPECT_EQ(qkv.inputs, std::vector<ValueId>{1});
  EXPECT_EQ(qkv.outputs, (std::vector<ValueId>{2, 3, 4}));
}

TEST(Partition, AWeightThatIsTooLargeStaysOnTheHost) {
  const Plan plan = small_plan(1);
  const auto cut = partition(plan, {.ops = ops_of({OpKind::kLinear}), .max_weight_bytes = 128 * 64 * 2 - 1});
  ASSERT_TRUE(cut);
  EXPECT_TRUE(std::holds_alternative<HostOp>(cut->parts.back()));
}

TEST(Partition, MoreProgramsThanTheDeviceHoldsAreRefused) {
  const auto cut = partition(small_plan(4), {.ops = ops_of({OpKind::kLinear}), .max_programs = 5});
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, ErrorCode::kUnsupported);
}

TEST(StoredRow, AdjacentPairsBecomeHalves) {
  WeightRef ref{
      .tensor = "q", .first_row = 100, .rows = 16, .cols = 4, .order = RowOrder::kAdjacentToHalfSplit, .head_dim = 8};
  const int64_t want[] = {0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15};
  for (int64_t row = 0; row < 16; ++row) EXPECT_EQ(stored_row(ref, row), 100 + want[row]);
}

}  // namespace
}  // namespace anedvd
