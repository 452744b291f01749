#include "base/machine/spin_pool.h"

#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>

namespace anedvd {
namespace {

TEST(SpinPool, PhasesSeeWhatOthersWroteBeforeTheBarrier) {
  for (const int threads : {1, 2, 3, 5}) {
    SpinPool pool(threads);
    std::vector<int64_t> cells(size_t(threads), 0), sums(size_t(threads), 0);
    for (int job = 0; job < 200; ++job) {
      pool.run([&](int thread) {
        for (int phase = 0; phase < 10; ++phase) {
          cells[size_t(thread)] = job * 100 + phase * 10 + thread;
          pool.barrier(thread);
          sums[size_t(thread)] = std::accumulate(cells.begin(), cells.end(), int64_t{0});
          pool.barrier(thread);
          ASSERT_EQ(sums[size_t(thread)], threads * (job * 100 + phase * 10) + threads * (threads - 1) / 2);
        }
      });
    }
  }
}

TEST(SpinPool, AJobMayHaveFewerThreadsThanTheOneBefore) {
  SpinPool pool(4);
  for (int job = 0; job < 500; ++job) {
    const int threads = job * 7 % 4 + 1;
    pool.limit(threads);
    std::vector<int> calls(4, 0), seen(4, 0);
    pool.run_on_free_cores([&](int thread) {
      // The other processes of this machine may take a core: never more than asked for.
      ASSERT_LE(pool.threads(), threads);
      calls[size_t(thread)] += 1;
      pool.barrier(thread);
      seen[size_t(thread)] = std::accumulate(calls.begin(), calls.end(), 0);
      if (thread == 0) {
        for (int i = 0; i < 4; ++i) ASSERT_EQ(calls[size_t(i)], i < pool.threads() ? 1 : 0) << i;
      }
      ASSERT_EQ(seen[size_t(thread)], pool.threads());
    });
    ASSERT_EQ(pool.threads(), 4);
  }
}

// A thread that sleeps inside a job looks like one that waits for a core.
TEST(SpinPool, AThreadThatFindsNoCoreIsLeftOutAndTriedAgain) {
  SpinPool pool(2);
  const auto threads_of_a_job = [&](bool second_is_late) {
    std::atomic<int> threads = 0;
    pool.run_on_free_cores([&](int thread) {
      const auto pause = std::chrono::milliseconds(second_is_late && thread == 1 ? 8 : 0);
      if (pause.count() > 0) std::this_thread::sleep_for(pause);
      ++threads;
    });
    return threads.load();
  };
  const auto reach = [&](int threads, bool second_is_late) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (threads_of_a_job(second_is_late) != threads)
      if (std::chrono::steady_clock::now() > end) return false;
    return true;
  };
  EXPECT_TRUE(reach(1, true));
  EXPECT_TRUE(reach(2, false));
}

TEST(SpinPool, StartsAndStopsWithoutWork) {
  for (int i = 0; i < 20; ++i) SpinPool pool(4);
}

}  // namespace
}  // namespace anedvd
