// Every family against transformers, on the tiny models that tools/families/make_family_fixtures.py makes: logits, choices, 32 greedy tokens, and the
// invariance rule bit for bit. A family's folder in tests/data/families holds a GGUF file, a Hugging Face folder, or both.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "engine/runtime.h"
#include "support_npy.h"

namespace anedvd {
namespace {

using testing_support::read_file;
using testing_support::read_npy;

const std::filesystem::path kFamilies = std::filesystem::path(ANEDVD_TEST_DATA) / "families";

// Keys, values and convolution states are fp16 (2^-11 each); random weights pick positions sharply, which makes several times that of it.
constexpr double kExactTolerance = 4e-3;
// Activations of 8 bits with a scale every 32 values: 5e-3 a product (docs/performance.md), through up to seven random layers.
constexpr double kNormalTolerance = 0.15;

struct Case {
  std::string family;
  bool is_gguf = true;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const auto& entry : std::filesystem::directory_iterator(kFamilies)) {
    const std::string family = entry.path().filename().string();
    if (std::filesystem::exists(entry.path() / "model.gguf")) cases.push_back({family, true});
    if (std::filesystem::exists(entry.path() / "model.safetensors")) cases.push_back({family, false});
  }
  std::sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) {
    return std::pair(a.family, a.is_gguf) < std::pair(b.family, b.is_gguf);
  });
  return cases;
}

struct Golden {
  std::vector<std::vector<Token>> prompts, argmax;
  std::vector<Token> greedy;
  std::vector<float> logits;  // [prompts][vocab]: of each prompt's last token
};

Golden read_golden(const std::string& family) {
  const auto folder = kFamilies / family;
  const auto json = parse_json(read_file(folder / "golden.json"), family);
  EXPECT_TRUE(json);
  Golden golden;
  json->at("prompts").get_to(golden.prompts);
  json->at("argmax").get_to(golden.argmax);
  json->at("greedy").get_to(golden.greedy);
  golden.logits = read_npy(folder / "logits.npy");
  return golden;
}

class Families : public testing::TestWithParam<Case> {
 protected:
  std::unique_ptr<Runtime> load(RuntimeOptions options = {}) const {
    if (options.threads == 0) options.threads = 2;
    const auto folder = kFamilies / GetParam().family;
    auto runtime = Runtime::load(GetParam().is_gguf ? folder / "model.gguf" : folder, options);
    EXPECT_TRUE(runtime) << (runtime ? "" : runtime.error().message);
    return runtime ? std::move(*runtime) : nullptr;
  }

  // transformers chooses longrope's frequencies by the text's length, we by the session's: sessions here are as long as makes both agree.
  int session_for(size_t tokens) const { return GetParam().family == "phi3" && tokens <= 64 ? 64 : 0; }

  // The worst relative error over the prompts' last logits; choices are compared at each position that is no near tie.
  double compare(bool exact, bool compare_choices) const {
    const Golden golden = read_golden(GetParam().family);
    double worst = 0;
    for (size_t i = 0; i < golden.prompts.size(); ++i) {
      const auto runtime = load({.max_seq = session_for(golden.prompts[i].size()), .exact = exact});
      if (!runtime) return 1;
      const size_t vocab = size_t(runtime->spec().vocab);
      const float* want = golden.logits.data() + i * vocab;
      const auto sequence = runtime->new_sequence();
      std::vector<float> last;
      int clear = 0, agreeing = 0;
      const auto done =
          runtime->append_all_logits(*sequence, golden.prompts[i], [&](int index, std::span<const float> row) {
            const Token best = Token(std::max_element(row.begin(), row.end()) - row.begin());
            const Token expected = golden.argmax[i][size_t(index)];
            clear += expected >= 0;
            agreeing += expected >= 0 && best == expected;
            last.assign(row.begin(), row.end());
          });
      EXPECT_TRUE(done) << (done ? "" : done.error().message);
      if (last.size() != vocab) return 1;
      double difference = 0, largest = 0;
      for (size_t v = 0; v < vocab; ++v) {
        difference = std::max(difference, std::fabs(double(want[v]) - double(last[v])));
        largest = std::max(largest, std::fabs(double(want[v])));
      }
      worst = std::max(worst, difference / largest);
      if (compare_choices) {
        EXPECT_EQ(agreeing, clear) << "prompt of " << golden.prompts[i].size();
      }
    }
    return worst;
  }

  std::vector<float> all_logits(Runtime& runtime, std::span<const Token> tokens) const {
    std::vector<float> rows;
    const auto sequence = runtime.new_sequence();
    const auto done = runtime.append_all_logits(
        *sequence, tokens, [&](int, std::span<const float> row) { rows.insert(rows.end(), row.begin(), row.end()); });
    EXPECT_TRUE(done) << (done ? "" : done.error().message);
    return rows;
  }
};

