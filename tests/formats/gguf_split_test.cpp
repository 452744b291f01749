#include <optional>

#include "formats/gguf_builder.h"
#include "formats/gguf_file.h"
#include "formats/gguf_reading.h"

namespace anedvd {
namespace {

struct Part {
  std::optional<uint16_t> number, count;
  std::optional<int32_t> total = 4;
};

// A part as llama.cpp's gguf-split writes it; the first one carries the settings.
GgufBuilder part(Part keys, const std::vector<std::string>& tensors) {
  GgufBuilder file;
  if (keys.number == 0) file.text("general.architecture", "llama");
  if (keys.number) file.number<uint16_t>("split.no", *keys.number);
  if (keys.count) file.number<uint16_t>("split.count", *keys.count);
  if (keys.total) file.number<int32_t>("split.tensors.count", *keys.total);
  for (const std::string& name : tensors) file.tensor(name, {1}, 0, raw(float(name.back())));
  return file;
}

class GgufSplit : public ::testing::Test {
 protected:
  void SetUp() override {
    write(1, part({0, 3}, {"a", "b"}));
    write(2, part({1, 3}, {"c"}));
    write(3, part({2, 3}, {"d"}));
  }

  std::filesystem::path name(int number) const {
    return folder_.path() / ("m-0000" + std::to_string(number) + "-of-00003.gguf");
  }
  void write(int number, const GgufBuilder& file) const {
    folder_.write(name(number).filename().string(), file.bytes());
  }

  std::string refused(int given) const {
    const auto model = GgufFile::open(name(given));
    return model ? "was opened" : model.error().message;
  }

  TemporaryFolder folder_;
};

TEST_F(GgufSplit, AnyPartOpensTheWholeModel) {
  for (const int given : {1, 2, 3}) {
    const auto model = GgufFile::open(name(given));
    ASSERT_TRUE(model) << model.error().message;
    ASSERT_EQ((*model)->tensors().size(), 4u);
    const char* names = "abcd";
    for (size_t i = 0; i < 4; ++i) {
      const TensorView& tensor = (*model)->tensors()[i];
      EXPECT_EQ(tensor.name, std::string(1, names[i]));
      EXPECT_EQ((*model)->find(tensor.name), &tensor);
      float value = 0;
      std::memcpy(&value, tensor.bytes.data(), sizeof(value));
      EXPECT_EQ(value, float(names[i]));
    }
    EXPECT_EQ((*model)->config().string("general.architecture"), "llama");
    EXPECT_EQ((*model)->path(), name(given));
    EXPECT_EQ((*model)->shard_count(), 3);
    uint64_t bytes = 0;
    for (const int i : {1, 2, 3}) bytes += std::filesystem::file_size(name(i));
    EXPECT_EQ((*model)->file_bytes(), bytes);
  }
}

TEST_F(GgufSplit, AMissingPartIsNamed) {
  std::filesystem::remove(name(2));
  for (const int given : {1, 3}) {
    const auto model = GgufFile::open(name(given));
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().code, ErrorCode::kNotFound);
    EXPECT_EQ(model.error().message, name(2).string() + ": no such file; the model has 3 parts, fetch this one too");
  }
}

TEST_F(GgufSplit, ATensorInTwoPartsIsRefused) {
  write(3, part({2, 3}, {"a"}));
  EXPECT_EQ(refused(1), name(3).string() + ": tensor \"a\" is already in an earlier part; fetch all parts again");
}

TEST_F(GgufSplit, PartsThatDoNotBelongTogetherAreRefused) {
  write(2, part({2, 3}, {"c"}));
  EXPECT_TRUE(contains(refused(1), "00002-of-00003.gguf: named part 2 of 3, but its metadata says part 3 of 3"));
  write(2, part({1, 4}, {"c"}));
  EXPECT_TRUE(contains(refused(1), "but its metadata says part 2 of 4"));
  write(2, part({std::nullopt, std::nullopt}, {"c"}));
  EXPECT_TRUE(contains(refused(1), "but its metadata says that it is whole"));
  write(2, part({std::nullopt, 3}, {"c"}));
  EXPECT_TRUE(contains(refused(1), "\"split.no\" is missing"));
  write(2, part({3, 3}, {"c"}));
  EXPECT_TRUE(contains(refused(1), "\"split.no\" is 3, but the model has parts 0 to 2"));
  write(2, part({1, 3, 9}, {"c"}));
  EXPECT_TRUE(contains(refused(1), "split.tensors.count is 9")) << refused(1);
}

TEST_F(GgufSplit, TheTotalOfTensorsIsChecked) {
  write(2, part({1, 3}, {"c", "e"}));
  EXPECT_EQ(refused(1),
            name(1).string() + ": its 3 parts hold 5 tensors, but split.tensors.count is 4; fetch all parts again");
}

TEST_F(GgufSplit, ARenamedPartAsksForItsName) {
  const auto renamed = folder_.path() / "model.gguf";
  std::filesystem::rename(name(2), renamed);
  const auto model = GgufFile::open(renamed);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().message,
            renamed.string() +
                ": is part 2 of 3, but its name does not end in \"-00002-of-00003.gguf\", so the other "
                "parts cannot be found; give all parts their names back");
}

TEST_F(GgufSplit, ABrokenPartIsNamed) {
  const std::string whole = part({1, 3}, {"c"}).bytes();
  folder_.write(name(2).filename().string(), whole.substr(0, whole.size() - 1));
  EXPECT_TRUE(contains(refused(1), name(2).string() + ": tensor \"c\" ends at byte "));
  folder_.write(name(2).filename().string(), "<!DOCTYPE html>");
  EXPECT_TRUE(contains(refused(1), name(2).string() + ": this is a web page"));
}

TEST_F(GgufSplit, ASplitOfOneIsAWholeFile) {
  const auto file = folder_.write("one.gguf", part({0, 1, 1}, {"a"}).bytes());
  const auto model = GgufFile::open(file);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ((*model)->tensors().size(), 1u);
}

TEST_F(GgufSplit, CountsOutsideOfTheirTypeAreRefused) {
  for (const int64_t count : {int64_t(65536), int64_t(-1), int64_t(1) << 40}) {
    const auto file =
        folder_.write("m-00001-of-65536.gguf", GgufBuilder().number<int64_t>("split.count", count).bytes());
    const auto model = GgufFile::open(file);
    ASSERT_FALSE(model) << count;
    EXPECT_TRUE(contains(model.error().message, "\"split.count\" is no number of files")) << model.error().message;
  }
}

}  // namespace
}  // namespace anedvd
