#include "sampling/truncation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace anedvd {
namespace {

constexpr float kLowest = std::numeric_limits<float>::lowest();

// One large logit a block: the k-th largest block is exactly as large as the k-th largest token.
TEST(CollectCandidates, FindsTheTopKWhenEachStandsInABlockOfItsOwn) {
  constexpr size_t kBlocks = 101;
  std::mt19937 rng(1);
  std::vector<float> logits(kBlocks * kScanBlock - 17, -100.0f);
  std::vector<float> heads;
  for (size_t block = 0; block < kBlocks; ++block) {
    logits[block * kScanBlock + rng() % 47] = float(rng() % 60);  // ties too
  }
  for (const float x : logits)
    if (x >= 0) heads.push_back(x);
  std::sort(heads.begin(), heads.end(), std::greater<>());
  for (int k = 1; k < int(kBlocks) + 5; ++k) {
    LogitScan scan;
    scan_logits(logits, scan);
    std::vector<Candidate> found;
    collect_candidates(logits, scan, kLowest, k, found);
    keep_largest(found, k);
    ASSERT_EQ(found.size(), size_t(k));
    for (size_t i = 0; i < size_t(k); ++i) {
      EXPECT_EQ(found[i].logit, i < heads.size() ? heads[i] : -100.0f) << "k " << k << " place " << i;
      EXPECT_TRUE(i == 0 || comes_before(found[i - 1], found[i]));
    }
  }
}

TEST(CollectCandidates, ReadsFewBlocksForASmallK) {
  std::mt19937 rng(2);
  std::normal_distribution<float> normal;
  std::vector<float> logits(152000);
  for (float& x : logits) x = normal(rng);
  LogitScan scan;
  scan_logits(logits, scan);
  std::vector<Candidate> found;
  collect_candidates(logits, scan, kLowest, 40, found);
  EXPECT_GE(found.size(), 40u);
  EXPECT_LT(found.size(), 100u) << "the cost should follow k, not the vocabulary";
}

TEST(ScanLogits, FindsTheMaximumAtEveryPlaceAndLength) {
  for (size_t vocab = 1; vocab < 3 * kScanBlock; ++vocab) {
    for (size_t at = 0; at < vocab; at += 1 + vocab / 40) {
      std::vector<float> logits(vocab, -std::numeric_limits<float>::infinity());
      logits[at] = -7.0f;
      LogitScan scan;
      scan_logits(logits, scan);
      EXPECT_TRUE(scan.is_sound);
      EXPECT_EQ(scan.max, -7.0f) << vocab << " " << at;
      EXPECT_EQ(first_of_largest(logits, scan), int32_t(at));
    }
  }
}

TEST(Weigh, IsTheExponential) {
  std::vector<Candidate> candidates;
  for (int i = 0; i <= 20000; ++i) candidates.push_back({5.0f - float(i) / 500, i});
  for (const float temperature : {2.0f, 2.7f}) {
    weigh(candidates, 5.0f, temperature);
    for (const Candidate& c : candidates) {
      const double exact = std::exp(double((c.logit - 5.0f) / temperature));
      ASSERT_NEAR(c.weight / exact, 1.0, 2e-7) << c.logit;
    }
  }
  std::vector<Candidate> apart = {{3e38f, 0}, {-3e38f, 1}};  // their difference is no float
  weigh(apart, 3e38f, 1e38f);
  EXPECT_EQ(apart[0].weight, 1.0);
  EXPECT_LT(apart[1].weight, 1e-30);
}

TEST(KeepNucleus, KeepsWhatSortingWouldKeep) {
  std::mt19937 random(5);
  for (const size_t count : {1, 2, 3, 40, 1000, 20000}) {
    for (const float top_p : {1e-6f, 0.1f, 0.5f, 0.9f, 0.95f, 0.999f, 0.9999999f}) {
      for (const int levels : {1, 7, 1 << 20}) {  // few levels: many ties
        std::vector<Candidate> candidates;
        for (size_t i = 0; i < count; ++i)
          candidates.push_back({float(int(random()) % levels) * (8.0f / float(levels)), int32_t(i)});
        float max = candidates[0].logit;
        for (const Candidate& c : candidates) max = std::max(max, c.logit);
        weigh(candidates, max, 0.9f);

        std::vector<Candidate> sorted = candidates;
        std::sort(sorted.begin(), sorted.end(), comes_before);
        double total = 0, reached = 0;
        for (const Candidate& c : sorted) total += c.weight;
        size_t kept = 0;
        while (kept < count && (kept == 0 || reached < top_p * total)) reached += sorted[kept++].weight;
        std::vector<int32_t> want, got;
        for (size_t i = 0; i < kept; ++i) want.push_back(sorted[i].id);
        std::sort(want.begin(), want.end());

        keep_nucleus(candidates, top_p);
        for (const Candidate& c : candidates) got.push_back(c.id);
        // The sums run in another order: where one of them meets the limit exactly, one candidate more or less is as right.
        EXPECT_LE(std::max(want.size(), got.size()) - std::min(want.size(), got.size()), 1u);
        EXPECT_TRUE(std::includes(want.begin(), want.end(), got.begin(), got.end()) ||
                    std::includes(got.begin(), got.end(), want.begin(), want.end()))
            << count << " candidates, top_p " << top_p << ", " << levels << " levels";
        EXPECT_TRUE(std::is_sorted(got.begin(), got.end())) << "order unchanged";
      }
    }
  }
}

}  // namespace
}  // namespace anedvd
