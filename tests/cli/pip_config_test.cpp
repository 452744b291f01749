#include "cli/models/pip_config.h"

#include <fstream>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace anedvd {
namespace {

// A machine of its own: home, configuration folders and variables under one temporary folder.
class PipConfigTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(testing::TempDir()) / fmt::format("anedvd pip {}", getpid());
    std::filesystem::remove_all(root_);
    variables_ = {{"HOME", (root_ / "home").string()}, {"XDG_CONFIG_DIRS", (root_ / "xdg").string()}};
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void put(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  PipConfig read() const {
    return read_pip_config([this](const char* name) {
      const auto found = variables_.find(name);
      return found == variables_.end() ? std::string() : found->second;
    });
  }
  std::filesystem::path root_;
  std::map<std::string, std::string> variables_;
};

using Indexes = std::vector<std::string>;

TEST_F(PipConfigTest, LaterFilesAndVariablesWin) {
  // An index in this machine's own /etc/pip.conf would show in the first line only.
  put("xdg/pip/pip.conf", "[global]\nindex-url = https://one/simple/\ncert = /c.pem\n");
  if (!std::filesystem::exists("/etc/pip.conf")) {
    EXPECT_EQ(read().indexes, Indexes{"https://one/simple"});
  }
  put("home/.pip/pip.conf", "[global]\nindex-url = https://two/simple\n");
  EXPECT_EQ(read().indexes, Indexes{"https://two/simple"});
  put("home/.config/pip/pip.conf", "[global]\nindex_url: https://three/simple\n");
  EXPECT_EQ(read().indexes, Indexes{"https://three/simple"});
  put("venv/pip.conf", "[install]\nindex-url = https://four/simple\n");
  variables_["VIRTUAL_ENV"] = (root_ / "venv").string();
  EXPECT_EQ(read().indexes, Indexes{"https://four/simple"});
  put("named.conf", "[install]\nindex-url = https://five/simple\n");
  variables_["PIP_CONFIG_FILE"] = (root_ / "named.conf").string();
  EXPECT_EQ(read().indexes, Indexes{"https://five/simple"});
  variables_["PIP_INDEX_URL"] = "https://user:word@six/simple/";
  EXPECT_EQ(read().indexes, Indexes{"https://user:word@six/simple"});
}

TEST_F(PipConfigTest, DevNullMeansNoFiles) {
  put("home/.config/pip/pip.conf", "[global]\nindex-url = https://three/simple\n");
  variables_["PIP_CONFIG_FILE"] = "/dev/null";
  EXPECT_EQ(read().indexes, Indexes{"https://pypi.org/simple"});
  EXPECT_EQ(read().certificate, "");
}

TEST_F(PipConfigTest, ExtraIndexesFoldersAndValuesOfSeveralLines) {
  put("home/.config/pip/pip.conf",
      "; comment\n[global]\nextra-index-url =\n    https://a/simple\n  # not this\n    https://b/simple/\n"
      "find-links = /wheels file:///more https://not-a-folder/\n[list]\nindex-url = https://wrong\nno value here\n");
  variables_["PIP_INDEX_URL"] = "https://main/simple";
  const PipConfig config = read();
  EXPECT_EQ(config.indexes, (Indexes{"https://main/simple", "https://a/simple", "https://b/simple"}));
  EXPECT_EQ(config.folders, (std::vector<std::filesystem::path>{"/wheels", "/more"}));
}

TEST_F(PipConfigTest, NoIndexLeavesFoldersOnly) {
  variables_["PIP_NO_INDEX"] = "1";
  variables_["PIP_FIND_LINKS"] = "/wheels";
  EXPECT_TRUE(read().indexes.empty());
  EXPECT_EQ(read().folders.size(), 1u);
}

}  // namespace
}  // namespace anedvd
