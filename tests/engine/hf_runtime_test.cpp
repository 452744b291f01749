// A Hugging Face folder runs like the GGUF file that it was made from (tools/make_tiny_hf.py), bit for bit: same numbers, other row order.
#include <cstring>

#include <gtest/gtest.h>

#include "engine/runtime.h"
#include "support_npy.h"

namespace anedvd {
namespace {

const std::string kData = ANEDVD_TEST_DATA;

std::vector<float> logits_of(const std::string& model, RuntimeOptions options) {
  const auto runtime = Runtime::load(kData + "/" + model, options);
  EXPECT_TRUE(runtime) << (runtime ? "" : runtime.error().message);
  std::vector<float> result;
  if (!runtime) return result;
  const auto sequence = (*runtime)->new_sequence();
  const auto ids = testing_support::read_ids(kData + "/tiny-llama-f32.ids.json");
  const auto done = (*runtime)->append_all_logits(
      *sequence, ids, [&](int, std::span<const float> row) { result.insert(result.end(), row.begin(), row.end()); });
  EXPECT_TRUE(done) << (done ? "" : done.error().message);
  return result;
}

TEST(HfRuntime, TheFoldersLogitsAreTheGgufFilesBitForBit) {
  for (const bool exact : {true, false}) {
    const auto gguf = logits_of("tiny-llama-f32.gguf", {.threads = 2, .exact = exact});
    const auto folder = logits_of("hf-tiny", {.threads = 2, .exact = exact});
    ASSERT_FALSE(gguf.empty());
    ASSERT_EQ(gguf.size(), folder.size());
    EXPECT_EQ(std::memcmp(gguf.data(), folder.data(), gguf.size() * sizeof(float)), 0) << (exact ? "exact" : "normal");
  }
}

// The other row order gives other logits: the test above sees a wrong one.
TEST(HfRuntime, TheRowOrderMatters) {
  const auto right = logits_of("hf-tiny", {.threads = 1, .exact = true});
  const auto wrong = logits_of("hf-tiny", {.threads = 1, .exact = true, .rope_adjacent = true});
  ASSERT_EQ(right.size(), wrong.size());
  EXPECT_NE(right, wrong);
}

}  // namespace
}  // namespace anedvd
