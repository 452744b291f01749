#include "base/machine/spin_pool.h"

#include <numeric>

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
          pool.barrier();
          sums[size_t(thread)] = std::accumulate(cells.begin(), cells.end(), int64_t{0});
          pool.barrier();
          ASSERT_EQ(sums[size_t(thread)], threads * (job * 100 + phase * 10) + threads * (threads - 1) / 2);
        }
      });
    }
  }
}

TEST(SpinPool, StartsAndStopsWithoutWork) {
  for (int i = 0; i < 20; ++i) SpinPool pool(4);
}

}  // namespace
}  // namespace anedvd
