// What arrives when a download goes wrong, and what the person is told.
#include "formats/gguf_builder.h"
#include "formats/gguf_reading.h"

namespace anedvd {
namespace {

GgufBuilder small_model() {
  GgufBuilder file;
  file.text("general.architecture", "llama").texts("tokenizer.ggml.tokens", {"a", "b", "c"}).number<uint32_t>("n", 1);
  file.zeros("token_embd.weight", {32, 4}).zeros("output.weight", {8, 2});
  return file;
}

TEST(GgufDownload, ACutFileNamesTheTensorAndBothEnds) {
  const std::string whole = small_model().bytes();
  ASSERT_TRUE(read_bytes(whole));
  const std::string end = std::to_string(whole.size());
  EXPECT_EQ(refusal(whole.substr(0, whole.size() - 5)), "x.gguf: tensor \"output.weight\" ends at byte " + end +
                                                            " but the file has " + std::to_string(whole.size() - 5) +
                                                            "; the download stopped early, fetch it again");
  EXPECT_REFUSED(whole.substr(0, whole.size() - 65), "tensor \"token_embd.weight\" ends at byte ");
}

TEST(GgufDownload, EveryPrefixOfAFileIsRefusedAsCut) {
  const std::string whole = small_model().bytes();
  for (size_t length = 1; length < whole.size(); ++length) {
    const std::string message = refusal(whole.substr(0, length));
    EXPECT_TRUE(contains(message, "fetch it again")) << length << ": " << message;
    EXPECT_TRUE(contains(message, std::to_string(length)) || contains(message, "behind it can hold"))
        << length << ": " << message;
  }
}

TEST(GgufDownload, CutInsideTheHeader) {
  EXPECT_EQ(refusal("GGUF\x03"),
            "x.gguf: the header reaches byte 24 but the file has 5; the download stopped early, fetch it again");
  EXPECT_REFUSED("GG", "the header reaches byte 24 but the file has 2");
}

TEST(GgufDownload, CutInsideTheMetadata) {
  const std::string whole = small_model().bytes();
  EXPECT_REFUSED(whole.substr(0, whole.find("token_embd") - 12), "metadata \"n\" reaches byte");
}

TEST(GgufDownload, WebPagesAreToldApart) {
  EXPECT_EQ(refusal("<!DOCTYPE html>\n<html><body>404</body></html>"),
            "x.gguf: this is a web page, not a model (it starts \"<!DOCTYPE html\"); download the file itself, not its "
            "page");
  for (const char* page :
       {"\n  <html lang=\"en\">", "\xef\xbb\xbf<!doctype HTML>", "<?xml version=\"1.0\"?><Error>", "<HTML>"})
    EXPECT_REFUSED(page, "this is a web page");
}

TEST(GgufDownload, LargeFilePointersAreToldApart) {
  EXPECT_EQ(refusal("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 98342912\n"),
            "x.gguf: this is a Git LFS pointer to 98.3 MB, not the model; run \"git lfs pull\" there");
  EXPECT_REFUSED("version https://git-lfs.github.com/spec/v1\nsize x\n", "a Git LFS pointer, not the model");
}

TEST(GgufDownload, OtherFilesAreToldApart) {
  EXPECT_REFUSED("Entry not found", "not a GGUF file (it starts \"Entry not found\")");
  EXPECT_REFUSED(std::string("\x1b[2J\0abc", 8), "not a GGUF file (it starts \"\\x1b[2J\\x00abc\")");
  EXPECT_REFUSED("tjgg\x03", "a GGJT file from before GGUF");
  EXPECT_REFUSED("PK\x03\x04rest", "a zip archive");
  EXPECT_REFUSED(std::string("\x40\0\0\0\0\0\0\0{\"__metadata__\"", 23), "a safetensors file");
  EXPECT_REFUSED(std::string(4096, '\0'), "starts with zeros");
  EXPECT_REFUSED("{\"error\":\"gone\"}", "not a GGUF file (it starts \"{\"error\":\"gone\"}\")");
}

TEST(GgufDownload, AFileWithoutTensorsIsWhole) {
  GgufBuilder file;
  file.text("tokenizer.ggml.model", "gpt2");
  const std::string bytes = file.bytes();
  const auto contents = read_bytes(bytes);
  ASSERT_TRUE(contents) << contents.error().message;
  EXPECT_TRUE(contents->tensors.empty());
  EXPECT_TRUE(read_bytes(GgufBuilder().bytes()));
}

}  // namespace
}  // namespace anedvd
