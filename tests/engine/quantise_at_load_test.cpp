// `--quant`: a model quantised at load computes what the same model, quantised by the quantiser beforehand and stored, computes: bit for bit.
#include "model/quantise_at_load.h"

#include <filesystem>
#include <random>

#include <gtest/gtest.h>

#include "engine/runtime.h"
#include "formats/gguf_file.h"
#include "formats/gguf_writer.h"
#include "tensor/quantize.h"

namespace anedvd {
namespace {

namespace fs = std::filesystem;
const fs::path kData = ANEDVD_TEST_DATA;

// A copy of a GGUF file whose matrices, but for routers and the embedding table, have this type.
void write_quantised(const GgufFile& source, DType type, const fs::path& path) {
  GgufPairs pairs;
  for (const auto& entry : source.metadata().entries()) pairs.copy(entry);
  std::vector<GgufTensor> table;
  for (const TensorView& tensor : source.tensors()) {
    const bool changes = tensor.shape.size() > 1 && tensor.rows() > 1 &&
                         tensor.name.find("ffn_gate_inp") == std::string::npos && tensor.name != "token_embd.weight";
    table.push_back({tensor.name, changes ? legal_type(type, tensor.cols()) : tensor.dtype, tensor.shape});
  }
  auto writer = GgufWriter::create(path, pairs, table);
  ASSERT_TRUE(writer) << writer.error().message;
  for (size_t i = 0; i < table.size(); ++i) {
    const TensorView& tensor = source.tensors()[i];
    const QuantFormat& format = format_of(table[i].dtype);
    std::vector<float> values(size_t(tensor.elements()));
    dequantize(tensor, 0, tensor.rows(), values);
    std::vector<std::byte> bytes(values.size() / size_t(format.block_elements) * size_t(format.block_bytes));
    ASSERT_TRUE(quantize_row(table[i].dtype, values, bytes.data()));
    ASSERT_TRUE(writer->append(bytes));
  }
  ASSERT_TRUE(writer->finish());
}

std::vector<float> logits_of(const fs::path& path, std::optional<DType> quant, int* marked = nullptr) {
  RuntimeOptions options;
  options.threads = 2;
  options.quant = quant;
  const auto runtime = Runtime::load(path, options);
  EXPECT_TRUE(runtime) << runtime.error().message;
  if (!runtime) return {};
  if (marked != nullptr) *marked = (*runtime)->info().quantised_at_load;
  std::vector<float> all;
  const std::vector<Token> tokens = {3, 17, 55, 21, 9, 30, 2};
  const auto sequence = (*runtime)->new_sequence();
  EXPECT_TRUE((*runtime)->append_all_logits(*sequence, tokens, [&](int, std::span<const float> logits) {
    all.insert(all.end(), logits.begin(), logits.end());
  }));
  return all;
}

class QuantiseAtLoad : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / fmt::format("anedvd-quant-{}", std::random_device{}());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST_F(QuantiseAtLoad, EqualsTheQuantisedFileBitForBit) {
  // Untied: the head is a matrix of its own, so that the embedding table may stay as it is in both.
  const auto stored = GgufFile::open(kData / "tiny-llama-untied.gguf");
  ASSERT_TRUE(stored);
  const fs::path path = folder_ / "plain.gguf";
  write_quantised(**stored, DType::kF32, path);
  const auto source = GgufFile::open(path);
  ASSERT_TRUE(source);
  const auto plain = logits_of(path, {});
  for (const DType type : {DType::kQ8_0, DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1, DType::kQ6_K}) {
    write_quantised(**source, type, folder_ / "q.gguf");
    int marked = 0;
    const auto at_load = logits_of(path, type, &marked);
    EXPECT_GT(marked, 0);
    EXPECT_EQ(at_load, logits_of(folder_ / "q.gguf", {})) << format_of(type).name;
    EXPECT_NE(at_load, plain) << format_of(type).name;
  }
}

TEST_F(QuantiseAtLoad, TakesFoldersAndExpertsAndLeavesRoutersAlone) {
  for (const char* family : {"qwen2moe", "mixtral", "gemma3", "qwen3"}) {
    const fs::path folder = kData / "families" / family;
    int marked = 0;
    const auto plain = logits_of(folder, {}), quantised = logits_of(folder, DType::kQ8_0, &marked);
    ASSERT_EQ(plain.size(), quantised.size());
    EXPECT_GT(marked, 4) << family;
    double difference = 0, power = 0;
    for (size_t i = 0; i < plain.size(); ++i) {
      difference += double(plain[i] - quantised[i]) * double(plain[i] - quantised[i]);
      power += double(plain[i]) * double(plain[i]);
    }
    EXPECT_LT(std::sqrt(difference / power), 0.1) << family;
  }
}

TEST_F(QuantiseAtLoad, RefusesWhatItCannotDo) {
  EXPECT_EQ(*quant_type("Q4_k"), DType::kQ4_K);
  for (const char* name : {"", "f16", "q4", "iq4_xs", "q8_1", "\x1b[31m"}) {
    const auto type = quant_type(name);
    ASSERT_FALSE(type) << name;
    EXPECT_EQ(type.error().code, ErrorCode::kUsage);
    EXPECT_EQ(type.error().message.find('\x1b'), std::string::npos);
  }
  RuntimeOptions options;
  options.quant = DType::kQ8_0;
  options.exact = true;
  const auto runtime = Runtime::load(kData / "tiny-llama-f32.gguf", options);
  ASSERT_FALSE(runtime);
  EXPECT_EQ(runtime.error().code, ErrorCode::kUsage);
}

TEST_F(QuantiseAtLoad, ANumberThatNoBlockHoldsNamesItsTensor) {
  const auto source = GgufFile::open(kData / "tiny-llama-untied.gguf");
  write_quantised(**source, DType::kF32, folder_ / "nan.gguf");
  const auto opened = GgufFile::open(folder_ / "nan.gguf");
  const auto offset = (*opened)->find("blk.0.ffn_up.weight")->bytes.data();
  const auto file = MappedFile::open(folder_ / "nan.gguf");
  (void)file;
  // The same file with one NaN: found by its bytes, written in place.
  std::vector<std::byte> needle(offset, offset + 64);
  std::FILE* handle = std::fopen((folder_ / "nan.gguf").c_str(), "r+b");
  ASSERT_NE(handle, nullptr);
  std::vector<std::byte> all(fs::file_size(folder_ / "nan.gguf"));
  ASSERT_EQ(std::fread(all.data(), 1, all.size(), handle), all.size());
  const auto at = std::search(all.begin(), all.end(), needle.begin(), needle.end());
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::fseek(handle, long(at - all.begin()) + 8, SEEK_SET);
  std::fwrite(&nan, sizeof nan, 1, handle);
  std::fclose(handle);
  RuntimeOptions options;
  options.threads = 2;
  options.quant = DType::kQ4_0;
  const auto runtime = Runtime::load(folder_ / "nan.gguf", options);
  ASSERT_FALSE(runtime);
  EXPECT_EQ(runtime.error().code, ErrorCode::kNumeric);
  EXPECT_NE(runtime.error().message.find("tensor \"blk.0.ffn_up.weight\": row 0: value 2 is nan"), std::string::npos)
      << runtime.error().message;
}

}  // namespace
}  // namespace anedvd
