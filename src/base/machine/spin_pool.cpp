#include "base/machine/spin_pool.h"

#include <algorithm>
#include <chrono>

#include <sys/resource.h>
#include <time.h>

namespace anedvd {
namespace {

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

int64_t nanoseconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// Waits until `word` differs from `old`: spins, then yields, then sleeps. The counts are turns of the loop: about 20 µs and 1 ms. Returns the
// nanoseconds of sleep.
int64_t wait_for_change(std::atomic<uint32_t>& word, uint32_t old) {
  for (int turn = 0; turn < 1000; ++turn) {
    if (word.load(std::memory_order_acquire) != old) return 0;
    relax();
  }
  for (int turn = 0; turn < 1000; ++turn) {
    if (word.load(std::memory_order_acquire) != old) return 0;
    std::this_thread::yield();
  }
  const int64_t start = nanoseconds(CLOCK_MONOTONIC);
  while (word.load(std::memory_order_acquire) == old) word.wait(old, std::memory_order_acquire);
  return nanoseconds(CLOCK_MONOTONIC) - start;
}

// A sleeping thread takes some 50 µs to wake, which is most of a short job; a scheduler takes a core away for a millisecond and more.
constexpr int64_t kWakeUp = 200'000;

// Pages for which this thread has waited for the disk, where the system tells: fewer threads would not make them come sooner.
int64_t disk_waits() {
#if defined(RUSAGE_THREAD)
  rusage usage{};
  if (getrusage(RUSAGE_THREAD, &usage) == 0) return usage.ru_majflt;
#endif
  return 0;
}

}  // namespace

SpinPool::SpinPool(int threads) : threads_(threads), budget_(threads), seats_(size_t(threads)) {
  for (int thread = 1; thread < threads; ++thread) workers_.emplace_back([this, thread] { work(thread); });
}

SpinPool::~SpinPool() {
  stop_.store(true, std::memory_order_relaxed);
  for (Seat& seat : seats_) {
    seat.jobs.fetch_add(1, std::memory_order_release);
    seat.jobs.notify_one();
  }
}

void SpinPool::run_raw(RawJob job, void* context, int threads) {
  threads_ = threads;
  job_ = job;
  context_ = context;
  for (int thread = 1; thread < threads; ++thread) {
    std::atomic<uint32_t>& jobs = seats_[size_t(thread)].jobs;
    jobs.fetch_add(1, std::memory_order_release);
    jobs.notify_one();
  }
  job(context, 0);
  barrier(0);
  threads_ = int(seats_.size());
}

int64_t SpinPool::accounted(int thread) const {
  return nanoseconds(CLOCK_THREAD_CPUTIME_ID) + seats_[size_t(thread)].slept;
}

void SpinPool::run_raw_on_free_cores(RawJob job, void* context) {
  if (seats_.size() == 1) {
    job(context, 0);
    return;
  }
  const int threads = budget_.threads();
  const int64_t start = nanoseconds(CLOCK_MONOTONIC);
  auto measured = [&](int thread) {
    const int64_t before = accounted(thread), waits = disk_waits();
    job(context, thread);
    // From the start of the job, not of its part: a thread that was woken may have waited for a core before its first line.
    const int64_t unaccounted = nanoseconds(CLOCK_MONOTONIC) - start - (accounted(thread) - before);
    seats_[size_t(thread)].lost = disk_waits() == waits ? std::max<int64_t>(0, unaccounted - kWakeUp) : 0;
  };
  run_raw(raw<decltype(measured)>(), &measured, threads);
  const int64_t end = nanoseconds(CLOCK_MONOTONIC);
  int64_t lost = 0;
  for (int thread = 0; thread < threads; ++thread) lost = std::max(lost, seats_[size_t(thread)].lost);
  budget_.report(end, end - start, lost);
}

void SpinPool::work(int thread) {
  uint32_t seen = 0;
  for (;;) {
    wait_for_change(seats_[size_t(thread)].jobs, seen);
    ++seen;
    if (stop_.load(std::memory_order_relaxed)) return;
    job_(context_, thread);
    barrier(thread);
  }
}

void SpinPool::barrier(int thread) {
  // Read beforehand: once all have arrived the next job may begin, with another number.
  const int last = threads_ - 1;
  if (last == 0) return;
  const uint32_t phase = phase_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) == last) {
    arrived_.store(0, std::memory_order_relaxed);
    phase_.store(phase + 1, std::memory_order_release);
    phase_.notify_all();
  } else {
    seats_[size_t(thread)].slept += wait_for_change(phase_, phase);
  }
}

}  // namespace anedvd
