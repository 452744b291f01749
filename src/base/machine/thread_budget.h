// How many threads a job should have while other processes take cores away.
//
// Threads that meet at barriers are as slow as the one that waits for a core. So the budget is told how long the threads of each job stood ready without
// one: if that is a quarter of the time, the next jobs get a thread less, and after a rest one more is tried again.
#pragma once

#include <cstdint>

namespace anedvd {

class ThreadBudget {
 public:
  explicit ThreadBudget(int most) : most_(most), threads_(most) {}  // most ≥ 1

  int threads() const { return threads_; }

  // At most so many from now on, 1 … the number given at first.
  void limit(int most);

  // After each job, all in nanoseconds: `now` of a steady clock, how long the job took, and the longest time that one of its threads stood ready without
  // a core.
  void report(int64_t now, int64_t took, int64_t lost);

 private:
  void try_one_more(int64_t now);

  int most_;
  int threads_;
  bool on_trial_ = false;            // threads_ was raised and has not been judged yet
  int64_t took_ = 0, lost_ = 0;      // since the last judgement
  int64_t rest_ = 0, retry_at_ = 0;  // how long a lower number stays; when it ends
};

}  // namespace anedvd
