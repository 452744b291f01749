// Rotary frequencies against transformers' (tests/data/rope, written by tools/make_rope_fixtures.py) and against numbers of the papers.
#include "model/rope_scaling.h"

#include <cmath>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/fake_source.h"
#include "model/hf_settings.h"

namespace anedvd {
namespace {

nlohmann::json read_cases() {
  std::ifstream file(std::string(ANEDVD_TEST_DATA) + "/rope/scaling.json");
  return nlohmann::json::parse(file);
}

// transformers computes in float32: a power, a division and a few products.
constexpr double kFloatRounding = 2e-6;

TEST(RopeScaling, FrequenciesOfAConfigAreThoseOfTransformers) {
  int count = 0;
  for (const auto& c : read_cases()) {
    SCOPED_TRACE(c["name"].get<std::string>());
    const FakeHfSource source(c["config"].dump());
    const int context = c["config"].value("max_position_embeddings", 2048);
    const auto settings = read_hf_rope(source, 64, context);
    ASSERT_TRUE(settings) << settings.error().message;
    const auto rope = make_rope(*settings, c["session"].get<int64_t>(), "folder");
    ASSERT_TRUE(rope) << rope.error().message;
    const auto want = c["inverse_frequency"].get<std::vector<double>>();
    ASSERT_EQ(rope->inverse_frequency.size(), want.size());
    EXPECT_EQ(rope->rotated, int(want.size()) * 2);
    for (size_t i = 0; i < want.size(); ++i)
      EXPECT_NEAR(rope->inverse_frequency[i] / want[i], 1, kFloatRounding) << "pair " << i;
    EXPECT_NEAR(rope->magnitude, c["magnitude"].get<double>(), 1e-12);
    ++count;
  }
  EXPECT_GE(count, 12);
}

// The divisors that GGUF converters store as rope_freqs.weight for Llama 3.2.
TEST(RopeScaling, Llama3DividesThePairsInTheMiddleByRisingNumbers) {
  RopeSettings settings;
  settings.scaling = RopeScaling::kLlama3;
  settings.rotated = 64;
  settings.base = 500000;
  settings.factor = 32;
  settings.original_context = 8192;
  const auto rope = make_rope(settings, 0, "x");
  ASSERT_TRUE(rope);
  const auto plain = plain_frequencies(500000, 64);
  for (size_t i = 0; i < 32; ++i) {
    const double divisor = plain[i] / rope->inverse_frequency[i];
    const double want = i <= 14 ? 1 : i == 15 ? 1.6513 : i == 16 ? 3.2923 : i == 17 ? 9.6667 : 32;
    EXPECT_NEAR(divisor, want, 5e-5) << "pair " << i;
  }
}

TEST(RopeScaling, SettingsThatGiveNoNumbersAreRefused) {
  const auto refusal = [](RopeSettings settings) {
    settings.rotated = 8;
    const auto rope = make_rope(settings, 0, "x.gguf");
    return rope ? std::string() : rope.error().message;
  };
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({.base = NAN}), "x.gguf: the rotary base is not a number above 0; use another file");
  EXPECT_NE(refusal({.base = 0}), "");
  EXPECT_NE(refusal({.base = -1}), "");
  EXPECT_NE(refusal({.base = INFINITY}), "");
  EXPECT_NE(refusal({.scaling = RopeScaling::kLinear, .factor = 0}), "");
  EXPECT_NE(refusal({.scaling = RopeScaling::kYarn, .factor = NAN, .original_context = 4}), "");
  EXPECT_EQ(refusal({.scaling = RopeScaling::kYarn, .factor = 2}),
            "x.gguf: the rotary scaling needs the original context length, and it is not given; use another file");
  EXPECT_NE(refusal({.scaling = RopeScaling::kYarn, .base = 1, .factor = 2, .original_context = 4096}), "");
  EXPECT_NE(refusal({.scaling = RopeScaling::kLlama3, .factor = 2, .original_context = 64, .high_freq_factor = 1}), "");
  RopeSettings longrope{.scaling = RopeScaling::kLongrope, .factor = 2, .original_context = 64};
  longrope.short_factor = {1, 1, 1};
  EXPECT_EQ(refusal(longrope), "x.gguf: short_factor: 3 divisors for 4 rotary pairs; use another file");
  longrope.short_factor = {1, 1, 0, 1};
  EXPECT_EQ(refusal(longrope), "x.gguf: short_factor: entry 2 is not a number above 0; use another file");
}

}  // namespace
}  // namespace anedvd
