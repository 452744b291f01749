// Hugging Face folders: one file or shards, hub links, multimodal names; what is incomplete or leaves the folder is refused.
#include "formats/hf_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "formats/gguf_builder.h"
#include "formats/hf_names.h"
#include "formats/safetensors_builder.h"

namespace anedvd {
namespace {

const std::filesystem::path kData = ANEDVD_TEST_DATA;

constexpr const char* kConfigText = R"({"model_type": "llama"})";
constexpr const char* kIndexName = "model.safetensors.index.json";

// The error of a folder that must not open: one line that starts with a path.
std::string refusal(const std::filesystem::path& folder) {
  const auto model = open_model(folder);
  if (model) {
    ADD_FAILURE() << folder << " was opened";
    return "";
  }
  EXPECT_TRUE(model.error().message.starts_with(folder.string())) << model.error().message;
  EXPECT_EQ(model.error().message.find('\n'), std::string::npos) << model.error().message;
  return model.error().message.substr(folder.string().size());
}

class HfFolder : public ::testing::Test {
 protected:
  HfFolder() { folder.write("config.json", kConfigText); }

  void write_two_shards() {
    folder.write("model-00001-of-00002.safetensors",
                 SafetensorsBuilder().floats("a", {1}, {1}).floats("b", {1}, {2}).bytes());
    folder.write("model-00002-of-00002.safetensors", SafetensorsBuilder().floats("c", {1}, {3}).bytes());
  }

  void write_index(const std::string& map) {
    folder.write(kIndexName, "{\"metadata\": {\"total_size\": 12}, \"weight_map\": {" + map + "}}");
  }

