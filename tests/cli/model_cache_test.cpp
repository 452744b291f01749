#include "cli/models/model_cache.h"

#include <fstream>
#include <map>

#include <gtest/gtest.h>
#include <unistd.h>

#include "cli/models/known_models.h"

namespace anedvd {
namespace {

Environment environment(std::map<std::string, std::string> values) {
  return [values](const char* name) {
    const auto found = values.find(name);
    return found == values.end() ? std::string() : found->second;
  };
}

std::string folder_for(std::map<std::string, std::string> values) {
  const auto cache = ModelCache::find(environment(std::move(values)));
  return cache ? cache->models().string() : cache.error().message;
}

class ModelCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / fmt::format("anedvd cache {}", getpid());
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void put(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories(folder_ / "models");
    std::ofstream(folder_ / "models" / name) << content;
  }
  std::filesystem::path folder_;
};

#if !defined(__APPLE__)
TEST_F(ModelCacheTest, IsWhereTheEnvironmentSays) {
  EXPECT_EQ(folder_for({{"ANEDVD_CACHE", "/a b"}, {"XDG_CACHE_HOME", "/x"}, {"HOME", "/h"}}), "/a b/models");
  EXPECT_EQ(folder_for({{"XDG_CACHE_HOME", "/x"}, {"HOME", "/h"}}), "/x/anedvd/models");
  EXPECT_EQ(folder_for({{"XDG_CACHE_HOME", "relative"}, {"HOME", "/h"}}), "/h/.cache/anedvd/models");
  EXPECT_EQ(folder_for({{"HOME", "/h"}}), "/h/.cache/anedvd/models");
  EXPECT_EQ(folder_for({}), "model cache: no home folder is set; set ANEDVD_CACHE to a folder for models");
}
#endif

TEST_F(ModelCacheTest, ListsModelsWithWhatIsKnownOfThem) {
  const ModelCache cache(folder_);
  EXPECT_TRUE(cache.list().empty());
  ASSERT_TRUE(cache.create());
  put("b.gguf", "12345");
  put("a.gguf", "123");
  put("c.gguf.part", "1");
  ASSERT_TRUE(cache.record({"b", cache.model_file("b"), 5, "feed", "pypi:b"}));
  put("a.json", R"({"bytes": 4, "sha256": "old", "source": "of another file"})");
  const auto models = cache.list();
  ASSERT_EQ(models.size(), 2u);
  EXPECT_EQ(models[0].name, "a");
  EXPECT_EQ(models[0].bytes, 3u);
  EXPECT_EQ(models[0].sha256 + models[0].source, "");
  EXPECT_EQ(models[1].sha256, "feed");
  EXPECT_EQ(models[1].source, "pypi:b");
}

TEST_F(ModelCacheTest, RemovesTheFileAndItsRecord) {
  const ModelCache cache(folder_);
  put("b.gguf", "12345");
  ASSERT_TRUE(cache.record({"b", cache.model_file("b"), 5, "feed", "pypi:b"}));
  const auto removed = cache.remove("b");
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(removed->bytes, 5u);
  EXPECT_TRUE(std::filesystem::is_empty(cache.models()));
}

TEST_F(ModelCacheTest, NeverLeavesItsFolder) {
  const ModelCache cache(folder_);
  put("b.gguf", "12345");
  std::ofstream(folder_ / "outside.gguf") << "precious";
  for (const char* word : {"../outside", "models/../b", "./b", ".", "..", "", "/b", "b\nc", "b\\c"}) {
    EXPECT_FALSE(cache.remove(word)) << word;
    EXPECT_FALSE(cache.get(word)) << word;
  }
  EXPECT_TRUE(std::filesystem::exists(folder_ / "outside.gguf"));
}

TEST_F(ModelCacheTest, SuggestsWhatAPersonMayHaveMeant) {
  const ModelCache cache(folder_);
  put("my-model.gguf", "1");
  EXPECT_EQ(cache.get("my-modell").error().message,
            "my-modell: no file and no known model; did you mean my-model? \"anedvd pull list\" shows all");
  EXPECT_EQ(cache.get("smolm2").error().message,
            "smolm2: no file and no known model; did you mean smollm2? \"anedvd pull list\" shows all");
  EXPECT_EQ(cache.get("qwen9").error().message,
            "qwen9: no file and no known model; known are smollm2, gemma3-270m; \"anedvd pull list\" shows all");
  EXPECT_EQ(cache.get("smollm2").error().message, "smollm2: not here; \"anedvd pull smollm2\" fetches it");
}

TEST_F(ModelCacheTest, ALackOfSpaceNamesBothFigures) {
  const ModelCache cache(folder_);
  ASSERT_TRUE(cache.create());
  EXPECT_TRUE(cache.check_space(1));
  const std::string message = cache.check_space(uint64_t(1) << 60).error().message;
  EXPECT_EQ(message.find("model cache: 1,152,922 TB needed, "), 0u) << message;
  EXPECT_NE(message.find(" free; free some, or set ANEDVD_CACHE to another disk"), std::string::npos) << message;
}

TEST(KnownModels, AreComplete) {
  for (const KnownModel& model : known_models()) {
    EXPECT_TRUE(is_model_name(model.alias) && is_model_name(model.name)) << model.name;
    EXPECT_EQ(model.sha256.size(), 64u);
    EXPECT_EQ(find_known_model(model.alias), &model);
    EXPECT_EQ(find_known_model(model.name), &model);
    EXPECT_GT(model.download_bytes(), 0u);
    for (const WheelSource& wheel : model.wheels) EXPECT_EQ(wheel.sha256.size(), 64u);
  }
  EXPECT_NE(find_known_model(kDefaultModel), nullptr);
}

TEST_F(ModelCacheTest, NamesCountInAnyCase) {
  const ModelCache cache(folder_);
  put("Big-One.gguf", "1");
  const auto found = cache.get("big-one");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->name, "Big-One");
  EXPECT_EQ(find_known_model("SmolLM2"), find_known_model("smollm2"));
  EXPECT_NE(unknown_model("SMOLLM3", cache).value().message.find("did you mean smollm2?"), std::string::npos);
  EXPECT_NE(unknown_model("big-ome", cache).value().message.find("did you mean Big-One?"), std::string::npos);
}

}  // namespace
}  // namespace anedvd
