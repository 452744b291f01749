#include "engine/stop_matcher.h"

#include <vector>

#include <gtest/gtest.h>

namespace anedvd {
namespace {

// Every way of cutting the text in pieces gives the same output, and none of the stop string's bytes is ever emitted.
TEST(StopMatcher, CutsBeforeTheFirstStopHoweverTheTextArrives) {
  const std::string text = "The quick brown fox jumps";
  const std::vector<std::string> stops = {"own fox", "jumps", ""};
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    StopMatcher matcher(stops);
    std::string out;
    for (size_t i = 0; i < text.size(); i += piece) out += matcher.push(std::string_view(text).substr(i, piece));
    out += matcher.finish();
    EXPECT_EQ(out, "The quick br") << piece;
    EXPECT_TRUE(matcher.found());
  }
}

TEST(StopMatcher, HeldTextComesOutWhenNoStopFollows) {
  const std::vector<std::string> stops = {"aab"};
  StopMatcher matcher(stops);
  EXPECT_EQ(matcher.push("xaa"), "x");
  EXPECT_EQ(matcher.push("a"), "a");
  EXPECT_EQ(matcher.finish(), "aa");
  EXPECT_FALSE(matcher.found());
}

TEST(StopMatcher, TheEarliestOfSeveralStopsWins) {
  const std::vector<std::string> stops = {"cd", "bc"};
  StopMatcher matcher(stops);
  EXPECT_EQ(matcher.push("abcd"), "a");
  EXPECT_TRUE(matcher.found());
}

}  // namespace
}  // namespace anedvd
