#include "sampling/truncation.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

namespace anedvd {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Four lanes: what every x86-64 and arm64 has. Without -ffast-math compilers do not vectorise a maximum on their own.
using Floats = float __attribute__((vector_size(16)));
using Masks = int32_t __attribute__((vector_size(16)));
constexpr size_t kLanes = 4;

Floats load(const float* from) {
  Floats value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

float largest_lane(Floats v) { return std::max(std::max(v[0], v[1]), std::max(v[2], v[3])); }

}  // namespace

void scan_logits(std::span<const float> logits, LogitScan& scan) {
  const size_t whole = logits.size() / kScanBlock;
  scan.block_max.resize((logits.size() + kScanBlock - 1) / kScanBlock);
  const Floats infinity = {kInfinity, kInfinity, kInfinity, kInfinity};
  // `x < infinity` is false for NaN and +infinity only. A NaN may or may not win a block's maximum; nobody reads it then.
  Masks sound = {-1, -1, -1, -1};
  Floats overall = -infinity;
  for (size_t block = 0; block < whole; ++block) {
    const float* at = logits.data() + block * kScanBlock;
    Floats best[4];  // four chains: a maximum takes four cycles, one a cycle can start
    for (size_t chain = 0; chain < 4; ++chain) {
      best[chain] = load(at + chain * kLanes);
      sound &= best[chain] < infinity;
    }
    for (size_t i = 4 * kLanes; i < kScanBlock; i += 4 * kLanes) {
      for (size_t chain = 0; chain < 4; ++chain) {
        const Floats x = load(at + i + chain * kLanes);
        sound &= x < infinity;
        best[chain] = x > best[chain] ? x : best[chain];
      }
    }
    const Floats left = best[0] > best[1] ? best[0] : best[1];
    const Floats right = best[2] > best[3] ? best[2] : best[3];
    const Floats both = left > right ? left : right;
    overall = both > overall ? both : overall;
    scan.block_max[block] = largest_lane(both);
  }
  scan.max = largest_lane(overall);
  scan.is_sound = (sound[0] & sound[1] & sound[2] & sound[3]) != 0;
  if (whole < scan.block_max.size()) {
    float best = -kInfinity;
    for (const float x : logits.subspan(whole * kScanBlock)) {
      scan.is_sound = scan.is_sound && x < kInfinity;
      best = x > best ? x : best;
    }
    scan.block_max[whole] = best;
    scan.max = std::max(scan.max, best);
  }
}

int32_t first_of_largest(std::span<const float> logits, const LogitScan& scan) {
  const auto block = std::find(scan.block_max.begin(), scan.block_max.end(), scan.max);
  const auto start = (block - scan.block_max.begin()) * ptrdiff_t(kScanBlock);
  return int32_t(std::find(logits.begin() + start, logits.end(), scan.max) - logits.begin());
}

void collect_candidates(std::span<const float> logits, const LogitScan& scan, float floor, int top_k,
                        std::vector<Candidate>& out) {
  // Never −infinity: the smallest float is above it.
  floor = std::max(floor, std::numeric_limits<float>::lowest());
  if (top_k > 0 && size_t(top_k) < scan.block_max.size()) {
    std::vector<float> heads;
    for (const float head : scan.block_max)
      if (head >= floor) heads.push_back(head);
    if (heads.size() > size_t(top_k)) {
      const auto kth = heads.begin() + (top_k - 1);
      std::nth_element(heads.begin(), kth, heads.end(), std::greater<>());
      floor = *kth;
    }
  }
  for (size_t block = 0; block < scan.block_max.size(); ++block) {
    if (scan.block_max[block] < floor) continue;
    const size_t end = std::min(logits.size(), (block + 1) * kScanBlock);
    for (size_t i = block * kScanBlock; i < end; ++i)
      if (logits[i] >= floor) out.push_back({logits[i], int32_t(i)});
  }
}

void keep_largest(std::vector<Candidate>& candidates, int k) {
  if (candidates.size() > size_t(k)) {
    std::nth_element(candidates.begin(), candidates.begin() + (k - 1), candidates.end(), comes_before);
    candidates.resize(size_t(k));
  }
  std::sort(candidates.begin(), candidates.end(), comes_before);
}

void weigh(std::vector<Candidate>& candidates, float max, float temperature) {
  for (Candidate& c : candidates) c.weight = std::exp((double(c.logit) - max) / temperature);
}

void keep_nucleus(std::vector<Candidate>& candidates, float top_p) {
  double total = 0.0;
  for (const Candidate& c : candidates) total += c.weight;
  const double wanted = top_p * total;
  // A heap gives the largest one by one: only what stays gets sorted. Its top is the element that no other comes before.
  const auto comes_after = [](const Candidate& a, const Candidate& b) { return comes_before(b, a); };
  std::make_heap(candidates.begin(), candidates.end(), comes_after);
  auto rest = candidates.end();
  double reached = 0.0;
  while (rest != candidates.begin() && reached < wanted) {
    std::pop_heap(candidates.begin(), rest, comes_after);
    --rest;
    reached += rest->weight;
  }
  // What was popped stands at the end, largest last.
  std::reverse(candidates.begin(), candidates.end());
  candidates.resize(
      std::max<size_t>(1, size_t(candidates.end() - candidates.begin()) - size_t(rest - candidates.begin())));
}

void keep_probable(std::vector<Candidate>& candidates, float min_p) {
  std::erase_if(candidates, [&](const Candidate& c) { return c.weight < double(min_p); });
}

}  // namespace anedvd
