#include "kv/prefix_store.h"

#include <fstream>
#include <numeric>

#include <gtest/gtest.h>
#include <unistd.h>

#include "device/kv_view.h"

namespace anedvd {
namespace {

namespace fs = std::filesystem;
constexpr int64_t kPageBytes = 4096;

class PrefixStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("anedvd prefixes " + std::to_string(::getpid()));
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::unique_ptr<PrefixStore> open(uint64_t limit = 1 << 20, std::string_view identity = "model") {
    auto store = PrefixStore::open(folder_, limit, identity, kPageBytes);
    EXPECT_TRUE(store) << (store ? "" : store.error().message);
    return std::move(*store);
  }

  static std::vector<int32_t> tokens_from(int first) {
    std::vector<int32_t> tokens(kPageTokens);
    std::iota(tokens.begin(), tokens.end(), first);
    return tokens;
  }

  PageHandle page_of(uint16_t mark) {
    PageHandle page = *pool_.take();
    std::fill_n(page.words(), kPageBytes / 2, mark);
    return page;
  }

  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder_))
      if (entry.is_regular_file()) found.push_back(entry.path());
    return found;
  }

  fs::path folder_;
  PagePool pool_{kPageBytes, 1000};
  std::vector<uint16_t> words_ = std::vector<uint16_t>(kPageBytes / 2);
};

TEST_F(PrefixStoreTest, APageOutlivesItsProcess) {
  PrefixStore::Key key;
  {
    const auto store = open();
    key = PrefixStore::next(store->root(), tokens_from(0));
    EXPECT_FALSE(store->load(key, tokens_from(0), words_.data()));
    EXPECT_TRUE(store->keep(key, tokens_from(0), page_of(7)));
    store->collect(true);
    EXPECT_EQ(pool_.pages_in_use(), 0);
  }
  const auto store = open();
  EXPECT_EQ(store->bytes(), uint64_t(kPageBytes) + 96);
  EXPECT_TRUE(store->load(key, tokens_from(0), words_.data()));
  EXPECT_EQ(words_[0], 7);
  EXPECT_EQ(words_.back(), 7);
  EXPECT_FALSE(store->load(PrefixStore::next(key, tokens_from(16)), tokens_from(16), words_.data()));
}

TEST_F(PrefixStoreTest, AnotherModelOrAnotherBeginningFindsNothing) {
  const auto store = open();
  const auto key = PrefixStore::next(store->root(), tokens_from(0));
  ASSERT_TRUE(store->keep(key, tokens_from(0), page_of(7)));
  store->collect(true);
  const auto other = open(1 << 20, "another model");
  EXPECT_NE(PrefixStore::next(other->root(), tokens_from(0)), key);
  EXPECT_NE(PrefixStore::next(PrefixStore::next(store->root(), tokens_from(5)), tokens_from(0)), key);
}

TEST_F(PrefixStoreTest, WhatIsDamagedIsNotFoundAndRemoved) {
  const auto store = open();
  const auto key = PrefixStore::next(store->root(), tokens_from(0));
  for (const int fault : {0, 50, 97, 96 + int(kPageBytes) - 1, -1, -2}) {
    ASSERT_TRUE(store->keep(key, tokens_from(0), page_of(7)));
    store->collect(true);
    ASSERT_EQ(files().size(), 1u);
    const fs::path file = files().front();
    if (fault == -1) {
      fs::resize_file(file, 1000);
    } else if (fault == -2) {
      std::ofstream(file, std::ios::app) << "more";
    } else {
      std::fstream edit(file, std::ios::in | std::ios::out | std::ios::binary);
      edit.seekp(fault);
      edit.put('!');
    }
    EXPECT_FALSE(store->load(key, tokens_from(0), words_.data())) << fault;
    EXPECT_TRUE(files().empty());
    EXPECT_EQ(store->bytes(), 0u);
  }
}

TEST_F(PrefixStoreTest, TheLeastRecentlyUsedGo) {
  const uint64_t each = uint64_t(kPageBytes) + 96;
  const auto store = open(3 * each);
  std::vector<PrefixStore::Key> keys;
  for (int i = 0; i < 4; ++i) {
    keys.push_back(PrefixStore::next(store->root(), tokens_from(i)));
    ASSERT_TRUE(store->keep(keys.back(), tokens_from(i), page_of(uint16_t(i))));
    store->collect(true);
    if (i == 2) {
      EXPECT_TRUE(store->load(keys[0], tokens_from(0), words_.data()));
    }
  }
  EXPECT_EQ(store->bytes(), 3 * each);
  EXPECT_EQ(files().size(), 3u);
  EXPECT_TRUE(store->load(keys[0], tokens_from(0), words_.data()));
  EXPECT_FALSE(store->load(keys[1], tokens_from(1), words_.data()));
}

TEST_F(PrefixStoreTest, OnlyTheOwnerCanLookInside) {
  const auto store = open();
  EXPECT_EQ(fs::status(folder_).permissions() & (fs::perms::group_all | fs::perms::others_all), fs::perms::none);
}

TEST_F(PrefixStoreTest, AFolderThatCannotBeMadeIsAnError) {
  std::ofstream(folder_.string()) << "a file";
  const auto store = PrefixStore::open(folder_ / "below", 1 << 20, "model", kPageBytes);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace anedvd
