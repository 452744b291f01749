// The promises of scheduler.h over long random traces, without a model.
#include "engine/scheduler.h"

#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>

namespace anedvd {
namespace {

struct Sequence {
  Demand demand;
  int to_stream = 0;  // tokens it will give
  int waited = 0;     // steps in a row without a column
};

int columns_of(const std::vector<Share>& shares) {
  int sum = 0;
  for (const Share& share : shares) sum += share.tokens + share.drafts;
  return sum;
}

TEST(Scheduler, ShortQuestionGoesBesideALongDocument) {
  Scheduler scheduler(64);
  const Demand demands[] = {{1, false, 4000, 0, 0, Priority::kInteractive},
                            {2, false, 20, 0, 0, Priority::kInteractive}};
  const auto shares = scheduler.next(demands, StepCost());
  ASSERT_EQ(shares.size(), 2u);
  EXPECT_EQ(shares[1].tokens, 20);
  EXPECT_EQ(shares[0].tokens, 44);
}

TEST(Scheduler, DraftsTakeOnlyWhatIsLeft) {
  Scheduler scheduler(8);
  const Demand demands[] = {{1, true, 1, 4, 10, Priority::kInteractive},
                            {2, true, 1, 4, 10, Priority::kInteractive},
                            {3, false, 3, 0, 0, Priority::kInteractive}};
  const auto shares = scheduler.next(demands, StepCost());
  ASSERT_EQ(shares.size(), 3u);
  EXPECT_EQ(shares[0].drafts, 3);
  EXPECT_EQ(shares[1].drafts, 0);
  EXPECT_EQ(shares[2].tokens, 3);
}

TEST(Scheduler, BackgroundPromptsWaitButNotForEver) {
  Scheduler scheduler(16);
  int steps = 0;
  for (;; ++steps) {
    const Demand demands[] = {{1, false, 100, 0, 0, Priority::kBackground},
                              {uint64_t(2 + steps), false, 1000, 0, 0, Priority::kInteractive}};
    const auto shares = scheduler.next(demands, StepCost());
    if (shares.front().id == 1) break;
    ASSERT_LE(steps, Scheduler::kPatience);
  }
  EXPECT_GT(steps, 0);
}

TEST(Scheduler, AStepWithPromptsIsNotMuchLongerForThoseWhoStream) {
  StepCost cost;
  std::mt19937 random(3);
  for (int i = 0; i < 400; ++i) {
    const StepShape shape{int(1 + random() % 64), int64_t(random() % 20000)};
    cost.observe(shape, 0.004 + 0.004 * shape.columns + 1e-8 * double(shape.cache_entries));
  }
  Scheduler scheduler(64);
  const Demand demands[] = {{1, true, 1, 0, 100, Priority::kInteractive},
                            {2, false, 5000, 0, 0, Priority::kInteractive}};
  const auto shares = scheduler.next(demands, cost);
  ASSERT_EQ(shares.size(), 2u);
  // 8 ms alone: 32 ms are allowed, which are 6 columns more; the floor is 8.
  EXPECT_EQ(shares[1].tokens, scheduler.floor());
}

TEST(Scheduler, KeepsItsPromisesOverRandomTraces) {
  for (const int width : {1, 2, 3, 8, 64, 128}) {
    Scheduler scheduler(width);
    StepCost cost;
    std::mt19937 random{uint32_t(width)};
    std::vector<Sequence> live;
    uint64_t last_id = 0;
    int64_t served = 0;
    int most_streams = 0;
    for (int step = 0; step < 20000; ++step) {
      if (live.size() < 40 && random() % 8 == 0) {
        Sequence one;
        one.demand = {++last_id, false, int(1 + random() % (random() % 10 == 0 ? 3000 : 200)),
                      0,         0,     random() % 4 == 0 ? Priority::kBackground : Priority::kInteractive};
        one.to_stream = int(random() % 60);
        live.push_back(one);
      }
      std::vector<Demand> demands;
      int streams = 0, prompts = 0;
      for (Sequence& one : live) {
        one.demand.drafts = one.demand.streams ? int(random() % 4) : 0;
        demands.push_back(one.demand);
        ++(one.demand.streams ? streams : prompts);
      }
      most_streams = std::max(most_streams, streams);
      const auto shares = scheduler.next(demands, cost);
      ASSERT_LE(columns_of(shares), width);
      ASSERT_TRUE(demands.empty() || !shares.empty()) << "no progress";
      ASSERT_TRUE(std::is_sorted(shares.begin(), shares.end(), [](auto& a, auto& b) { return a.id < b.id; }));
      StepShape shape;
      for (Sequence& one : live) {
        const auto share = std::find_if(shares.begin(), shares.end(), [&](auto& s) { return s.id == one.demand.id; });
        if (share == shares.end()) {
          ++one.waited;
          if (one.demand.streams) {
            const int room = std::max(1, width - scheduler.floor());
            // Streams that came meanwhile count, too; with one column in all they also take turns with the prompts.
            ASSERT_LE(one.waited, (width == 1 ? 2 : 1) * ((most_streams + room - 1) / room)) << "width " << width;
          }
          continue;
        }
        one.waited = 0;
        ++served;
        ASSERT_GT(share->tokens, 0);
        ASSERT_LE(share->tokens, one.demand.tokens);
        ASSERT_LE(share->drafts, one.demand.drafts);
        shape.columns += share->tokens + share->drafts;
        shape.cache_entries += share->tokens * int64_t(one.demand.position);
        one.demand.position += share->tokens;
        if (one.demand.streams) {
          --one.to_stream;
        } else if ((one.demand.tokens -= share->tokens) == 0) {
          one.demand.streams = true;
          one.demand.tokens = 1;
        }
      }
      if (shape.columns > 0) cost.observe(shape, 0.002 + 0.0003 * shape.columns);
      std::erase_if(live, [](const Sequence& one) { return one.demand.streams && one.to_stream <= 0; });
    }
    EXPECT_GT(served, 1000);
  }
}

TEST(StepCost, LearnsWhatAStepCostsAndForgetsSlowly) {
  StepCost cost;
  std::mt19937 random(1);
  const auto truth = [](const StepShape& s) { return 0.0025 + 0.0003 * s.columns + 2e-8 * double(s.cache_entries); };
  const auto run = [&](int steps, double factor) {
    for (int i = 0; i < steps; ++i) {
      const StepShape shape{int(1 + random() % 64), int64_t(random() % 40000)};
      const double noise = 0.95 + 0.1 * double(random() % 1000) / 1000;
      // One step in fifty is held up by somebody else.
      cost.observe(shape, factor * truth(shape) * noise * (random() % 50 == 0 ? 100 : 1));
    }
  };
  run(500, 1);
  for (const StepShape shape : {StepShape{1, 100}, StepShape{8, 8000}, StepShape{64, 30000}})
    EXPECT_NEAR(cost.predict(shape) / truth(shape), 1, 0.25) << shape.columns;
  run(300, 2);
  EXPECT_NEAR(cost.predict({32, 10000}) / truth({32, 10000}), 2, 0.4);
}

}  // namespace
}  // namespace anedvd
