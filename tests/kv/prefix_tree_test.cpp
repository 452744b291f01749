#include "kv/prefix_tree.h"

#include <map>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "kv/sequence_cache.h"

namespace anedvd {
namespace {

using Tokens = std::vector<int32_t>;

Tokens counting(int from, int count) {
  Tokens tokens(static_cast<size_t>(count));
  std::iota(tokens.begin(), tokens.end(), from);
  return tokens;
}

// Leaves `tokens` in the tree; returns the first word of each page as marked with `mark`.
void leave(PagePool& pool, PrefixTree& tree, const Tokens& tokens, uint16_t mark) {
  SequenceCache cache(pool);
  ASSERT_TRUE(cache.reserve(int(tokens.size())));
  for (uint16_t* page : cache.pages()) page[0] = mark;
  tree.insert(tokens, cache);
}

TEST(PrefixTree, FindsWholePagesAndTheBeginningOfOne) {
  PagePool pool(64, 100);
  PrefixTree tree;
  leave(pool, tree, counting(0, 40), 7);  // two whole pages and an open one with 8
  EXPECT_EQ(tree.pages(), 3);
  EXPECT_EQ(pool.pages_in_use(), 3);

  Tokens other = counting(0, 100);
  PrefixMatch match = tree.find(other);
  EXPECT_EQ(match.pages.size(), 2u);
  EXPECT_EQ(match.beginning_tokens, 8);
  EXPECT_EQ(match.tokens(), 40);

  other[20] = -1;
  match = tree.find(other);
  EXPECT_EQ(match.pages.size(), 1u);
  EXPECT_EQ(match.beginning_tokens, 4);
  EXPECT_EQ(match.beginning.words()[0], 7);
  EXPECT_EQ(tree.find(Tokens{5, 6}).tokens(), 0);
  EXPECT_EQ(tree.find(Tokens{}).tokens(), 0);
}

TEST(PrefixTree, AnOpenPageGivesWayToALongerOneAndKnownPagesStay) {
  PagePool pool(64, 100);
  PrefixTree tree;
  leave(pool, tree, counting(0, 20), 1);
  leave(pool, tree, counting(0, 50), 2);
  EXPECT_EQ(tree.pages(), 4);
  PrefixMatch match = tree.find(counting(0, 50));
  EXPECT_EQ(match.tokens(), 50);
  EXPECT_EQ(match.pages[0].words()[0], 1);  // known before
  EXPECT_EQ(match.pages[1].words()[0], 2);
  leave(pool, tree, counting(0, 10), 3);
  EXPECT_EQ(tree.pages(), 4);
  match = {};
  EXPECT_EQ(pool.pages_in_use(), 4);
}

TEST(PrefixTree, TwoThatComputedTheSamePagesKeepOneCopy) {
  PagePool pool(64, 100);
  PrefixTree tree;
  leave(pool, tree, counting(0, 32), 1);
  SequenceCache cache(pool);
  ASSERT_TRUE(cache.reserve(48));
  EXPECT_EQ(pool.pages_in_use(), 5);
  tree.insert(counting(0, 48), cache);
  EXPECT_EQ(pool.pages_in_use(), 3);
  EXPECT_EQ(cache.pages()[0][0], 1);
  EXPECT_EQ(cache.pages()[1], cache.handles()[1].words());
}

TEST(PrefixTree, EvictsWhatWasUsedLongestAgoFromItsEnd) {
  PagePool pool(64, 100);
  PrefixTree tree;
  leave(pool, tree, counting(0, 64), 1);
  leave(pool, tree, counting(1000, 64), 2);
  EXPECT_EQ(tree.evict(3), 3);
  EXPECT_EQ(tree.find(counting(0, 64)).tokens(), 16);
  EXPECT_EQ(tree.find(counting(1000, 64)).tokens(), 64);
  EXPECT_EQ(pool.pages_in_use(), 5);
}

TEST(PrefixTree, PagesInUseAreNotEvicted) {
  PagePool pool(64, 100);
  PrefixTree tree;
  leave(pool, tree, counting(0, 64), 1);
  {
    const PrefixMatch held = tree.find(counting(0, 32));
    EXPECT_EQ(tree.idle_pages(), 2);
    EXPECT_EQ(tree.evict(100), 2);
  }
  EXPECT_EQ(tree.evict(100), 2);
  EXPECT_EQ(tree.pages(), 0);
  EXPECT_EQ(pool.pages_in_use(), 0);
}

TEST(PrefixTree, AVeryLongConversationIsNoDeepRecursion) {
  PagePool pool(64, 1 << 20);
  auto tree = std::make_unique<PrefixTree>();
  leave(pool, *tree, counting(0, 16 * 200000), 1);
  EXPECT_EQ(tree->idle_pages(), 200000);
  EXPECT_EQ(tree->evict(10), 10);
  tree.reset();
  EXPECT_EQ(pool.pages_in_use(), 0);
}

// Against the plain definition: the longest common prefix with anything that was left and not evicted.
TEST(PrefixTree, FindsWhatAListOfAllConversationsWould) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    PagePool pool(64, 100000);
    PrefixTree tree;
    std::vector<Tokens> all;
    for (int i = 0; i < 30; ++i) {
      Tokens tokens;
      if (!all.empty() && random() % 3 != 0) {
        tokens = all[random() % all.size()];
        tokens.resize(random() % (tokens.size() + 1));
      }
      const size_t length = tokens.size() + 1 + random() % 50;
      while (tokens.size() < length) tokens.push_back(int32_t(random() % 3));
      size_t longest = 0;
      for (const Tokens& known : all) {
        const size_t most = std::min(known.size(), tokens.size());
        size_t common = 0;
        while (common < most && known[common] == tokens[common]) ++common;
        longest = std::max(longest, common);
      }
      ASSERT_EQ(size_t(tree.find(tokens).tokens()), longest);
      leave(pool, tree, tokens, 1);
      ASSERT_EQ(size_t(tree.find(tokens).tokens()), tokens.size());
      ASSERT_EQ(pool.pages_in_use(), tree.pages());
      all.push_back(tokens);
    }
    tree.evict(1 << 20);
    ASSERT_EQ(pool.pages_in_use(), 0);
  }
}

}  // namespace
}  // namespace anedvd
