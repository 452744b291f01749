#include "sampling/truncation.h"

#include <algorithm>
#include <bit>
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

// e^x for −80 ≤ x ≤ 0: x = n·ln 2 + r with |r| ≤ ln 2 / 2, the Taylor sum of e^r (its rest is under 2·10^-8), times 2^n. A loop over it becomes vector code.
inline float exp_of(float x) {
  const auto n = int32_t(x * 1.44269504f - 0.5f);                           // to the nearest, because x ≤ 0
  const float r = x - float(n) * 0.693359375f + float(n) * 2.12194440e-4f;  // ln 2 in two parts: the first has few bits
  float sum = 1.0f / 5040;
  for (const float factor : {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f}) sum = sum * r + factor;
  return sum * std::bit_cast<float>((n + 127) << 23);
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
  // Every logit of a block is written and the place moves on behind those that stay: nothing for the processor to guess.
  size_t count = out.size();
  for (size_t block = 0; block < scan.block_max.size(); ++block) {
    if (scan.block_max[block] < floor) continue;
    if (out.size() < count + kScanBlock) out.resize(std::max(2 * out.size(), count + kScanBlock));
    const size_t end = std::min(logits.size(), (block + 1) * kScanBlock);
    for (size_t i = block * kScanBlock; i < end; ++i) {
      out[count].logit = logits[i];
      out[count].id = int32_t(i);
      count += logits[i] >= floor;
    }
  }
  out.resize(count);
}

void keep_largest(std::vector<Candidate>& candidates, int k) {
  if (candidates.size() > size_t(k)) {
    std::nth_element(candidates.begin(), candidates.begin() + (k - 1), candidates.end(), comes_before);
    candidates.resize(size_t(k));
  }
  std::sort(candidates.begin(), candidates.end(), comes_before);
}

void weigh(std::vector<Candidate>& candidates, float max, float temperature) {
  constexpr size_t kTile = 64;
  float values[kTile];
  for (size_t first = 0; first < candidates.size(); first += kTile) {
    Candidate* tile = candidates.data() + first;
    const size_t count = std::min(kTile, candidates.size() - first);
    // No logit is that far below; only a difference that overflows is.
    for (size_t i = 0; i < count; ++i) values[i] = std::max((tile[i].logit - max) / temperature, -80.0f);
    for (size_t i = 0; i < count; ++i) values[i] = exp_of(values[i]);
    for (size_t i = 0; i < count; ++i) tile[i].weight = values[i];
  }
}

void keep_nucleus(std::vector<Candidate>& candidates, float top_p) {
  if (candidates.size() < 2) return;
  // Buckets of equal width over the logits: only the one where top_p is reached has to be put in order.
  constexpr int kBuckets = 512;
  const auto [least, largest] = std::minmax_element(
      candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) { return a.logit < b.logit; });
  const float max = largest->logit, range = max - least->logit, per_logit = range > 0 ? (kBuckets - 1) / range : 0.0f;
  const auto bucket_of = [&](const Candidate& c) { return int((max - c.logit) * per_logit); };
  double sums[kBuckets] = {}, total = 0.0;
  for (const Candidate& c : candidates) sums[bucket_of(c)] += c.weight;
  for (const double sum : sums) total += sum;

  const double wanted = top_p * total;
  double reached = 0.0;
  int cut = 0;
  while (cut + 1 < kBuckets && reached + sums[cut] < wanted) reached += sums[cut++];
  std::vector<Candidate> at_cut;
  for (const Candidate& c : candidates)
    if (bucket_of(c) == cut) at_cut.push_back(c);
  std::sort(at_cut.begin(), at_cut.end(), comes_before);
  size_t kept = 0;
  while (kept < at_cut.size() && (kept == 0 || reached < wanted)) reached += at_cut[kept++].weight;
  std::erase_if(candidates, [&](const Candidate& c) {
    const int bucket = bucket_of(c);
    return bucket > cut || (bucket == cut && comes_before(at_cut[kept - 1], c));
  });
}

void keep_probable(std::vector<Candidate>& candidates, float min_p) {
  std::erase_if(candidates, [&](const Candidate& c) { return c.weight < double(min_p); });
}

}  // namespace anedvd