TEST_P(Families, ExactLogitsAreTransformers) {
  const double worst = compare(true, true);
  EXPECT_LT(worst, kExactTolerance);
  RecordProperty("worst_relative_error", fmt::format("{:.2e}", worst));
}

TEST_P(Families, NormalLogitsStayNear) {
  const double worst = compare(false, false);
  EXPECT_LT(worst, kNormalTolerance);
  RecordProperty("worst_relative_error", fmt::format("{:.2e}", worst));
}

TEST_P(Families, GreedyTokensAreTransformers) {
  const Golden golden = read_golden(GetParam().family);
  const auto& prompt = golden.prompts[1];
  const auto runtime = load({.max_seq = session_for(prompt.size() + golden.greedy.size()), .exact = true});
  ASSERT_TRUE(runtime);
  const auto sequence = runtime->new_sequence();
  std::vector<Token> next = prompt, ids;
  while (ids.size() < golden.greedy.size()) {
    const auto logits = runtime->append(*sequence, next);
    ASSERT_TRUE(logits) << logits.error().message;
    next = {Token(std::max_element(logits->begin(), logits->end()) - logits->begin())};
    ids.push_back(next[0]);
  }
  EXPECT_EQ(ids, golden.greedy);
}

// A column's bits depend on its own past alone: not on the chunk it came in, nor on the threads. Prefill is one by one.
TEST_P(Families, LogitsDoNotDependOnChunkOrThreads) {
  const Golden golden = read_golden(GetParam().family);
  const auto& tokens = golden.prompts.back();
  for (const bool exact : {false, true}) {
    const auto reference_runtime = load({.threads = 1, .chunk = 64, .exact = exact});
    ASSERT_TRUE(reference_runtime);
    const auto reference = all_logits(*reference_runtime, tokens);
    ASSERT_TRUE(std::all_of(reference.begin(), reference.end(), [](float x) { return std::isfinite(x); }));
    for (const int threads : {1, 2})
      for (const int chunk : {1, 3, 5, 64}) {
        const auto got = all_logits(*load({.threads = threads, .chunk = chunk, .exact = exact}), tokens);
        ASSERT_EQ(reference.size(), got.size());
        EXPECT_EQ(std::memcmp(reference.data(), got.data(), got.size() * sizeof(float)), 0)
            << threads << " threads, chunk " << chunk << (exact ? ", exact" : "");
      }
  }
}

// Threads come and go with the cores that are free. A prompt in pieces, then token by token, each with another number of them.
TEST_P(Families, LogitsDoNotDependOnThreadsThatComeAndGo) {
  const std::vector<Token> tokens = read_golden(GetParam().family).prompts.back();
  for (const bool exact : {false, true}) {
    const auto reference = all_logits(*load({.threads = 1, .chunk = 64, .exact = exact}), tokens);
    const auto runtime = load({.threads = 3, .chunk = 64, .exact = exact});
    const auto sequence = runtime->new_sequence();
    std::vector<float> got;
    const auto keep = [&](int, std::span<const float> row) { got.insert(got.end(), row.begin(), row.end()); };
    int limit = 1;
    for (size_t at = 0; at < tokens.size(); limit = limit % 3 + 1) {
      const size_t count = std::min<size_t>(tokens.size() - at, at < tokens.size() / 2 ? 11 : 1);
      runtime->executable().limit_threads(limit);
      ASSERT_TRUE(runtime->append_all_logits(*sequence, std::span(tokens).subspan(at, count), keep));
      at += count;
    }
    ASSERT_EQ(reference.size(), got.size());
    EXPECT_EQ(std::memcmp(reference.data(), got.data(), got.size() * sizeof(float)), 0) << (exact ? "exact" : "normal");
  }
}

// Only the last logits are wanted: the other columns are dropped behind the last step that writes to the cache.
TEST_P(Families, TheLastLogitsAreTheSameWhenOthersAreNotWantedAndAfterTruncation) {
  const Golden golden = read_golden(GetParam().family);
  const auto& tokens = golden.prompts.back();
  for (const int chunk : {4, 33}) {
    const auto runtime = load({.chunk = chunk});
    ASSERT_TRUE(runtime);
    const auto all = all_logits(*runtime, tokens);
    const auto sequence = runtime->new_sequence();
    ASSERT_TRUE(runtime->append(*sequence, std::span(tokens).first(90)));
    ASSERT_TRUE(runtime->append(*sequence, std::vector<Token>(20, 5)));
    sequence->truncate(90);
    const auto last = runtime->append(*sequence, std::span(tokens).subspan(90));
    ASSERT_TRUE(last);
    EXPECT_EQ(std::memcmp(all.data() + all.size() - last->size(), last->data(), last->size_bytes()), 0) << chunk;
  }
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.family + (info.param.is_gguf ? "_gguf" : "_hf");
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, Families, testing::ValuesIn(all_cases()), case_name);

}  // namespace
}  // namespace anedvd
