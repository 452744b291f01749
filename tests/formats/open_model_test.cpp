#include <fstream>
#include <sstream>

#include <sys/stat.h>

#include "formats/gguf_builder.h"
#include "formats/gguf_reading.h"
#include "formats/tensor_source.h"

namespace anedvd {
namespace {

const std::filesystem::path kData = ANEDVD_TEST_DATA;

Error refused(const std::filesystem::path& path) {
  auto model = open_model(path);
  if (!model) return model.error();
  ADD_FAILURE() << path << " was opened";
  return {};
}

// As zlib counts it (polynomial 0xedb88320), bit by bit.
uint32_t crc32(std::span<const std::byte> bytes) {
  uint32_t crc = ~0u;
  for (const std::byte byte : bytes) {
    crc ^= uint32_t(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

class TinyModel : public ::testing::TestWithParam<const char*> {};

// The listing comes from the script that wrote the file with the gguf package.
TEST_P(TinyModel, TensorsAreThoseThatTheGgufPackageWrote) {
  const std::string name = GetParam();
  const auto model = open_model(kData / (name + ".gguf"));
  ASSERT_TRUE(model) << model.error().message;
  std::ifstream listing(kData / (name + ".tensors.txt"));
  size_t count = 0;
  for (std::string line; std::getline(listing, line); ++count) {
    std::istringstream words(line);
    std::string tensor_name, type, crc;
    words >> tensor_name >> type >> crc;
    Shape shape;
    for (int64_t dimension; words >> dimension;) shape.push_back(dimension);
    const TensorView* tensor = (*model)->find(tensor_name);
    ASSERT_NE(tensor, nullptr) << tensor_name;
    EXPECT_EQ(format_of(tensor->dtype).name, type) << tensor_name;
    EXPECT_EQ(tensor->shape, shape) << tensor_name;
    EXPECT_EQ(fmt::format("{:08x}", crc32(tensor->bytes)), crc) << tensor_name;
  }
  EXPECT_GT(count, 10u);
  EXPECT_EQ((*model)->tensors().size(), count);
  EXPECT_EQ((*model)->kind(), SourceKind::kGguf);
  EXPECT_EQ((*model)->file_bytes(), std::filesystem::file_size(kData / (name + ".gguf")));
}

TEST_P(TinyModel, SettingsAreThoseThatTheGgufPackageWrote) {
  const auto model = open_model(kData / (std::string(GetParam()) + ".gguf"));
  ASSERT_TRUE(model) << model.error().message;
  const ConfigView& config = (*model)->config();
  EXPECT_EQ(config.string("general.architecture"), "llama");
  EXPECT_EQ(config.number("llama.rope.freq_base"), 100000.0);
  EXPECT_EQ(config.integer("llama.rope.freq_base"), 100000);
  EXPECT_EQ(config.number("llama.attention.layer_norm_rms_epsilon"), double(1e-5f));
  EXPECT_EQ(config.boolean("tokenizer.ggml.add_bos_token"), false);
  EXPECT_EQ(config.array_size("tokenizer.ggml.tokens"), 413);
  EXPECT_EQ(config.strings("tokenizer.ggml.tokens")->at(1), "<|im_start|>");
  EXPECT_EQ(config.integers("tokenizer.ggml.token_type")->at(2), 3);
  EXPECT_EQ(config.array_size("tokenizer.ggml.merges"), 413 - 3 - 256);
}

INSTANTIATE_TEST_SUITE_P(Files, TinyModel, ::testing::Values("tiny-llama-q4_1", "tiny-llama-f32", "tiny-llama-untied"));

TEST(OpenModel, ATiedHeadIsTheAbsenceOfItsTensor) {
  EXPECT_EQ((*open_model(kData / "tiny-llama-q4_1.gguf"))->find("output.weight"), nullptr);
  const auto untied = open_model(kData / "tiny-llama-untied.gguf");
  ASSERT_NE((*untied)->find("output.weight"), nullptr);
  EXPECT_NE((*untied)->find("output.weight")->bytes.data(), (*untied)->find("token_embd.weight")->bytes.data());
}

TEST(OpenModel, AMissingFileListsWhatIsThere) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "x.gguf";
  const std::string where = path.string();
  EXPECT_EQ(refused(path).message, where + ": no such file, nor any other .gguf in its folder; check the path");
  EXPECT_EQ(refused(path).code, ErrorCode::kNotFound);
  folder.write("z.gguf", "1");
  folder.write("notes.txt", "1");
  EXPECT_EQ(refused(path).message, where + ": no such file; this folder has z.gguf");
  folder.write("y.gguf", "1");
  EXPECT_EQ(refused(path).message, where + ": no such file; this folder has y.gguf and z.gguf");
  folder.write("a.gguf", "1");
  EXPECT_EQ(refused(path).message, where + ": no such file; this folder has a.gguf, y.gguf and z.gguf");
  folder.write("b\n.gguf", "1");
  EXPECT_EQ(refused(path).message, where + ": no such file; this folder has a.gguf, b\\n.gguf, y.gguf and 1 more");
}

TEST(OpenModel, OnlyFilesAreOffered) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "folder.gguf");
  std::filesystem::create_symlink("nowhere", folder.path() / "link.gguf");
  folder.write("y.gguf", "1");
  const auto path = folder.path() / "x.gguf";
  EXPECT_EQ(refused(path).message, path.string() + ": no such file; this folder has y.gguf");
}

TEST(OpenModel, AMissingFolderIsSaid) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "models" / "x.gguf";
  EXPECT_EQ(refused(path).message,
            path.string() + ": no such file, and no folder " + path.parent_path().string() + "; check the path");
}

TEST(OpenModel, FoldersAndOddFilesAreRefused) {
  const TemporaryFolder folder;
  EXPECT_EQ(refused(folder.path()).code, ErrorCode::kNotFound);
  EXPECT_EQ(refused(folder.path()).message,
            folder.path().string() + ": no model in this folder; give a .gguf file, or a folder with config.json");
  folder.write("y.gguf", "1");
  EXPECT_EQ(refused(folder.path()).message,
            folder.path().string() + ": a folder; give one of its files, it has y.gguf");
  const auto pipe = folder.path() / "pipe.gguf";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(refused(pipe).message, pipe.string() + ": not a regular file; give a .gguf file");
  const auto empty = folder.write("empty.gguf", "");
  EXPECT_EQ(refused(empty).code, ErrorCode::kBadFile);
  EXPECT_TRUE(contains(refused(empty).message, empty.string() + ": the file is empty; fetch it again"));
}

}  // namespace
}  // namespace anedvd
