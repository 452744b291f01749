#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace anedvd {
namespace {

TEST(MappedFile, RefusalsSayWhatToDo) {
  const auto folder = std::filesystem::path(testing::TempDir()) / fmt::format("mapped {}", getpid());
  std::filesystem::create_directories(folder);
  const std::string loop = (folder / "loop").string();
  std::filesystem::create_symlink("loop", loop);
  const auto refusal = [](const std::filesystem::path& path) { return MappedFile::open(path).error().message; };
  EXPECT_EQ(refusal(loop).rfind(loop + ": cannot be opened (", 0), 0u) << refusal(loop);
  EXPECT_TRUE(refusal(loop).ends_with("); look at the file")) << refusal(loop);
  EXPECT_EQ(refusal(folder), folder.string() + ": not a regular file; give a file");
  EXPECT_EQ(refusal(folder / "x"), (folder / "x").string() + ": no such file; check the path");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace anedvd
