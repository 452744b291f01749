#include "base/machine/thread_budget.h"

#include <gtest/gtest.h>

namespace anedvd {
namespace {

constexpr int64_t kMillisecond = 1'000'000;

// Jobs of 4 ms one after the other, of which a thread waits `lost` of a hundred; returns the milliseconds in which the budget was `threads`.
struct Machine {
  ThreadBudget budget;
  int64_t now = 0;

  int run_until(int64_t end, int lost, int threads) {
    int count = 0;
    for (; now < end * kMillisecond; count += budget.threads() == threads ? 4 : 0) {
      now += 4 * kMillisecond;
      budget.report(now, 4 * kMillisecond, 4 * kMillisecond * lost / 100);
    }
    return count;
  }
};

TEST(ThreadBudget, AQuietMachineHasAllThreads) {
  Machine machine{ThreadBudget(4)};
  EXPECT_EQ(machine.run_until(1000, 0, 4), 1000);
  EXPECT_EQ(machine.run_until(2000, 20, 4), 1000);
}

TEST(ThreadBudget, ASingleLateJobIsNoReason) {
  Machine machine{ThreadBudget(2)};
  for (int i = 1; i < 20; ++i) {
    machine.run_until(100 * i, 0, 2);
    machine.budget.report(machine.now += 4 * kMillisecond, 4 * kMillisecond, 4 * kMillisecond);
    EXPECT_EQ(machine.budget.threads(), 2);
  }
}

// With a thread less there is a core for each: it stays so but for trials, which become rare.
TEST(ThreadBudget, AStolenCoreTakesOneThreadAndTrialsBecomeRare) {
  Machine machine{ThreadBudget(4)};
  int64_t with_all = 0;
  for (; machine.now < 10'000 * kMillisecond;) {
    const bool has_all = machine.budget.threads() == 4;
    with_all += has_all ? 4 : 0;
    machine.now += 4 * kMillisecond;
    machine.budget.report(machine.now, 4 * kMillisecond, has_all ? 2 * kMillisecond : 0);
    EXPECT_GE(machine.budget.threads(), 3);
  }
  // Rests of 0.25, 0.5, 1, then 2 s: seven trials of 20 ms behind the first 20 ms.
  EXPECT_GE(with_all, 120);
  EXPECT_LE(with_all, 180);
}

TEST(ThreadBudget, TheThreadComesBackWhenTheCoreDoes) {
  Machine machine{ThreadBudget(2)};
  machine.run_until(5000, 50, 1);
  EXPECT_GE(machine.run_until(7000, 0, 2), 300);
  EXPECT_EQ(machine.run_until(8000, 0, 2), 1000);
}

TEST(ThreadBudget, OneThreadIsTheLeast) {
  Machine machine{ThreadBudget(3)};
  machine.run_until(1000, 100, 1);
  for (int i = 0; i < 1000; ++i) {
    machine.budget.report(machine.now += 4 * kMillisecond, 4 * kMillisecond, 4 * kMillisecond);
    EXPECT_GE(machine.budget.threads(), 1);
  }
}

TEST(ThreadBudget, ALimitHolds) {
  Machine machine{ThreadBudget(4)};
  machine.budget.limit(2);
  EXPECT_EQ(machine.run_until(1000, 0, 2), 1000);
  machine.run_until(2000, 60, 1);
  EXPECT_EQ(machine.run_until(9000, 0, 3) + machine.run_until(10000, 0, 4), 0);
  machine.budget.limit(4);
  EXPECT_EQ(machine.budget.threads(), 4);
}

}  // namespace
}  // namespace anedvd