  const std::string kHonestMap = R"("a": "model-00001-of-00002.safetensors", "b": "model-00001-of-00002.safetensors",
                                    "c": "model-00002-of-00002.safetensors")";
  TemporaryFolder folder;
};

float first_value(const TensorSource& source, std::string_view name) {
  const TensorView* tensor = source.find(name);
  if (tensor == nullptr) return -1;
  std::vector<float> row(size_t(tensor->cols()));
  dequantize(*tensor, 0, 1, row);
  return row[0];
}

// The listing names what the GGUF file holds; the folder was made from it.
TEST(HfDirectory, TheTinyFolderIsRead) {
  const auto model = open_model(kData / "hf-tiny");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ((*model)->kind(), SourceKind::kHuggingFace);
  EXPECT_EQ((*model)->path(), kData / "hf-tiny");
  EXPECT_EQ((*model)->file_bytes(), std::filesystem::file_size(kData / "hf-tiny" / "model.safetensors"));
  EXPECT_EQ((*model)->tensors().size(), 20u);
  const auto gguf = open_model(kData / "tiny-llama-f32.gguf");
  const TensorView* want = (*gguf)->find("token_embd.weight");
  const TensorView* got = (*model)->find("model.embed_tokens.weight");
  ASSERT_NE(got, nullptr);
  EXPECT_EQ(got->shape, want->shape);
  EXPECT_TRUE(std::equal(got->bytes.begin(), got->bytes.end(), want->bytes.begin(), want->bytes.end()));
  EXPECT_EQ((*model)->config().integer("hidden_size"), 64);
  EXPECT_FALSE((*model)->config().has("head_dim"));
  EXPECT_EQ((*model)->config().integers("generation_config.eos_token_id")->size(), 2u);
}

TEST_F(HfFolder, ShardsAreFoundByTheIndex) {
  write_two_shards();
  write_index(kHonestMap);
  const auto model = open_model(folder.path());
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ((*model)->tensors().size(), 3u);
  EXPECT_EQ(first_value(**model, "b"), 2);
  EXPECT_EQ(first_value(**model, "c"), 3);
  EXPECT_EQ((*model)->find("d"), nullptr);
}

TEST_F(HfFolder, AMissingShardIsNamed) {
  write_two_shards();
  write_index(kHonestMap);
  std::filesystem::remove(folder.path() / "model-00002-of-00002.safetensors");
  EXPECT_EQ(refusal(folder.path()),
            "/model-00002-of-00002.safetensors: no such file; the model has 2 parts, fetch this one too");
}

TEST_F(HfFolder, ATensorThatItsShardLacksIsNamed) {
  write_two_shards();
  write_index(kHonestMap + R"(, "lost.weight": "model-00002-of-00002.safetensors")");
  EXPECT_EQ(refusal(folder.path()),
            "/model-00002-of-00002.safetensors: lacks tensor \"lost.weight\", which the index says is in it; fetch the "
            "folder again");
  // In the other shard is not in this one.
  write_index(
      R"("a": "model-00002-of-00002.safetensors", "b": "model-00001-of-00002.safetensors", "c": "model-00002-of-00002.safetensors")");
  EXPECT_NE(refusal(folder.path()).find("\"a\""), std::string::npos);
}

TEST_F(HfFolder, AnIndexOfAPartOfTheModelIsRefused) {
  write_two_shards();
  write_index(R"("a": "model-00001-of-00002.safetensors", "c": "model-00002-of-00002.safetensors")");
  EXPECT_EQ(refusal(folder.path()),
            "/model-00001-of-00002.safetensors: has tensor \"b\", which the index leaves out of this file; fetch the "
            "folder again");
  write_index(R"("a": "model-00001-of-00002.safetensors", "b": "model-00001-of-00002.safetensors")");
  EXPECT_NE(refusal(folder.path()).find("names 1 of 2 parts"), std::string::npos);
}

TEST_F(HfFolder, ATensorInTwoShardsIsRefused) {
  folder.write("x.safetensors", SafetensorsBuilder().zeros("layers.0.w", {1}).bytes());
  folder.write("y.safetensors", SafetensorsBuilder().zeros("model.layers.0.w", {1}).bytes());
  write_index(R"("layers.0.w": "x.safetensors", "model.layers.0.w": "y.safetensors")");
  EXPECT_EQ(refusal(folder.path()),
            "/y.safetensors: tensor \"model.layers.0.w\" is there twice; fetch the folder again");
}

// Pipes stand where the paths lead: opening one would block, so a test that ends has not opened it.
TEST_F(HfFolder, NamesThatLeaveTheFolderAreNotOpened) {
  const auto inner = folder.path() / "inner";
  std::filesystem::create_directory(inner);
  ASSERT_EQ(::mkfifo((folder.path() / "pipe.safetensors").c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo((inner / "pipe.safetensors").c_str(), 0600), 0);
  const std::string absolute = (folder.path() / "pipe.safetensors").string();
  const std::string name = "/inner/" + std::string(kIndexName) + ": tensor \"a\" is said to be in ";
  for (const std::string& value :
       {std::string("../pipe.safetensors"), absolute, std::string("./pipe.safetensors"),
        std::string("x/../../pipe.safetensors"), std::string("..\\\\pipe.safetensors"),
        std::string("pipe.safetensors\\u0000.safetensors"), std::string("\\u0000"), std::string(".."), std::string("."),
        std::string(""), std::string("/"), std::string("pipe.bin"), std::string(".safetensors"),
        std::string("a\\nb.safetensors"), std::string(300, 'x') + ".safetensors"}) {
    std::ofstream(inner / "config.json") << kConfigText;
    std::ofstream(inner / kIndexName) << "{\"weight_map\": {\"a\": \"" + value + "\"}}";
    const std::string message = refusal(inner);
    EXPECT_NE(message.find("which is no plain .safetensors name in this folder"), std::string::npos) << message;
  }
  // A plain name of something that is not a file is not opened either.
  std::ofstream(inner / kIndexName) << R"({"weight_map": {"a": "pipe.safetensors"}})";
  EXPECT_EQ(refusal(inner), "/pipe.safetensors: not a regular file; fetch the folder again");
}

TEST_F(HfFolder, AnIndexOfAnotherFormIsRefused) {
  for (const char* text :
       {"{}", "[]", "5", R"({"weight_map": {}})", R"({"weight_map": []})", R"({"weight_map": null})"}) {
    folder.write(kIndexName, text);
    EXPECT_EQ(refusal(folder.path()),
              "/" + std::string(kIndexName) + ": has no \"weight_map\" of tensors; fetch it again")
        << text;
  }
  folder.write(kIndexName, R"({"weight_map": {"a": 5}})");
  EXPECT_NE(refusal(folder.path()).find("tensor \"a\" is not given a file name"), std::string::npos);
  folder.write(kIndexName, "{");
  EXPECT_NE(refusal(folder.path()).find("not valid JSON"), std::string::npos);
  folder.write(kIndexName, std::string(100000, '['));
  EXPECT_NE(refusal(folder.path()).find("nested deeper"), std::string::npos);
}

// snapshots/REVISION/NAME → ../../blobs/HASH
TEST(HfDirectory, TheHubsCacheLoads) {
  const TemporaryFolder hub;
  const auto blobs = hub.path() / "blobs", snapshot = hub.path() / "snapshots" / "0123abcd";
  std::filesystem::create_directories(blobs);
  std::filesystem::create_directories(snapshot);
  hub.write("blobs/11", kConfigText);
  hub.write("blobs/22", SafetensorsBuilder().floats("a", {1}, {7}).bytes());
  hub.write("blobs/33", R"({"weight_map": {"a": "model-00001-of-00001.safetensors"}})");
  std::filesystem::create_symlink("../../blobs/11", snapshot / "config.json");
  std::filesystem::create_symlink("../../blobs/22", snapshot / "model-00001-of-00001.safetensors");
  std::filesystem::create_symlink("../../blobs/33", snapshot / kIndexName);
  const auto model = open_model(snapshot);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(first_value(**model, "a"), 7);
  std::filesystem::remove(blobs / "22");
  EXPECT_EQ(refusal(snapshot),
            "/model-00001-of-00001.safetensors: links to a file that is not there; fetch the folder again");
  std::filesystem::remove(blobs / "33");
  EXPECT_EQ(refusal(snapshot),
            "/" + std::string(kIndexName) + ": links to a file that is not there; fetch the folder again");
}

TEST_F(HfFolder, BrokenFilesAreNamed) {
  folder.write("model.safetensors", "");
  EXPECT_EQ(refusal(folder.path()), "/model.safetensors: the file is empty; fetch it again");
  const std::string whole = SafetensorsBuilder().zeros("w", {4}).bytes();
  folder.write("model.safetensors", whole.substr(0, whole.size() - 5));
  EXPECT_NE(
      refusal(folder.path()).find("/model.safetensors: tensor \"w\" ends at byte 16 of the data but the file has 11"),
      std::string::npos);
  folder.write("model.safetensors", whole);
  EXPECT_TRUE(open_model(folder.path()));
  folder.write("config.json", std::string(100000, '['));
  EXPECT_NE(refusal(folder.path()).find("/config.json: JSON nested deeper"), std::string::npos);
  std::filesystem::remove(folder.path() / "config.json");
  EXPECT_EQ(refusal(folder.path()), ": no config.json in this folder; fetch it too");
  std::filesystem::create_directory(folder.path() / "config.json");
  EXPECT_EQ(refusal(folder.path()), "/config.json: not a regular file; fetch the folder again");
}

TEST_F(HfFolder, FoldersWithoutWeightsSayWhatTheyLack) {
  EXPECT_EQ(refusal(folder.path()),
            ": no weights in this folder (model.safetensors or model.safetensors.index.json); fetch them too");
  folder.write("tokenizer.json", "{}");
  const std::string only_tokenizer =
      ": no weights in this folder (model.safetensors or model.safetensors.index.json); fetch them too, only the "
      "tokenizer is there";
  EXPECT_EQ(refusal(folder.path()), only_tokenizer);
  std::filesystem::remove(folder.path() / "config.json");
  EXPECT_EQ(refusal(folder.path()), only_tokenizer);
  folder.write("pytorch_model.bin", "x");
  EXPECT_NE(refusal(folder.path()).find("pytorch_model.bin, which anedvd does not read"), std::string::npos);
  folder.write("model-00001-of-00002.safetensors", "x");
  EXPECT_NE(refusal(folder.path()).find("neither model.safetensors nor model.safetensors.index.json"),
            std::string::npos);
  folder.write("y.gguf", "1");
  EXPECT_EQ(refusal(folder.path()), ": a folder; give one of its files, it has y.gguf");
}

TEST_F(HfFolder, WeightsInAFormThatIsNotReadAreNamed) {
  folder.write("model.safetensors", SafetensorsBuilder()
                                        .tensor("model.layers.0.mlp.up_proj.weight", "F8_E4M3", {2, 2}, "1234")
                                        .zeros("model.norm.weight", {2})
                                        .bytes());
  EXPECT_EQ(refusal(folder.path()),
            "/model.safetensors: tensor \"model.layers.0.mlp.up_proj.weight\" is stored as F8_E4M3, which anedvd does "
            "not read; use a BF16 or F16 release, or a GGUF file");
}

TEST_F(HfFolder, MultimodalNamesAreThoseOfATextModel) {
  folder.write("model.safetensors", SafetensorsBuilder()
                                        .floats("model.language_model.layers.11.mlp.up_proj.weight", {1, 2}, {5, 6})
                                        .floats("model.language_model.norm.weight", {1}, {8})
                                        .zeros("model.vision_tower.patch.weight", {1, 2, 1, 1, 3})
                                        .tensor("model.audio_tower.x", "F8_E5M2", {1}, "1")
                                        .floats("lm_head.weight", {1, 1}, {9})
                                        .zeros("multi_modal_projector.linear.weight", {1})
                                        .bytes());
  const auto model = open_model(folder.path());
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(first_value(**model, "model.layers.11.mlp.up_proj.weight"), 5);
  EXPECT_EQ(first_value(**model, "model.norm.weight"), 8);
  EXPECT_EQ(first_value(**model, "lm_head.weight"), 9);
  EXPECT_EQ((*model)->tensors().size(), 3u);
  for (const TensorView& tensor : (*model)->tensors()) EXPECT_EQ((*model)->find(tensor.name), &tensor);
}

TEST(HfNames, PrefixesOfMultimodalAndBareCheckpointsAreDropped) {
  const std::pair<const char*, const char*> kCases[] = {
      {"model.layers.0.x", "model.layers.0.x"},
      {"model.language_model.layers.0.x", "model.layers.0.x"},
      {"model.language_model.embed_tokens.weight", "model.embed_tokens.weight"},
      {"language_model.model.layers.0.x", "model.layers.0.x"},
      {"language_model.lm_head.weight", "lm_head.weight"},
      {"language_model.layers.0.x", "model.layers.0.x"},
      {"layers.0.x", "model.layers.0.x"},
      {"embed_tokens.weight", "model.embed_tokens.weight"},
      {"norm.weight", "model.norm.weight"},
      {"lm_head.weight", "lm_head.weight"},
      {"normal.weight", "normal.weight"},
  };
  for (const auto& [stored, want] : kCases) EXPECT_EQ(canonical_tensor_name(stored), want);
  for (const char* name : {"vision_tower.x", "model.visual.blocks.0.x", "model.embed_audio.x", "audio_tower.x"})
    EXPECT_TRUE(is_vision_or_audio(name)) << name;
  for (const char* name : {"model.layers.0.x", "lm_head.weight", "model.language_model.visual.x", "visualize.x"})
    EXPECT_FALSE(is_vision_or_audio(name)) << name;
}

}  // namespace
}  // namespace anedvd
