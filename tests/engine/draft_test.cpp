#include "engine/draft.h"

#include <gtest/gtest.h>

namespace anedvd {
namespace {

TEST(PromptLookup, GoesOnAsTheTextDidBefore) {
  PromptLookup lookup;
  const std::vector<Token> tokens = {1, 2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4};
  EXPECT_EQ(lookup.propose(tokens, 3), (std::vector<Token>{5, 6, 7}));
  EXPECT_EQ(lookup.propose(tokens, 0), std::vector<Token>{});
}

TEST(PromptLookup, TakesTheLongestMatchNotTheNewest) {
  PromptLookup lookup;
  const std::vector<Token> tokens = {9, 1, 2, 3, 50, 8, 1, 2, 3, 60, 9, 1, 2, 3};
  EXPECT_EQ(lookup.propose(tokens, 1), std::vector<Token>{50});
}

TEST(PromptLookup, ARepetitionGoesOnRepeating) {
  PromptLookup lookup;
  const std::vector<Token> tokens = {1, 2, 1, 2, 1, 2, 1, 2};
  EXPECT_EQ(lookup.propose(tokens, 5), (std::vector<Token>{1, 2, 1, 2, 1}));
}

TEST(PromptLookup, HasNothingToSayToNewText) {
  PromptLookup lookup;
  std::vector<Token> tokens;
  for (Token token = 0; token < 100; ++token) {
    tokens.push_back(token);
    EXPECT_TRUE(lookup.propose(tokens, 4).empty());
  }
}

TEST(DraftLength, FollowsWhatWasRightAndWhatColumnsCost) {
  StepCost cheap, dear;
  for (int i = 0; i < 300; ++i) {
    const StepShape shape{1 + i % 20, 100};
    cheap.observe(shape, 0.01 + 0.0001 * shape.columns);
    dear.observe(shape, 0.0001 + 0.01 * shape.columns);
  }
  DraftLength length;
  for (int i = 0; i < 30; ++i) length.observe(8, 8);
  EXPECT_GE(length.choose({1, 100}, 100, cheap), 8);
  EXPECT_EQ(length.choose({1, 100}, 100, dear), 0);
  for (int i = 0; i < 60; ++i) length.observe(8, 0);
  int tried = 0;
  for (int i = 0; i < 1000; ++i) tried += length.choose({1, 100}, 100, cheap) > 0 ? 1 : 0;
  EXPECT_GT(tried, 0);   // it looks again now and then
  EXPECT_LT(tried, 50);  // and seldom
}

}  // namespace
}  // namespace anedvd
