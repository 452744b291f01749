// How a plan becomes phases: which of them a gate that quantises its own output replaces.
#include "cpu/phases.h"

#include <gtest/gtest.h>

#include "device/random_plan.h"

namespace anedvd {
namespace {

constexpr int kLayers = 3;

Plan transformer(int ffn) {
  auto made = RandomPlan::transformer(kLayers, 64, ffn, 96, 5);
  EXPECT_TRUE(made) << made.error().message;
  return made->plan();
}

int count(const Lowered& lowered, bool LinearPhase::*flag) {
  int n = 0;
  for (const Phase& phase : lowered.phases)
    if (const auto* linear = std::get_if<LinearPhase>(&phase)) n += linear->*flag ? 1 : 0;
  return n;
}

TEST(Phases, AGateThatQuantisesTakesTheColumnPhaseBehindIt) {
  const Plan plan = transformer(128);
  const Lowered before = lower(plan);
  Lowered after = lower(plan);
  quantise_in_gates(after, plan, [](int) { return true; });
  EXPECT_EQ(count(before, &LinearPhase::gated), kLayers);
  EXPECT_EQ(count(after, &LinearPhase::quantises), kLayers);
  EXPECT_EQ(count(after, &LinearPhase::reads_inner), kLayers);
  EXPECT_EQ(after.phases.size(), before.phases.size() - kLayers);
  // The last layer's gate stands behind the tail.
  EXPECT_EQ(after.tail, before.tail - (kLayers - 1));
  EXPECT_TRUE(std::holds_alternative<AttentionPhase>(after.phases[after.tail - 1]));
}

TEST(Phases, LinearsOfFloatsKeepTheColumnPhase) {
  const Plan plan = transformer(128);
  const Lowered before = lower(plan);
  Lowered after = lower(plan);
  quantise_in_gates(after, plan, [](int) { return false; });
  EXPECT_EQ(count(after, &LinearPhase::quantises), 0);
  EXPECT_EQ(after.phases.size(), before.phases.size());
  EXPECT_EQ(after.tail, before.tail);
}

TEST(Phases, APartOfABlockKeepsTheColumnPhase) {
  const Plan plan = transformer(144);  // 4.5 blocks
  Lowered after = lower(plan);
  quantise_in_gates(after, plan, [](int) { return true; });
  EXPECT_EQ(count(after, &LinearPhase::quantises), 0);
}

TEST(Phases, AProductThatIsReadAgainStaysAValue) {
  Plan plan = transformer(128);
  // The last layer's product joins a second linear behind the one that reads it now.
  for (size_t i = plan.ops.size(); i-- > 0;)
    if (plan.ops[i].kind == OpKind::kMul) {
      plan.values.push_back({"again", 128});
      plan.ops.push_back({.kind = OpKind::kScale,
                          .out = ValueId(plan.values.size() - 1),
                          .in = {plan.ops[i].out, -1, -1},
                          .param = 1});
      break;
    }
  Lowered after = lower(plan);
  quantise_in_gates(after, plan, [](int) { return true; });
  EXPECT_EQ(count(after, &LinearPhase::quantises), kLayers - 1);
}

}  // namespace
}  // namespace anedvd
