#include "base/machine/thread_budget.h"

#include <algorithm>

namespace anedvd {
namespace {

constexpr int64_t kMillisecond = 1'000'000;
// Longer than the few milliseconds for which a scheduler lets something small run: that alone is no reason.
constexpr int64_t kJudged = 20 * kMillisecond;
constexpr int64_t kFirstRest = 250 * kMillisecond, kLongestRest = 2000 * kMillisecond;
constexpr int64_t kCrowdedPart = 4;  // a quarter

}  // namespace

void ThreadBudget::limit(int most) {
  most_ = std::max(most, 1);
  threads_ = most_;
  on_trial_ = false;
  took_ = lost_ = 0;
}

void ThreadBudget::report(int64_t now, int64_t took, int64_t lost) {
  took_ += took;
  lost_ += lost;
  if (took_ < kJudged) {
    if (!on_trial_) try_one_more(now);
    return;
  }
  const bool is_crowded = lost_ * kCrowdedPart > took_ && threads_ > 1;
  took_ = lost_ = 0;
  if (is_crowded) {
    --threads_;
    rest_ = on_trial_ ? std::min(2 * rest_, kLongestRest) : kFirstRest;
    retry_at_ = now + rest_;
  } else if (!on_trial_) {
    try_one_more(now);
    return;
  }
  on_trial_ = false;
}

void ThreadBudget::try_one_more(int64_t now) {
  if (threads_ == most_ || now < retry_at_) return;
  ++threads_;
  on_trial_ = true;
  took_ = lost_ = 0;
}

}  // namespace anedvd
