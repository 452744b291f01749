#include "base/machine/processor.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace anedvd {
namespace {

#if defined(__linux__)

namespace fs = std::filesystem;

class CgroupMemory : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(root_); }
  void TearDown() override { fs::remove_all(root_); }

  void put(const std::string& name, const std::string& text) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  uint64_t left(const std::string& membership) const {
    put("membership", membership);
    return cgroup_memory((root_ / "membership").string(), root_.string());
  }

  const fs::path root_ = fs::path(testing::TempDir()) / ("cgroup-" + std::to_string(::getpid()));
};

TEST_F(CgroupMemory, WithoutALimitThereIsNone) {
  EXPECT_EQ(left(""), UINT64_MAX);
  EXPECT_EQ(left("0::/a/b\n"), UINT64_MAX);
  put("a/memory.max", "max\n");
  EXPECT_EQ(left("0::/a\n"), UINT64_MAX);
  put("memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(left("5:memory:/\n"), UINT64_MAX);
}

TEST_F(CgroupMemory, TheSmallestOfAGroupAndThoseAboveIt) {
  put("a/memory.max", "1000\n");
  put("a/memory.current", "900\n");
  put("a/b/memory.max", "600\n");
  put("a/b/memory.current", "100\n");
  EXPECT_EQ(left("0::/a/b\n"), 100u);
  EXPECT_EQ(left("0::/a/b/c\n"), 100u);  // as a container names it
  put("a/memory.stat", "anon 300\ninactive_file 400\nactive_file 150\n");
  EXPECT_EQ(left("0::/a/b\n"), 500u);  // pages of files go when memory is wanted
}

TEST_F(CgroupMemory, VersionOneToo) {
  put("memory/g/memory.limit_in_bytes", "300\n");
  put("memory/g/memory.usage_in_bytes", "250\n");
  put("memory/g/memory.stat", "cache 100\ntotal_inactive_file 60\n");
  EXPECT_EQ(left("4:cpu,cpuacct:/x\n3:memory:/g\n"), 110u);
  put("memory/g/memory.usage_in_bytes", "900\n");
  EXPECT_EQ(left("3:memory:/g\n"), 0u);
}

#endif

TEST(Processor, SomethingIsThere) {
  EXPECT_GE(usable_cores(), 1);
  EXPECT_GT(available_memory(), 0u);
}

}  // namespace
}  // namespace anedvd
