// What GgufWriter writes, read back by our reader (which other tests hold against the Python package `gguf`).
#include "formats/gguf_writer.h"

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "formats/gguf_contents.h"
#include "formats/gguf_file.h"

namespace anedvd {
namespace {

namespace fs = std::filesystem;

class GgufWriting : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / fmt::format("anedvd-writer-{}", std::random_device{}());
    fs::create_directories(folder_);
    file_ = folder_ / "out.gguf";
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string content() const {
    std::ifstream stream(file_, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  size_t files_in_folder() const {
    return size_t(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_, file_;
};

std::vector<std::byte> random_bytes(size_t count, std::mt19937& random) {
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = std::byte(random());
  return bytes;
}

TEST_F(GgufWriting, EveryTypeOfSettingReadsBack) {
  GgufPairs pairs;
  pairs.text("text", "ä\0b");
  pairs.number<uint8_t>("u8", 200);
  pairs.number<int8_t>("i8", -100);
  pairs.number<uint16_t>("u16", 60000);
  pairs.number<int16_t>("i16", -30000);
  pairs.number<uint32_t>("u32", 4000000000u);
  pairs.number<int32_t>("i32", -2000000000);
  pairs.number<uint64_t>("u64", uint64_t(1) << 60);
  pairs.number<int64_t>("i64", -(int64_t(1) << 60));
  pairs.number<float>("f32", 1.5f);
  pairs.number<double>("f64", 0.1);
  pairs.number<bool>("yes", true);
  pairs.texts("texts", std::vector<std::string>{"a", "", "long enough to be no small string"});
  pairs.numbers<int32_t>("numbers", std::vector<int32_t>{-1, 0, 7});
  pairs.flags("flags", std::vector<uint8_t>{1, 0, 1});
  auto writer = GgufWriter::create(file_, pairs, {});
  ASSERT_TRUE(writer) << writer.error().message;
  ASSERT_TRUE(writer->finish());
  const auto file = GgufFile::open(file_);
  ASSERT_TRUE(file) << file.error().message;
  const ConfigView& config = (*file)->config();
  EXPECT_EQ((*file)->version(), 3u);
  EXPECT_EQ(config.string("text"), "ä\0b");
  EXPECT_EQ(config.integer("u8"), 200);
  EXPECT_EQ(config.integer("i8"), -100);
  EXPECT_EQ(config.integer("u16"), 60000);
  EXPECT_EQ(config.integer("i16"), -30000);
  EXPECT_EQ(config.integer("u32"), 4000000000);
  EXPECT_EQ(config.integer("i32"), -2000000000);
  EXPECT_EQ(config.integer("u64"), int64_t(1) << 60);
  EXPECT_EQ(config.integer("i64"), -(int64_t(1) << 60));
  EXPECT_EQ(config.number("f32"), 1.5);
  EXPECT_EQ(config.number("f64"), 0.1);
  EXPECT_EQ(config.boolean("yes"), true);
  EXPECT_EQ(*config.strings("texts"), (std::vector<std::string_view>{"a", "", "long enough to be no small string"}));
  EXPECT_EQ(*config.integers("numbers"), (std::vector<int64_t>{-1, 0, 7}));
  EXPECT_EQ(*config.integers("flags"), (std::vector<int64_t>{1, 0, 1}));
  EXPECT_EQ((*file)->metadata().size(), pairs.count());
}

// Settings copied from what was read make the same bytes, arrays of arrays included.
TEST_F(GgufWriting, CopiesOfSettingsAreTheSameBytes) {
  std::string raw;
  const auto put = [&](const auto value) { raw.append(reinterpret_cast<const char*>(&value), sizeof value); };
  const auto put_text = [&](std::string_view text) {
    put(uint64_t(text.size()));
    raw += text;
  };
  put_text("nested");
  put(uint32_t(9)), put(uint32_t(9)), put(uint64_t(2));             // an array of two arrays:
  put(uint32_t(4)), put(uint64_t(1)), put(uint32_t(7));             // one u32
  put(uint32_t(8)), put(uint64_t(2)), put_text("x"), put_text("");  // two texts
  put_text("name");
  put(uint32_t(8)), put_text("value");
  put_text("number");
  put(uint32_t(6)), put(0.25f);
  GgufCursor cursor(std::as_bytes(std::span(raw)));
  const auto metadata = GgufMetadata::read(cursor, 3, "here");
  ASSERT_TRUE(metadata) << metadata.error().message;
  GgufPairs pairs;
  for (const GgufMetadata::Entry& entry : metadata->entries()) pairs.copy(entry);
  EXPECT_EQ(pairs.bytes(), raw);
  EXPECT_EQ(pairs.count(), 3u);
}

TEST_F(GgufWriting, RandomFilesReadBack) {
  std::mt19937 random(5);
  constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kQ8_0, DType::kQ4_K, DType::kQ5_1, DType::kI8};
  for (int round = 0; round < 100; ++round) {
    GgufPairs pairs;
    for (auto i = random() % 5; i > 0; --i)
      pairs.text(fmt::format("key.{}", i), std::string(random() % 40, char('a' + i)));
    std::vector<GgufTensor> tensors;
    std::vector<std::vector<std::byte>> data;
    for (auto i = random() % 6; i > 0; --i) {
      GgufTensor tensor{fmt::format("t{}", i), kTypes[random() % std::size(kTypes)], {}};
      const QuantFormat& format = format_of(tensor.dtype);
      for (auto d = random() % 3; d > 0; --d) tensor.shape.push_back(1 + random() % 5);
      tensor.shape.push_back(format.block_elements * int64_t(1 + random() % 3));
      int64_t blocks = 1;
      for (const int64_t n : tensor.shape) blocks *= n;
      blocks /= format.block_elements;
      data.push_back(random_bytes(size_t(blocks * format.block_bytes), random));
      tensors.push_back(std::move(tensor));
    }
    auto writer = GgufWriter::create(file_, pairs, tensors);
    ASSERT_TRUE(writer) << writer.error().message;
    for (const auto& bytes : data) {
      const size_t cut = random() % (bytes.size() + 1);  // handed over in pieces
      ASSERT_TRUE(writer->append(std::span(bytes).first(cut)));
      if (cut < bytes.size()) {
        ASSERT_TRUE(writer->append(std::span(bytes).subspan(cut)));
      }
    }
    const auto size = writer->finish();
    ASSERT_TRUE(size);
    const std::string file = content();
    EXPECT_EQ(file.size(), *size);
    const auto contents = read_gguf(std::as_bytes(std::span(file)), "here");
    ASSERT_TRUE(contents) << contents.error().message;
    EXPECT_EQ(contents->metadata.size(), pairs.count());
    ASSERT_EQ(contents->tensors.size(), tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      const TensorView& view = contents->tensors[i];
      EXPECT_EQ(view.name, tensors[i].name);
      EXPECT_EQ(view.dtype, tensors[i].dtype);
      EXPECT_EQ(view.shape, tensors[i].shape);
      EXPECT_TRUE(std::ranges::equal(view.bytes, data[i]));
      EXPECT_EQ((view.bytes.data() - std::as_bytes(std::span(file)).data()) % 32, 0);
    }
  }
}

TEST_F(GgufWriting, TheNameAppearsOnlyWhenTheFileIsWhole) {
  const std::vector<GgufTensor> tensors = {{"w", DType::kF32, {4}}};
  {
    auto writer = GgufWriter::create(file_, {}, tensors);
    ASSERT_TRUE(writer);
    EXPECT_FALSE(fs::exists(file_));
    EXPECT_EQ(files_in_folder(), 1u);
  }
  EXPECT_EQ(files_in_folder(), 0u);
  auto writer = GgufWriter::create(file_, {}, tensors);
  ASSERT_TRUE(writer->append(std::vector<std::byte>(16)));
  ASSERT_TRUE(writer->finish());
  EXPECT_EQ(files_in_folder(), 1u);
  EXPECT_TRUE(fs::exists(file_));
}

TEST_F(GgufWriting, AFullDiskIsOneLineAndLeavesNothing) {
  const std::vector<GgufTensor> tensors = {{"w", DType::kF32, {1 << 16}}};
  auto writer = GgufWriter::create(file_, {}, tensors);
  ASSERT_TRUE(writer);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{1 << 14, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const auto result = writer->append(std::vector<std::byte>(4 << 16));
  setrlimit(RLIMIT_FSIZE, &before);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kIo);
  EXPECT_EQ(result.error().message, file_.string() + ": File too large; free some space or choose another place");
  { const GgufWriter dropped = std::move(*writer); }
  EXPECT_EQ(files_in_folder(), 0u);
}

TEST_F(GgufWriting, RefusesTargetsThatAreNoFilesAndDisksThatAreTooSmall) {
  const auto folder = GgufWriter::create(folder_, {}, {});
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, ErrorCode::kUsage);
  EXPECT_FALSE(GgufWriter::create("/dev/null", {}, {}));
  const auto nowhere = GgufWriter::create(folder_ / "missing" / "x.gguf", {}, {});
  ASSERT_FALSE(nowhere);
  EXPECT_NE(nowhere.error().message.find("No such file or directory"), std::string::npos);
  const auto huge = GgufWriter::create(file_, {}, {{"w", DType::kF32, {int64_t(1) << 45}}});
  ASSERT_FALSE(huge);
  EXPECT_NE(huge.error().message.find("the disk has"), std::string::npos) << huge.error().message;
  EXPECT_FALSE(GgufWriter::create(file_, {}, {{"w", DType::kF32, {int64_t(1) << 40, int64_t(1) << 40}}}));
  EXPECT_EQ(files_in_folder(), 0u);
}

}  // namespace
}  // namespace anedvd
