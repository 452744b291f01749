#include "cpu/limits.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/machine/huge_buffer.h"
#include "base/machine/spin_pool.h"
#include "cpu/kernels/select.h"

namespace anedvd {
namespace {

constexpr int kReadings = 7;            // the best counts: others only disturb
constexpr int64_t kDots = 4'000'000;    // about 5 ms at one a nanosecond
constexpr int64_t kOpsPerDot = 64 * 2;  // bytes of a vector, a product and a sum each

uint64_t read_all(const std::byte* data, int64_t bytes) {
  uint64_t sums[8] = {};
  for (int64_t at = 0; at + 64 <= bytes; at += 64) {
    __builtin_prefetch(data + at + kPrefetchBytes);
    uint64_t words[8];
    std::memcpy(words, data + at, sizeof words);
    for (int i = 0; i < 8; ++i) sums[i] += words[i];
  }
  uint64_t total = 0;
  for (const uint64_t sum : sums) total += sum;
  return total;
}

// Seconds of the quickest of several runs of a job on all threads.
template <class Job>
double quickest(SpinPool& pool, Job&& job) {
  double best = 1e9;
  for (int i = 0; i < kReadings; ++i) {
    const auto start = std::chrono::steady_clock::now();
    pool.run(job);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

}  // namespace

Result<CpuLimits> measure_limits(int threads, int64_t bytes) {
  ANEDVD_TRY(const KernelTable* kernels, select_kernels());
  SpinPool pool(threads);
  const int64_t share = std::max<int64_t>(bytes / threads, 1 << 20);
  std::vector<HugeBuffer> parts;
  for (int i = 0; i < threads; ++i) {
    ANEDVD_TRY(HugeBuffer part, HugeBuffer::reserve(size_t(share)));
    parts.push_back(std::move(part));
  }
  std::atomic<uint64_t> seen{0};  // so that nothing is left out as useless
  pool.run([&](int thread) { std::memset(parts[size_t(thread)].data(), thread + 1, size_t(share)); });
  const double reading = quickest(pool, [&](int thread) { seen += read_all(parts[size_t(thread)].data(), share); });
  CpuLimits limits{.read_bytes_s = double(share) * threads / reading};
  // Without vectors there is no instruction to count: the compiler does with the scalar kernels what it likes.
  if (std::string_view(kernels->name) == "scalar") return limits;
  const double dots = quickest(pool, [&](int) { seen += uint64_t(kernels->dot_rate(kDots)); });
  ANEDVD_CHECK(seen != 0, "the limits read nothing");
  limits.int8_ops_s = double(kDots) * double(kOpsPerDot) * threads / dots;
  return limits;
}

}  // namespace anedvd
