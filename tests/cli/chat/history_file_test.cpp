#include "cli/chat/history_file.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <thread>

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace anedvd {
namespace {

namespace fs = std::filesystem;

class HistoryFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "history-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path path() const { return folder_ / "anedvd" / "chat_history"; }
  std::string bytes() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void put(const std::string& text) const {
    fs::create_directories(path().parent_path());
    std::ofstream(path(), std::ios::binary) << text;
  }
  static unsigned mode(const fs::path& path) {
    struct stat status = {};
    stat(path.c_str(), &status);
    return status.st_mode & 0777;
  }

  fs::path folder_;
};

TEST_F(HistoryFileTest, KeepsEntriesOfManyLinesForTheOwnerOnly) {
  HistoryFile file(path());
  ASSERT_TRUE(file.append("one"));
  ASSERT_TRUE(file.append("two\nlines \"quoted\" \xe6\x97\xa5"));
  EXPECT_EQ(bytes(), "\"one\"\n\"two\\nlines \\\"quoted\\\" \xe6\x97\xa5\"\n");
  EXPECT_EQ(*HistoryFile(path()).load(), (std::vector<std::string>{"one", "two\nlines \"quoted\" \xe6\x97\xa5"}));
  EXPECT_EQ(mode(path()), 0600u);
  EXPECT_EQ(mode(path().parent_path()), 0700u);
}

TEST_F(HistoryFileTest, TakesRightsAwayFromAFileThatHadMore) {
  put("\"a\"\n");
  chmod(path().c_str(), 0644);
  ASSERT_TRUE(HistoryFile(path()).load());
  EXPECT_EQ(mode(path()), 0600u);
}

TEST_F(HistoryFileTest, LeavesOutWhatIsNotToBeKept) {
  HistoryFile file(path());
  for (const std::string& entry : {std::string(" secret"), std::string(), std::string(kMaxHistoryEntry + 1, 'x')})
    ASSERT_TRUE(file.append(entry));
  EXPECT_EQ(bytes(), "");
}

TEST_F(HistoryFileTest, FoldsDuplicatesSkipsDamageAndKeepsTheNewest) {
  std::string text = "not json\n\"a\"\n[1]\n\"b\"\n\"a\"\n";
  for (size_t i = 0; i < kMaxHistory - 1; ++i) text += "\"" + std::to_string(i) + "\"\n";
  put(text + "\"cut");
  const auto entries = *HistoryFile(path()).load();
  ASSERT_EQ(entries.size(), kMaxHistory);
  EXPECT_EQ(entries.front(), "a");
  EXPECT_EQ(entries[1], "0");
  const std::string ordered = bytes();
  EXPECT_EQ(std::count(ordered.begin(), ordered.end(), '\n'), std::ptrdiff_t(kMaxHistory))
      << "the file is put into order";
}

TEST_F(HistoryFileTest, AppendsBehindALineThatWasCut) {
  put("\"a\"\n\"cut");
  ASSERT_TRUE(HistoryFile(path()).append("b"));
  EXPECT_EQ(*HistoryFile(path()).load(), (std::vector<std::string>{"a", "b"}));
}

TEST_F(HistoryFileTest, ChatsAtOnceDoNotEraseEachOther) {
  constexpr int kEach = 40;
  std::vector<std::thread> chats;
  for (int chat = 0; chat < 4; ++chat)
    chats.emplace_back([&, chat] {
      HistoryFile file(path());
      for (int i = 0; i < kEach; ++i) {
        EXPECT_TRUE(file.append(std::to_string(chat) + "." + std::to_string(i)));
        EXPECT_TRUE(i % 10 != 0 || file.load());
      }
    });
  for (auto& chat : chats) chat.join();
  EXPECT_EQ(HistoryFile(path()).load()->size(), size_t(4 * kEach));
}

TEST_F(HistoryFileTest, ALinkStaysALink) {
  fs::create_directories(path().parent_path());
  std::ofstream(folder_ / "real") << "\"a\"\n\"a\"\n";
  fs::create_symlink(folder_ / "real", path());
  ASSERT_TRUE(HistoryFile(path()).load());
  EXPECT_TRUE(fs::is_symlink(path()));
  EXPECT_EQ(bytes(), "\"a\"\n");
}

TEST_F(HistoryFileTest, WhatIsNoFileIsLeftAlone) {
  EXPECT_FALSE(HistoryFile("/dev/null").append("a"));
  EXPECT_FALSE(HistoryFile(folder_).append("a"));
}

TEST(HistoryPath, IsTheStateFolder) {
  std::map<std::string, std::string> variables = {{"HOME", "/h"}};
  const Environment environment = [&](const char* name) { return variables[name]; };
#ifdef __APPLE__
  EXPECT_EQ(history_path(environment), "/h/Library/Application Support/anedvd/chat_history");
#else
  EXPECT_EQ(history_path(environment), "/h/.local/state/anedvd/chat_history");
  variables["XDG_STATE_HOME"] = "/state";
  EXPECT_EQ(history_path(environment), "/state/anedvd/chat_history");
  variables["XDG_STATE_HOME"] = "relative";
  EXPECT_EQ(history_path(environment), "/h/.local/state/anedvd/chat_history");
  variables.clear();
  EXPECT_EQ(history_path(environment), "");
#endif
}

}  // namespace
}  // namespace anedvd
