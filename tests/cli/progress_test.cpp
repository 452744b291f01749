#include "cli/terminal/progress.h"

#include <gtest/gtest.h>

namespace anedvd {
namespace {

using namespace std::chrono_literals;

TEST(Progress, AmountsShareTheUnitOfTheTotal) {
  EXPECT_EQ(progress_words(61234567, 98362432), "61.2/98.4 MB");
  EXPECT_EQ(progress_words(0, 1200000000), "0.0/1.2 GB");
  EXPECT_EQ(progress_words(5, 900), "5/900 B");
  EXPECT_EQ(progress_words(61234567, 0), "61.2 MB");
}

TEST(Progress, ShowsBarSpeedAndTimeLeft) {
  const Progress::Clock::time_point start{};
  const Progress progress(Console{}, "pull", 100000000, 0, Amount::kBytes, start);
  EXPECT_EQ(progress.line(0, start, 0), "pull  0.0/100.0 MB");
  EXPECT_EQ(progress.line(50000000, start + 5s, 0), "pull  50.0/100.0 MB  10.0 MB/s  0:05 left");
  EXPECT_EQ(progress.line(50000000, start + 5s, 64), "pull  ━━━━━━━━━━╸─────────  50.0/100.0 MB  10.0 MB/s  0:05 left");
  EXPECT_EQ(progress.line(100000000, start + 100s, 41), "pull  ━━━━━━━━  100.0/100.0 MB  1.0 MB/s");
  EXPECT_EQ(progress.line(100000, start + 10s, 0), "pull  0.1/100.0 MB  10.0 kB/s  166:30 left");
}

TEST(Progress, TokensAreCountedAsTokens) {
  const Progress::Clock::time_point start{};
  const Progress progress(Console{}, "reading", 3210, 0, Amount::kTokens, start);
  EXPECT_EQ(progress.line(1024, start + 8s, 0), "reading  1,024/3,210 tokens  128 tok/s  0:17 left");
  EXPECT_EQ(progress_words(1024, 0, Amount::kTokens), "1,024 tokens");
}

TEST(Progress, WhatWasThereBeforeDoesNotCountForTheSpeed) {
  const Progress::Clock::time_point start{};
  const Progress progress(Console{}, "pull", 100000000, 90000000, Amount::kBytes, start);
  EXPECT_EQ(progress.line(95000000, start + 5s, 0), "pull  95.0/100.0 MB  1.0 MB/s  0:05 left");
}

TEST(Progress, WithoutATerminalThereIsOneLineEveryTenSeconds) {
  const Progress::Clock::time_point start{};
  testing::internal::CaptureStderr();
  {
    Progress progress(Console{}, "pull", 100000000, 0, Amount::kBytes, start);
    for (int tick = 0; tick < 250; ++tick) progress.update(uint64_t(tick) * 100000, start + tick * 100ms);
  }
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  EXPECT_EQ(text.find_first_of("\r\x1b"), std::string::npos);
}

TEST(Progress, QuietIsQuiet) {
  Console console;
  console.quiet = true;
  testing::internal::CaptureStderr();
  Progress progress(console, "pull", 100, 0, Amount::kBytes, {});
  progress.update(50, Progress::Clock::time_point(100s));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace anedvd
