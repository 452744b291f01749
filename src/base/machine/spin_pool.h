// Threads that run one job together, with barriers inside it.
//
//   pool.run([&](int thread) { first_phase(thread); pool.barrier(); second_phase(thread); });
//
// A barrier between spinning threads costs well under a microsecond; a machine with too few free cores is survived by yielding after a short spin
// and sleeping after a longer one. Between jobs the threads spin briefly, then sleep.
//
// run() and barrier() belong to the caller's thread (number 0) and, inside a job, to the workers. One job at a time.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

namespace anedvd {

class SpinPool {
 public:
  explicit SpinPool(int threads);  // ≥ 1, the caller's included
  ~SpinPool();
  SpinPool(const SpinPool&) = delete;
  SpinPool& operator=(const SpinPool&) = delete;

  int threads() const { return threads_; }

  // Calls job(thread) on every thread, thread 0 on the caller's; returns when all are done.
  template <class Job>
  void run(Job&& job) {
    run_raw([](void* context, int thread) { (*static_cast<std::remove_reference_t<Job>*>(context))(thread); }, &job);
  }

  // Every thread of the job waits here for the others.
  void barrier();

 private:
  using RawJob = void (*)(void*, int);
  void run_raw(RawJob job, void* context);
  void work(int thread);

  const int threads_;
  RawJob job_ = nullptr;
  void* context_ = nullptr;
  // Each on a cache line of its own: they are written by different threads at different times.
  alignas(64) std::atomic<uint32_t> generation_{0};  // counts jobs; workers wait for it to change
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<uint32_t> phase_{0};
  alignas(64) std::atomic<bool> stop_{false};
  std::vector<std::jthread> workers_;
};

}  // namespace anedvd
