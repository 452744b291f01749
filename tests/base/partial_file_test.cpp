#include "base/partial_file.h"

#include <cstring>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <unistd.h>

namespace anedvd {
namespace {

namespace fs = std::filesystem;

class PartialFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("partial-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    target_ = folder_ / "model.gguf";
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::span<const std::byte> bytes(const char* text) {
    return std::as_bytes(std::span(text, std::strlen(text)));
  }
  std::string content() const {
    std::ifstream file(target_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path folder_, target_;
};

TEST_F(PartialFileTest, TheTargetIsThereWholeOrNotAtAll) {
  {
    auto file = PartialFile::create(target_);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write(bytes("half")));
    EXPECT_FALSE(fs::exists(target_));
  }
  EXPECT_TRUE(fs::is_empty(folder_));
  auto file = PartialFile::create(target_);
  ASSERT_TRUE(file && file->write(bytes("whole")) && file->publish());
  EXPECT_EQ(content(), "whole");
}

// Two that write one file would mix their bytes, and both report success.
TEST_F(PartialFileTest, OnlyOneWritesATargetAtATime) {
  auto first = PartialFile::create(target_);
  ASSERT_TRUE(first && first->write(bytes("first")));
  const auto second = PartialFile::create(target_);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("another process is writing it"), std::string::npos) << second.error().message;
  ASSERT_TRUE(first->publish());
  EXPECT_EQ(content(), "first");
  auto third = PartialFile::create(target_);
  ASSERT_TRUE(third && third->write(bytes("3")) && third->publish());
  EXPECT_EQ(content(), "3");
}

TEST_F(PartialFileTest, WhatAKilledProcessLeftIsWrittenAnew) {
  std::ofstream(target_.string() + ".partial") << "much longer than what comes now";
  auto file = PartialFile::create(target_);
  ASSERT_TRUE(file && file->write(bytes("new")) && file->publish());
  EXPECT_EQ(content(), "new");
}

}  // namespace
}  // namespace anedvd
