// The whole path on the tiny models of tests/data: logits against float64 arithmetic by numpy, and the invariance rule bit for bit.
#include "engine/runtime.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <gtest/gtest.h>

#include "cpu/kernels/select.h"
#include "engine/generate.h"
#include "support_npy.h"

namespace anedvd {
namespace {

using testing_support::read_ids;
using testing_support::read_npy;

const std::string kData = ANEDVD_TEST_DATA;
const char* const kModels[] = {"tiny-llama-q4_1", "tiny-llama-f32", "tiny-llama-untied"};

std::unique_ptr<Runtime> load(const std::string& model, RuntimeOptions options = {}) {
  if (options.threads == 0) options.threads = 2;
  auto runtime = Runtime::load(kData + "/" + model + ".gguf", options);
  EXPECT_TRUE(runtime) << (runtime ? "" : runtime.error().message);
  return runtime ? std::move(*runtime) : nullptr;
}

std::unique_ptr<Engine> engine_of(std::unique_ptr<Runtime> runtime) {
  EngineOptions options;
  options.manual = true;
  auto engine = Engine::start(std::move(runtime), options);
  EXPECT_TRUE(engine) << (engine ? "" : engine.error().message);
  return engine ? std::move(*engine) : nullptr;
}

// Logits of every position, [tokens][vocab].
std::vector<float> all_logits(Runtime& runtime, std::span<const Token> tokens) {
  std::vector<float> result;
  const auto sequence = runtime.new_sequence();
  const auto done = runtime.append_all_logits(*sequence, tokens, [&](int index, std::span<const float> row) {
    EXPECT_EQ(size_t(index) * row.size(), result.size());
    result.insert(result.end(), row.begin(), row.end());
  });
  EXPECT_TRUE(done) << (done ? "" : done.error().message);
  return result;
}

// Largest difference over the largest logit.
double relative_error(const std::vector<float>& want, const std::vector<float>& got) {
  EXPECT_EQ(want.size(), got.size());
  double worst = 0, largest = 0;
  for (size_t i = 0; i < std::min(want.size(), got.size()); ++i) {
    worst = std::max(worst, std::fabs(double(want[i]) - double(got[i])));
    largest = std::max(largest, std::fabs(double(want[i])));
  }
  return worst / largest;
}

// Float rounding through two layers; the keys and values are fp16 (2^-11) in any mode.
constexpr double kExactTolerance = 1e-3;
// Activations of 8 bits with a scale every 32 values: 5e-3 a product (measured, docs/performance.md), a few products deep.
constexpr double kNormalTolerance = 5e-2;

TEST(Runtime, ExactLogitsAreFloat64Arithmetic) {
  for (const std::string model : kModels) {
    const auto runtime = load(model, {.exact = true});
    const auto logits = all_logits(*runtime, read_ids(kData + "/" + model + ".ids.json"));
    EXPECT_LT(relative_error(read_npy(kData + "/" + model + ".logits.npy"), logits), kExactTolerance) << model;
  }
}

TEST(Runtime, NormalLogitsStayNearFloat64Arithmetic) {
  for (const std::string model : kModels) {
    const auto runtime = load(model);
    const auto logits = all_logits(*runtime, read_ids(kData + "/" + model + ".ids.json"));
    EXPECT_LT(relative_error(read_npy(kData + "/" + model + ".logits.npy"), logits), kNormalTolerance) << model;
  }
}

std::vector<Token> long_prompt(int vocab, int length) {
  std::vector<Token> tokens;
  uint32_t state = 12345;
  for (int i = 0; i < length; ++i) {
    state = state * 1664525u + 1013904223u;
    tokens.push_back(Token((state >> 8) % uint32_t(vocab)));
  }
  return tokens;
}

TEST(Runtime, LogitsDoNotDependOnChunkThreadsOrLevel) {
  const std::string model = "tiny-llama-q4_1";
  const auto reference_runtime = load(model, {.threads = 1, .chunk = 64});
  // Longer than an attention chunk of 128, and no multiple of anything.
  const auto tokens = long_prompt(reference_runtime->spec().vocab, 301);
  const auto reference = all_logits(*reference_runtime, tokens);
  const auto expect_equal = [&](const RuntimeOptions& options, const std::string& what) {
    const auto got = all_logits(*load(model, options), tokens);
    ASSERT_EQ(reference.size(), got.size());
    EXPECT_EQ(std::memcmp(reference.data(), got.data(), got.size() * sizeof(float)), 0) << what;
  };
  for (const int threads : {1, 2, 3})
    for (const int chunk : {1, 2, 3, 4, 5, 16, 17, 33, 128})
      expect_equal({.threads = threads, .chunk = chunk}, fmt::format("{} threads, chunk {}", threads, chunk));
  for (const KernelTable* level : available_kernels()) {
    ::setenv("ANEDVD_SIMD", level->name, 1);
    for (const int chunk : {7, 37}) expect_equal({.threads = 2, .chunk = chunk}, level->name);
    ::unsetenv("ANEDVD_SIMD");
  }
}

// Only the last column's logits are wanted: the other columns are dropped behind the last attention.
TEST(Runtime, TheLastLogitsAreTheSameWhenOthersAreNotWanted) {
  for (const int chunk : {1, 3, 4, 5, 33, 64}) {
    const auto runtime = load("tiny-llama-q4_1", {.threads = 2, .chunk = chunk});
    const auto tokens = long_prompt(runtime->spec().vocab, 67);
    const auto all = all_logits(*runtime, tokens);
    const auto sequence = runtime->new_sequence();
    const auto last = runtime->append(*sequence, tokens);
    ASSERT_TRUE(last);
    EXPECT_EQ(std::memcmp(all.data() + all.size() - last->size(), last->data(), last->size_bytes()), 0) << chunk;
  }
}

TEST(Runtime, ATruncatedSequenceGoesOnAsIfTheRestHadNeverBeen) {
  const auto runtime = load("tiny-llama-q4_1");
  const auto tokens = long_prompt(runtime->spec().vocab, 40);
  const auto fresh = all_logits(*runtime, tokens);
  const auto sequence = runtime->new_sequence();
  ASSERT_TRUE(runtime->append(*sequence, long_prompt(runtime->spec().vocab, 25)));
  std::vector<Token> other(30, 7);
  ASSERT_TRUE(runtime->append(*sequence, other));
  sequence->truncate(25);
  const auto last = runtime->append(*sequence, std::span(tokens).subspan(25));
  ASSERT_TRUE(last);
  EXPECT_EQ(std::memcmp(fresh.data() + fresh.size() - last->size(), last->data(), last->size_bytes()), 0);
}

// In normal mode only where activations stay floats: random weights turn 8-bit noise into other tokens.
TEST(Runtime, GreedyIdsAreThoseOfFloat64Arithmetic) {
  for (const std::string model : kModels) {
    for (const bool exact : {true, false}) {
      if (!exact && model != "tiny-llama-f32") continue;
      const auto engine = engine_of(load(model, {.exact = exact}));
      GenerationRequest request;
      request.prompt = read_ids(kData + "/" + model + ".ids.json");
      request.sampling.temperature = 0;
      const auto want = read_ids(kData + "/" + model + ".greedy.json");
      request.max_tokens = int(want.size());
      const auto result = generate(*engine, request, {});
      ASSERT_TRUE(result) << result.error().message;
      EXPECT_EQ(result->ids, want) << model << (exact ? " exact" : "");
    }
  }
}

TEST(Runtime, BadRequestsAreRefusedInWords) {
  const auto runtime = load("tiny-llama-q4_1", {.max_seq = 32});
  const auto sequence = runtime->new_sequence();
  const auto code = [&](std::vector<Token> tokens) {
    const auto result = runtime->append(*sequence, tokens);
    return result ? std::string() : result.error().message;
  };
  EXPECT_EQ(code({runtime->spec().vocab}),
            fmt::format("token id {0}: the vocabulary has {0} entries", runtime->spec().vocab));
  EXPECT_NE(code({-1}).find("token id -1"), std::string::npos);
  EXPECT_NE(code(std::vector<Token>(33, 1)).find("33 tokens, the context holds 32"), std::string::npos);
  EXPECT_EQ(sequence->size(), 0);
  EXPECT_EQ(code(std::vector<Token>(32, 1)), "");
  EXPECT_NE(code({1}), "");
  const auto too_long = Runtime::load(kData + "/tiny-llama-q4_1.gguf", {.threads = 1, .max_seq = 1 << 20});
  ASSERT_FALSE(too_long);
  EXPECT_EQ(too_long.error().code, ErrorCode::kUsage);
}

TEST(Generate, StopStringsAndLimitsEndTheAnswer) {
  const auto engine = engine_of(load("tiny-llama-q4_1"));
  GenerationRequest request;
  request.prompt = read_ids(kData + "/tiny-llama-q4_1.ids.json");
  request.sampling.temperature = 0;
  request.max_tokens = 12;
  std::string streamed;
  const auto run = [&] {
    streamed.clear();
    auto result = generate(*engine, request, [&](std::string_view text) {
      streamed += text;
      return true;
    });
    EXPECT_TRUE(result);
    EXPECT_EQ(streamed, result->text);
    return *result;
  };
  const GenerateResult whole = run();
  EXPECT_EQ(whole.finish, FinishReason::kLength);
  EXPECT_EQ(whole.ids.size(), 12u);
  EXPECT_EQ(whole.prompt_tokens, int(request.prompt.size()));
  ASSERT_GT(whole.text.size(), 6u);
  request.stop = {whole.text.substr(4, 2)};
  const GenerateResult cut = run();
  EXPECT_EQ(cut.finish, FinishReason::kStop);
  EXPECT_EQ(cut.text, whole.text.substr(0, whole.text.find(request.stop[0])));
  request.stop.clear();
  request.max_tokens = 0;
  const GenerateResult none = run();
  EXPECT_EQ(none.finish, FinishReason::kLength);
  EXPECT_TRUE(none.ids.empty());
}

TEST(Generate, ASinkThatRefusesStopsTheAnswer) {
  const auto engine = engine_of(load("tiny-llama-q4_1"));
  GenerationRequest request;
  request.prompt = read_ids(kData + "/tiny-llama-q4_1.ids.json");
  request.sampling.temperature = 0;
  int calls = 0;
  const auto result = generate(*engine, request, [&](std::string_view text) { return text.empty() || ++calls < 3; });
  ASSERT_TRUE(result);
  EXPECT_EQ(result->finish, FinishReason::kCancelled);
  EXPECT_LT(result->ids.size(), 12u);
}

TEST(Generate, TheSameSeedGivesTheSameAnswer) {
  const auto engine = engine_of(load("tiny-llama-q4_1"));
  GenerationRequest request;
  request.prompt = read_ids(kData + "/tiny-llama-q4_1.ids.json");
  request.sampling.temperature = 1.2f;
  request.sampling.seed = 42;
  request.max_tokens = 24;
  const auto run = [&] { return generate(*engine, request, {})->ids; };
  const auto first = run();
  EXPECT_EQ(first, run());
  request.sampling.seed = 43;
  EXPECT_NE(first, run());
}

}  // namespace
}  // namespace anedvd
