#include "sampling/truncation.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <random>

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

}  // namespace
}  // namespace anedvd
