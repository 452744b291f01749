#include "base/machine/spin_pool.h"

#include <chrono>

namespace anedvd {
namespace {

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits until `word` differs from `old`: spins, then yields, then sleeps. The counts are turns of the loop: about 20 µs and 1 ms.
void wait_for_change(std::atomic<uint32_t>& word, uint32_t old) {
  for (int turn = 0; turn < 1000; ++turn) {
    if (word.load(std::memory_order_acquire) != old) return;
    relax();
  }
  for (int turn = 0; turn < 1000; ++turn) {
    if (word.load(std::memory_order_acquire) != old) return;
    std::this_thread::yield();
  }
  while (word.load(std::memory_order_acquire) == old) word.wait(old, std::memory_order_acquire);
}

}  // namespace

SpinPool::SpinPool(int threads) : threads_(threads) {
  for (int thread = 1; thread < threads; ++thread) workers_.emplace_back([this, thread] { work(thread); });
}

SpinPool::~SpinPool() {
  stop_.store(true, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
}

void SpinPool::run_raw(RawJob job, void* context) {
  if (threads_ == 1) {
    job(context, 0);
    return;
  }
  job_ = job;
  context_ = context;
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  job(context, 0);
  barrier();
}

void SpinPool::work(int thread) {
  uint32_t seen = 0;
  for (;;) {
    wait_for_change(generation_, seen);
    ++seen;
    if (stop_.load(std::memory_order_relaxed)) return;
    job_(context_, thread);
    barrier();
  }
}

void SpinPool::barrier() {
  if (threads_ == 1) return;
  const uint32_t phase = phase_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) == threads_ - 1) {
    arrived_.store(0, std::memory_order_relaxed);
    phase_.store(phase + 1, std::memory_order_release);
    phase_.notify_all();
  } else {
    wait_for_change(phase_, phase);
  }
}

}  // namespace anedvd
