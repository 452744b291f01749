// Whole conversions: GGUF to GGUF on the tiny Llama, and every family's folder against the GGUF file that tools/families made of the same weights
// with the names and row orders of llama.cpp's converter.
#include "convert/write_gguf.h"

#include <cstring>
#include <filesystem>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "formats/gguf_file.h"
#include "tensor/quantize.h"

namespace anedvd {
namespace {

namespace fs = std::filesystem;
const fs::path kData = ANEDVD_TEST_DATA;

class WriteGguf : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / fmt::format("anedvd-convert-{}", std::random_device{}());
    fs::create_directories(folder_);
    out_ = folder_ / "out.gguf";
  }
  void TearDown() override { fs::remove_all(folder_); }

  Result<WrittenGguf> convert(const TensorSource& source, std::string_view recipe,
                              const WriteOptions& options = {2, {}, {}}) {
    ANEDVD_TRY(const Outline outline, source.kind() == SourceKind::kGguf ? gguf_outline(source) : hf_outline(source));
    return write_gguf(outline, *find_recipe(recipe), out_, options);
  }

  fs::path folder_, out_;
};

std::vector<float> floats(const TensorView& tensor) {
  std::vector<float> values(size_t(tensor.elements()));
  dequantize(tensor, 0, tensor.rows(), values);
  return values;
}

TEST_F(WriteGguf, QuantisesEveryMatrixAndKeepsTheRest) {
  const auto source = open_model(kData / "tiny-llama-f32.gguf");
  ASSERT_TRUE(source);
  for (const char* name : {"F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q6_K"}) {
    const Recipe& recipe = *find_recipe(name);
    const auto written = convert(**source, name);
    ASSERT_TRUE(written) << name << ": " << written.error().message;
    const auto back = GgufFile::open(out_);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(fs::file_size(out_), written->bytes);
    EXPECT_EQ((*back)->config().integer("general.file_type"), recipe.file_type);
    EXPECT_EQ((*back)->config().integer("general.quantization_version"), 2);
    ASSERT_EQ((*back)->tensors().size(), (*source)->tensors().size());
    int quantised = 0;
    for (const TensorView& tensor : (*back)->tensors()) {
      const TensorView* from = (*source)->find(tensor.name);
      ASSERT_NE(from, nullptr) << tensor.name;
      EXPECT_EQ(tensor.shape, from->shape);
      const bool is_matrix = from->shape.size() > 1;
      EXPECT_EQ(tensor.dtype, is_matrix ? legal_type(recipe.base, tensor.cols()) : from->dtype) << tensor.name;
      std::vector<std::byte> expected(tensor.bytes.size());
      ASSERT_TRUE(quantize_row(tensor.dtype, floats(*from), expected.data()));
      EXPECT_TRUE(std::ranges::equal(tensor.bytes, expected)) << tensor.name;
      quantised += is_matrix;
    }
    EXPECT_GT(quantised, 10);
    // Every other setting is there as it was.
    for (const auto& [key, value] : (*source)->config().describe()) EXPECT_TRUE((*back)->config().has(key)) << key;
  }
}

TEST_F(WriteGguf, TheCountOfThreadsDoesNotMatter) {
  const auto source = open_model(kData / "tiny-llama-f32.gguf");
  std::vector<std::vector<std::byte>> files;
  for (const int threads : {1, 2, 5}) {
    ASSERT_TRUE(convert(**source, "Q4_K_M", {threads, {}, {}}));
    const auto map = MappedFile::open(out_);
    files.emplace_back(map->bytes().begin(), map->bytes().end());
  }
  EXPECT_EQ(files[0], files[1]);
  EXPECT_EQ(files[0], files[2]);
}

TEST_F(WriteGguf, InterruptedItLeavesNothing) {
  const auto source = open_model(kData / "tiny-llama-f32.gguf");
  int asked = 0;
  const auto written = convert(**source, "Q8_0", {1, [&] { return ++asked == 5; }, {}});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kCancelled);
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(WriteGguf, NumbersThatATypeCannotHoldNameTheTensor) {
  std::vector<float> weights(4 * 256, 0.5f);
  const auto make = [&](float odd) {
    weights[256 + 7] = odd;
    auto writer = GgufWriter::create(folder_ / "in.gguf", {}, {{"blk.0.attn_q.weight", DType::kF32, {4, 256}}});
    EXPECT_TRUE(writer->append(std::as_bytes(std::span(weights))));
    EXPECT_TRUE(writer->finish());
    return open_model(folder_ / "in.gguf");
  };
  const auto broken = make(std::numeric_limits<float>::quiet_NaN());
  for (const char* name : {"Q8_0", "Q4_K"}) {
    const auto written = convert(**broken, name);
    ASSERT_FALSE(written) << name;
    EXPECT_EQ(written.error().code, ErrorCode::kNumeric);
    EXPECT_EQ(written.error().message.rfind("tensor \"blk.0.attn_q.weight\": row 1: value 7 is nan", 0), 0u)
        << written.error().message;
  }
  const auto large = make(70000);
  const auto written = convert(**large, "F16");
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().message.find("choose BF16"), std::string::npos);
  EXPECT_TRUE(convert(**large, "BF16"));
}

TEST_F(WriteGguf, FoldersBecomeWhatTheConverterOfLlamaCppMakes) {
  int compared = 0;
  for (const auto& entry : fs::directory_iterator(kData / "families")) {
    if (!fs::exists(entry.path() / "model.gguf") || !fs::exists(entry.path() / "model.safetensors")) continue;
    const std::string family = entry.path().filename().string();
    const auto source = open_model(entry.path());
    ASSERT_TRUE(source) << source.error().message;
    const auto reference = open_model(entry.path() / "model.gguf");
    ASSERT_TRUE(reference);
    const auto written = convert(**source, "F32");
    if (!written) {
      // What GGUF has no words for, and what is not converted.
      EXPECT_EQ(written.error().code, ErrorCode::kUnsupported) << written.error().message;
      continue;
    }
    const auto back = open_model(out_);
    ASSERT_TRUE(back) << back.error().message;
    for (const TensorView& expected : (*reference)->tensors()) {
      const TensorView* tensor = (*back)->find(expected.name);
      ASSERT_NE(tensor, nullptr) << family << ": " << expected.name;
      ASSERT_EQ(tensor->elements(), expected.elements()) << family << ": " << expected.name;
      const std::vector<float> ours = floats(*tensor), theirs = floats(expected);
      for (size_t i = 0; i < ours.size(); ++i)
        ASSERT_NEAR(ours[i], theirs[i], 1e-6 * std::fabs(theirs[i])) << family << ": " << expected.name << " " << i;
    }
    EXPECT_EQ((*back)->tensors().size(), (*reference)->tensors().size()) << family;
    ++compared;
  }
  EXPECT_GE(compared, 10);
}

}  // namespace
}  // namespace anedvd
