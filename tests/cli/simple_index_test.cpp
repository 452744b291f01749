#include "cli/models/simple_index.h"

#include <gtest/gtest.h>

#include "cli/models/hub.h"

namespace anedvd {
namespace {

const std::string kDigest(64, 'a');

TEST(SimpleIndex, ReadsHtml) {
  const auto files = parse_simple_index(
      "<!DOCTYPE html><html><head><meta name=\"x\" content=\"a > b\"></head><body>\n"
      "<!-- <a href=\"gone.whl\"> -->"
      "<A class=x HREF='../../files/m-1.0-py3-none-any.whl#sha256=" +
          kDigest +
          "' data-requires-python=\"&gt;=3\">m</A>\n"
          "<a data-yanked=\"bad\" href=\"/abs/m-2.0-py3-none-any.whl?a=1&amp;b=2\">x</a>"
          "<a href=https://other/m%2D3.whl#md5=1>y</a><a name=here></a><a",
      "https://u:p@host:8/simple/m/");
  ASSERT_TRUE(files);
  ASSERT_EQ(files->size(), 3u);
  EXPECT_EQ((*files)[0].url, "https://u:p@host:8/files/m-1.0-py3-none-any.whl");
  EXPECT_EQ((*files)[0].name, "m-1.0-py3-none-any.whl");
  EXPECT_EQ((*files)[0].sha256, kDigest);
  EXPECT_FALSE((*files)[0].is_yanked);
  EXPECT_EQ((*files)[1].url, "https://u:p@host:8/abs/m-2.0-py3-none-any.whl?a=1&b=2");
  EXPECT_TRUE((*files)[1].is_yanked);
  EXPECT_EQ((*files)[2].name, "m-3.whl");
  EXPECT_EQ((*files)[2].sha256, "");
}

TEST(SimpleIndex, ReadsJson) {
  const auto files = parse_simple_index(
      R"({"files": [{"filename": "m-1.whl", "url": "m-1.whl", "size": 7, "hashes": {"sha256": ")" + kDigest +
          R"("}, "yanked": false}, {"filename": "m-2.whl", "url": "x/m-2.whl", "hashes": {}, "yanked": "why"}, {}, 3]})",
      "https://h/simple/m/");
  ASSERT_TRUE(files);
  ASSERT_EQ(files->size(), 2u);
  EXPECT_EQ((*files)[0].url, "https://h/simple/m/m-1.whl");
  EXPECT_EQ((*files)[0].bytes, 7u);
  EXPECT_EQ((*files)[0].sha256, kDigest);
  EXPECT_TRUE((*files)[1].is_yanked);
  EXPECT_FALSE(parse_simple_index("{\"files\": [", "https://h/"));
}

TEST(SimpleIndex, ResolvesLinksAsRfc3986Does) {  // §5.4.1, the cases without queries
  for (const auto& [link, want] : std::vector<std::pair<std::string, std::string>>{{"g", "http://a/b/c/g"},
                                                                                   {"./g", "http://a/b/c/g"},
                                                                                   {"g/", "http://a/b/c/g/"},
                                                                                   {"/g", "http://a/g"},
                                                                                   {"//g", "http://g"},
                                                                                   {"..", "http://a/b/"},
                                                                                   {"../g", "http://a/b/g"},
                                                                                   {"../..", "http://a/"},
                                                                                   {"../../g", "http://a/g"},
                                                                                   {"../../../g", "http://a/g"},
                                                                                   {".", "http://a/b/c/"},
                                                                                   {"http://x/y", "http://x/y"}}) {
    EXPECT_EQ(absolute_url("http://a/b/c/d;p?q", link), want) << link;
  }
  EXPECT_EQ(absolute_url("http://a", "g"), "http://a/g");
}

TEST(SimpleIndex, TakesTheNewestFinalWheelThatRunsAnywhere) {
  const auto file = [](const char* name, bool yanked = false) { return IndexFile{name, "u", "", 0, yanked}; };
  const std::vector<IndexFile> files = {file("m-0.9-py3-none-any.whl"),       file("m-0.10-py3-none-any.whl"),
                                        file("m-0.11rc1-py3-none-any.whl"),   file("m-0.12-py3-none-any.whl", true),
                                        file("m-0.13-cp311-cp311-linux.whl"), file("m-1.0.tar.gz")};
  const IndexFile* newest = newest_wheel(files);
  ASSERT_NE(newest, nullptr);
  EXPECT_EQ(newest->name, "m-0.10-py3-none-any.whl");
  EXPECT_EQ(newest_wheel({}), nullptr);
}

TEST(HubTree, ListsGgufFilesAndChoosesOne) {
  const auto files = parse_hub_tree(R"([{"type":"file","path":"README.md","size":1},
    {"type":"file","path":"m-Q8_0.gguf","size":9,"lfs":{"oid":")" +
                                    kDigest + R"(","size":9}},
    {"type":"file","path":"sub/m-Q4_K_M.gguf","size":5}, {"path":"m-Q4_0-00001-of-00002.gguf"}, 7])");
  ASSERT_TRUE(files);
  ASSERT_EQ(files->size(), 3u);
  EXPECT_EQ((*files)[0].sha256, kDigest);
  EXPECT_EQ(choose_hub_file(*files, "")->path, "sub/m-Q4_K_M.gguf");
  EXPECT_EQ(choose_hub_file(*files, "m-Q4_K_M.gguf")->path, "sub/m-Q4_K_M.gguf");
  EXPECT_EQ(choose_hub_file(*files, "m-Q8_0.gguf")->bytes, 9u);
  EXPECT_EQ(choose_hub_file(*files, "x.gguf").error().message,
            "has no x.gguf; it has m-Q8_0.gguf m-Q4_K_M.gguf m-Q4_0-00001-of-00002.gguf");
  EXPECT_EQ(choose_hub_file(*files, "m-Q4_0-00001-of-00002.gguf").error().code, ErrorCode::kUnsupported);
  EXPECT_FALSE(choose_hub_file({}, ""));
  EXPECT_FALSE(parse_hub_tree("{}"));
  EXPECT_EQ(model_name_of("a/SmolLM2-135M-Instruct.Q4_1.gguf"), "smollm2-135m-instruct.q4_1");
}

}  // namespace
}  // namespace anedvd
