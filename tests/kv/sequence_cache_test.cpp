#include "kv/sequence_cache.h"

#include <set>

#include <gtest/gtest.h>

#include "device/kv_view.h"

namespace anedvd {
namespace {

TEST(SequenceCache, TakesPagesByNeedAndGivesThemBack) {
  PagePool pool(1024, 100);
  {
    SequenceCache cache(pool);
    ASSERT_TRUE(cache.reserve(1));
    EXPECT_EQ(cache.pages().size(), 1u);
    ASSERT_TRUE(cache.reserve(16));
    EXPECT_EQ(cache.pages().size(), 1u);
    ASSERT_TRUE(cache.reserve(17));
    EXPECT_EQ(cache.pages().size(), 2u);
    ASSERT_TRUE(cache.reserve(500));
    EXPECT_EQ(pool.pages_in_use(), 32);
    cache.truncate(33);
    EXPECT_EQ(pool.pages_in_use(), 3);
    EXPECT_EQ(std::set<uint16_t*>(cache.pages().begin(), cache.pages().end()).size(), 3u);
  }
  EXPECT_EQ(pool.pages_in_use(), 0);
}

TEST(SequenceCache, AFullPoolIsAnErrorAndNothingIsLost) {
  PagePool pool(1024, 4);
  SequenceCache cache(pool);
  ASSERT_TRUE(cache.reserve(64));
  const auto refused = cache.reserve(65);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNoMemory);
  EXPECT_EQ(cache.pages().size(), 4u);
}

TEST(KvLayout, HeadsFollowEachOtherAndRowsAreWholeVectors) {
  const CacheLayer layers[] = {{3, 64}, {2, 20}};
  const KvLayout layout(layers);
  EXPECT_EQ(layout.head_offset(0, 0), 0);
  EXPECT_EQ(layout.head_offset(0, 1), 2 * 16 * 64);
  EXPECT_EQ(layout.head_offset(1, 0), 3 * 2 * 16 * 64);
  EXPECT_EQ(layout.head_offset(1, 1), 3 * 2 * 16 * 64 + 2 * 16 * 32);
  EXPECT_EQ(layout.page_bytes(), (3 * 2 * 16 * 64 + 2 * 2 * 16 * 32) * 2);
}

}  // namespace
}  // namespace anedvd
