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
  int skipped = 0;
  for (size_t i = 1; i < after.phases.size(); ++i)
    if (const auto* columns = std::get_if<ColumnPhase>(&after.phases[i]); columns != nullptr && columns->only_narrow) {
      ++skipped;
      EXPECT_TRUE(std::get<LinearPhase>(after.phases[i - 1]).quantises);
      EXPECT_TRUE(std::get<LinearPhase>(after.phases[i + 1]).reads_inner);
    }
  EXPECT_EQ(skipped, kLayers);
}

TEST(Phases, LinearsOfFloatsKeepTheColumnPhase) {
  const Plan plan = transformer(128);
  Lowered after = lower(plan);
  quantise_in_gates(after, plan, [](int) { return false; });
  EXPECT_EQ(count(after, &LinearPhase::quantises), 0);
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
