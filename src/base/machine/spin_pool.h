// Threads that run one job together, with barriers inside it.
//
//   pool.run([&](int thread) { first_phase(thread); pool.barrier(thread); second_phase(thread); });
//
// A barrier between spinning threads costs well under a microsecond; a machine with too few free cores is survived by yielding after a short spin
// and sleeping after a longer one, and by giving jobs that allow it fewer threads. Between jobs the threads spin briefly, then sleep.
//
// run…() and barrier() belong to the caller's thread (number 0) and, inside a job, to the workers. One job at a time.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "base/machine/thread_budget.h"

namespace anedvd {

class SpinPool {
 public:
  explicit SpinPool(int threads);  // ≥ 1, the caller's included
  ~SpinPool();
  SpinPool(const SpinPool&) = delete;
  SpinPool& operator=(const SpinPool&) = delete;

  // Of the job that runs; between jobs all that there are.
  int threads() const { return threads_; }

  // Calls job(thread) on every thread, thread 0 on the caller's; returns when all are done.
  template <class Job>
  void run(Job&& job) {
    run_raw(raw<Job>(), &job, int(seats_.size()));
  }

  // The same on as many threads as find a core: a job that shares its work out by threads().
  template <class Job>
  void run_on_free_cores(Job&& job) {
    run_raw_on_free_cores(raw<Job>(), &job);
  }

  // At most so many threads for run_on_free_cores() from now on.
  void limit(int threads) { budget_.limit(threads); }

  // Every thread of the job waits here for the others; `thread` is its own number.
  void barrier(int thread);

 private:
  using RawJob = void (*)(void*, int);
  template <class Job>
  static RawJob raw() {
    return [](void* context, int thread) { (*static_cast<std::remove_reference_t<Job>*>(context))(thread); };
  }
  void run_raw(RawJob job, void* context, int threads);
  void run_raw_on_free_cores(RawJob job, void* context);
  void work(int thread);
  // This thread's time on a core or asleep at barriers.
  int64_t accounted(int thread) const;

  // Each on a cache line of its own: they are written by different threads at different times.
  struct alignas(64) Seat {
    std::atomic<uint32_t> jobs{0};  // counts those that this thread was called to; it waits for a change
    int64_t slept = 0;              // nanoseconds of sleep at barriers so far; the thread's own
    int64_t lost = 0;               // in the last job: nanoseconds in which the thread was ready and had no core
  };

  int threads_;
  RawJob job_ = nullptr;
  void* context_ = nullptr;
  ThreadBudget budget_;
  std::vector<Seat> seats_;  // by thread
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<uint32_t> phase_{0};
  alignas(64) std::atomic<bool> stop_{false};
  std::vector<std::jthread> workers_;
};

}  // namespace anedvd
