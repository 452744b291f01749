#include "sampling/sampler.h"

#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "sampling/random.h"
#include "sampling/reference.h"

namespace anedvd {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::vector<float> random_logits(std::mt19937& rng, size_t vocab, float spread) {
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> logits(vocab);
  for (float& x : logits) x = normal(rng);
  return logits;
}

SamplingParams greedy() {
  SamplingParams params;
  params.temperature = 0;
  return params;
}

TEST(Sampler, GreedyTakesTheLargestAndTheLowestIdOnTiesWhateverElseIsSet) {
  for (const size_t vocab : {1u, 2u, 63u, 64u, 65u, 128u, 1000u, 49152u}) {
    for (size_t at = 0; at < vocab; at += 1 + vocab / 7) {
      std::vector<float> logits(vocab, -1.5f);
      logits[at] = 2.0f;
      logits[vocab - 1] = 2.0f;
      SamplingParams params = greedy();
      params.top_k = 1;
      params.top_p = 1e-6f;
      params.min_p = 1.0f;
      params.seed = at;
      EXPECT_EQ(*Sampler(params).sample(logits), int32_t(at)) << "vocabulary " << vocab;
    }
  }
}

TEST(Sampler, ZeroAndMinusZeroAreATie) { EXPECT_EQ(*Sampler(greedy()).sample(std::vector{-1.f, -0.f, 0.f}), 1); }

TEST(Sampler, GreedySeesBiasAndPenalties) {
  SamplingParams params = greedy();
  params.logit_bias = {{1, 5.0f}};
  EXPECT_EQ(*Sampler(params).sample(std::vector{3.f, 0.f, 1.f}), 1);
  params.logit_bias = {{0, -kInfinity}};
  EXPECT_EQ(*Sampler(params).sample(std::vector{3.f, 0.f, 1.f}), 2);

  params = greedy();
  params.repeat_penalty = 4;
  Sampler sampler(params);
  sampler.accept(0);
  EXPECT_EQ(*sampler.sample(std::vector{3.f, 0.f, 1.f}), 2);
}

TEST(Sampler, NumbersThatAreNotFiniteAreAnErrorWhereverTheyStand) {
  std::mt19937 rng(7);
  for (const float bad : {kNaN, -kNaN, kInfinity}) {
    for (size_t at = 0; at < 200; ++at) {
      std::vector<float> logits = random_logits(rng, 200, 3);
      logits[at] = bad;
      for (const float temperature : {0.0f, 1.0f}) {
        SamplingParams params;
        params.temperature = temperature;
        // A ban on the bad token does not hide it: the model is broken all the same.
        if (at % 2 == 0) params.logit_bias = {{int32_t(at), -kInfinity}};
        const auto token = Sampler(params).sample(logits);
        ASSERT_FALSE(token) << "at " << at << " temperature " << temperature << " gave " << *token;
        EXPECT_EQ(token.error().code, ErrorCode::kNumeric);
        EXPECT_NE(token.error().message.find(fmt::format("token {} ", at)), std::string::npos) << token.error().message;
      }
    }
  }
}

TEST(Sampler, NothingLeftIsAnError) {
  for (const float temperature : {0.0f, 1.0f}) {
    SamplingParams params;
    params.temperature = temperature;
    for (const size_t vocab : {0u, 1u, 64u, 100u}) {
      const auto token = Sampler(params).sample(std::vector<float>(vocab, -kInfinity));
      ASSERT_FALSE(token);
      EXPECT_EQ(token.error().code, ErrorCode::kNumeric);
    }
  }
}

TEST(Sampler, BiasThatOverflowsIsAnErrorAndNotAToken) {
  SamplingParams params;
  params.logit_bias = {{1, std::numeric_limits<float>::max()}};
  const auto token = Sampler(params).sample(std::vector{1.f, std::numeric_limits<float>::max(), 1.f});
  ASSERT_FALSE(token);
  EXPECT_EQ(token.error().code, ErrorCode::kNumeric);
}

TEST(Sampler, InfiniteBiasForcesAndBans) {
  SamplingParams params;
  params.temperature = 5;
  params.logit_bias = {{0, -kInfinity}, {3, -kInfinity}};
  Sampler banned(params);
  for (int i = 0; i < 300; ++i) {
    const int32_t token = *banned.sample(std::vector{9.f, 1.f, 1.f, 9.f});
    EXPECT_TRUE(token == 1 || token == 2) << token;
  }
  params.logit_bias = {{2, kInfinity}, {1, kInfinity}, {3, kInfinity}, {3, -kInfinity}};
  for (const float temperature : {0.0f, 5.0f}) {
    params.temperature = temperature;
    Sampler forced(params);
    bool seen[4] = {};
    for (int i = 0; i < 300; ++i) seen[*forced.sample(std::vector{50.f, 1.f, 1.f, 50.f})] = true;
    EXPECT_FALSE(seen[0] || seen[3]);
    EXPECT_TRUE(seen[1]);
    EXPECT_EQ(seen[2], temperature > 0);  // greedy: the lowest of the two
  }
}

// The draw walks a cumulative sum; checking frequencies against the reference covers the set and the weights.
// Fixed seeds: the figure is the same each run, the bound is the 1 − 10^-6 quantile by Wilson and Hilferty.
void expect_same_distribution(const SamplingParams& params, const std::vector<float>& logits,
                              const std::map<int32_t, double>& expected, Sampler& sampler, const std::string& what) {
  constexpr int kDraws = 20000;
  std::map<int32_t, int> counts;
  for (int i = 0; i < kDraws; ++i) {
    const auto token = sampler.sample(logits);
    ASSERT_TRUE(token) << what << token.error().message;
    ASSERT_TRUE(expected.count(*token) != 0) << what << "token " << *token << " cannot be drawn";
    ++counts[*token];
  }
  double chi = 0, rest_expected = 0, rest_seen = 0;
  int cells = 0;
  for (const auto& [id, share] : expected) {
    const double want = share * kDraws, got = counts.count(id) != 0 ? counts[id] : 0;
    if (want < 8) {  // too rare for a cell of its own
      rest_expected += want;
      rest_seen += got;
      continue;
    }
    chi += (got - want) * (got - want) / want;
    ++cells;
  }
  if (rest_expected >= 8) {
    chi += (rest_seen - rest_expected) * (rest_seen - rest_expected) / rest_expected;
    ++cells;
  } else {
    EXPECT_LE(rest_seen, 40) << what;
  }
  if (cells < 2) return;
  const double freedom = cells - 1;
  const double bound = freedom * std::pow(1 - 2 / (9 * freedom) + 4.75 * std::sqrt(2 / (9 * freedom)), 3);
  EXPECT_LT(chi, bound) << what << cells << " cells; temperature " << params.temperature;
}

TEST(Sampler, DrawsFromTheDistributionOfTheReference) {
  std::mt19937 rng(11);
  int round = 0;
  for (const size_t vocab : {5u, 64u, 1000u, 3001u}) {
    for (const auto& [temperature, top_k, top_p, min_p] : {std::tuple{1.0f, 0, 1.0f, 0.0f},
                                                           {0.8f, 40, 0.95f, 0.0f},
                                                           {1.5f, 0, 0.9f, 0.0f},
                                                           {0.7f, 0, 1.0f, 0.05f},
                                                           {2.0f, 7, 1.0f, 0.2f},
                                                           {0.3f, 100, 0.99f, 0.01f},
                                                           {1.0f, 1, 0.5f, 0.0f},
                                                           {0.05f, 0, 1.0f, 0.0f}}) {
      SamplingParams params;
      params.temperature = temperature;
      params.top_k = top_k;
      params.top_p = top_p;
      params.min_p = min_p;
      params.repeat_penalty = 1.3f;
      params.repeat_last_n = 4;
      params.presence_penalty = 0.5f;
      params.frequency_penalty = 0.25f;
      params.logit_bias = {{0, 1.5f}, {3, -kInfinity}, {2, -0.5f}, {0, 0.5f}};
      params.seed = uint64_t(round);
      auto logits = random_logits(rng, vocab, 2.5f);
      for (size_t i = 4; i < vocab; i += 3) logits[i] = std::round(logits[i]);  // ties across every border
      const std::vector<int32_t> prompt = {1, 2, 4, 4, 1}, generated = {2, 2, 0, 2};
      Sampler sampler(params);
      sampler.accept_prompt(prompt);
      for (const int32_t token : generated) sampler.accept(token);
      const auto expected = reference::distribution(reference::adjust(logits, params, prompt, generated), params);
      expect_same_distribution(params, logits, expected, sampler, fmt::format("round {}: ", round++));
    }
  }
}

// Every token of the reference's set can come and no other: with equal weights (a very high temperature) all members show.
TEST(Sampler, KeepsExactlyTheReferencesCandidates) {
  std::mt19937 rng(3);
  for (int round = 0; round < 200; ++round) {
    SamplingParams params;
    params.temperature = 4;
    params.top_k = int(rng() % 12);
    params.top_p = params.top_k == 0 ? 0.3f : 0.5f + float(rng() % 50) / 100;
    params.min_p = round % 3 == 0 ? 0.3f : 0.0f;
    params.seed = rng();
    auto logits = random_logits(rng, 1 + rng() % 40, 3);
    for (float& x : logits)
      if (rng() % 2 != 0) x = std::round(x);
    Sampler sampler(params);
    std::set<int32_t> seen;
    for (int i = 0; i < 4000; ++i) seen.insert(*sampler.sample(logits));
    std::set<int32_t> expected;
    for (const auto& [id, share] : reference::distribution(logits, params)) expected.insert(id);
    EXPECT_EQ(seen, expected) << "round " << round;
  }
}

TEST(Sampler, RepeatPenaltyForgetsWhatLeftTheWindow) {
  SamplingParams params = greedy();
  params.repeat_penalty = 2;
  params.repeat_last_n = 3;
  const std::vector<float> logits = {4.f, 3.f, -1.f, -1.5f};
  Sampler sampler(params);
  sampler.accept_prompt(std::vector<int32_t>{0, 0, 0, 0, 0});
  EXPECT_EQ(*sampler.sample(logits), 1);
  sampler.accept(2);
  sampler.accept(2);
  EXPECT_EQ(*sampler.sample(logits), 1) << "one 0 is still in the window";
  sampler.accept(2);
  EXPECT_EQ(*sampler.sample(logits), 0);

  params.repeat_last_n = -1;
  Sampler everything(params);
  everything.accept_prompt(std::vector<int32_t>{0});
  for (int i = 0; i < 1000; ++i) everything.accept(2);
  EXPECT_EQ(*everything.sample(logits), 1);

  params.repeat_last_n = 0;
  Sampler off(params);
  off.accept(0);
  EXPECT_EQ(*off.sample(logits), 0);
}

TEST(Sampler, PresenceAndFrequencyLookAtGeneratedTokensOnly) {
  SamplingParams params = greedy();
  params.presence_penalty = 2;
  params.frequency_penalty = 2;
  Sampler sampler(params);
  sampler.accept_prompt(std::vector<int32_t>{0, 0, 0});
  const std::vector<float> logits = {7.5f, 2.f};
  EXPECT_EQ(*sampler.sample(logits), 0);
  sampler.accept(0);
  EXPECT_EQ(*sampler.sample(logits), 0) << "7.5 − 2 − 2 = 3.5";
  sampler.accept(0);
  EXPECT_EQ(*sampler.sample(logits), 1) << "7.5 − 2 − 4 = 1.5";
}

TEST(Sampler, TokensOutsideTheVocabularyTouchNothing) {
  SamplingParams params = greedy();
  params.repeat_penalty = 2;
  params.presence_penalty = 1;
  Sampler sampler(params);
  for (const int32_t id : {-1, 2, 1000000, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()})
    sampler.accept(id);
  EXPECT_EQ(*sampler.sample(std::vector{1.f, 2.f}), 1);
}

std::vector<int32_t> draw_many(std::optional<uint64_t> seed) {
  SamplingParams params;
  params.temperature = 1.2f;
  params.seed = seed;
  std::mt19937 rng(5);
  Sampler sampler(params);
  std::vector<int32_t> tokens;
  for (int i = 0; i < 64; ++i) tokens.push_back(*sampler.sample(random_logits(rng, 500, 1)));
  return tokens;
}

TEST(Sampler, SeedsDecideTheTokens) {
  EXPECT_EQ(draw_many(42), draw_many(42));
  EXPECT_NE(draw_many(42), draw_many(43));
  EXPECT_EQ(draw_many(0), draw_many(0));
  EXPECT_NE(draw_many(0), draw_many(1));
  EXPECT_NE(draw_many(std::nullopt), draw_many(std::nullopt));
}

TEST(Sampler, TellsTheSeedItMadeUpAndThatSeedReplays) {
  SamplingParams params;
  params.temperature = 2;
  std::mt19937 rng(9);
  const auto logits = random_logits(rng, 300, 1);
  Sampler first(params);
  params.seed = first.seed();
  Sampler second(params);
  EXPECT_EQ(second.seed(), first.seed());
  for (int i = 0; i < 50; ++i) EXPECT_EQ(*first.sample(logits), *second.sample(logits));
  params.seed = 0;
  EXPECT_EQ(Sampler(params).seed(), 0u);
}

TEST(Sampler, SeedsItMadeUpAreWholeNumbersOfJson) {
  uint64_t largest = 0;
  for (int i = 0; i < 64; ++i) largest = std::max(largest, Sampler({}).seed());
  EXPECT_LT(largest, uint64_t(1) << 53);
  EXPECT_GT(largest, uint64_t(1) << 48);
}

TEST(UniformDraw, IsEvenAndUncorrelated) {
  // Neighbouring seeds and neighbouring draws, 64 cells each: chi-square within the 1 − 10^-6 quantile of 63 degrees of freedom (129).
  for (const bool across_seeds : {false, true}) {
    int cells[64] = {}, steps[64] = {};
    double previous = 0;
    for (uint64_t i = 0; i < 64000; ++i) {
      const double u = across_seeds ? uniform_draw(i, 0) : uniform_draw(0, i);
      ASSERT_GE(u, 0.0);
      ASSERT_LT(u, 1.0);
      ++cells[int(u * 64)];
      ++steps[int((u - previous + (u < previous ? 1 : 0)) * 64) % 64];
      previous = u;
    }
    double chi = 0, chi_steps = 0;
    for (int i = 0; i < 64; ++i) {
      chi += (cells[i] - 1000.0) * (cells[i] - 1000.0) / 1000;
      chi_steps += (steps[i] - 1000.0) * (steps[i] - 1000.0) / 1000;
    }
    EXPECT_LT(chi, 129);
    EXPECT_LT(chi_steps, 129);
  }
}

TEST(SamplingCheck, NamesTheFieldThatIsWrong) {
  const auto message = [](auto change) {
    SamplingParams params;
    change(params);
    const auto result = check(params, 100);
    if (result) return std::string("accepted");
    EXPECT_EQ(result.error().code, ErrorCode::kUsage);
    return result.error().message.substr(0, result.error().message.find(':'));
  };
  for (const float bad : {-0.1f, kNaN, kInfinity, -kInfinity}) {
    EXPECT_EQ(message([&](auto& p) { p.temperature = bad; }), "temperature") << bad;
    EXPECT_EQ(message([&](auto& p) { p.top_p = bad; }), "top_p") << bad;
    EXPECT_EQ(message([&](auto& p) { p.min_p = bad; }), "min_p") << bad;
    EXPECT_EQ(message([&](auto& p) { p.repeat_penalty = bad; }), "repeat_penalty") << bad;
  }
  EXPECT_EQ(message([](auto& p) { p.top_p = 0; }), "top_p");
  EXPECT_EQ(message([](auto& p) { p.top_p = 1.01f; }), "top_p");
  EXPECT_EQ(message([](auto& p) { p.min_p = 1.01f; }), "min_p");
  EXPECT_EQ(message([](auto& p) { p.repeat_penalty = 0; }), "repeat_penalty");
  EXPECT_EQ(message([](auto& p) { p.top_k = -1; }), "top_k");
  EXPECT_EQ(message([](auto& p) { p.repeat_last_n = -2; }), "repeat_last_n");
  EXPECT_EQ(message([](auto& p) { p.presence_penalty = 2.1f; }), "presence_penalty");
  EXPECT_EQ(message([](auto& p) { p.frequency_penalty = -2.1f; }), "frequency_penalty");
  EXPECT_EQ(message([](auto& p) { p.logit_bias = {{100, 1.f}}; }), "logit_bias");
  EXPECT_EQ(message([](auto& p) { p.logit_bias = {{-1, 1.f}}; }), "logit_bias");
  EXPECT_EQ(message([](auto& p) { p.logit_bias = {{1, kNaN}}; }), "logit_bias");
  EXPECT_EQ(message([](auto& p) { p.logit_bias = {{99, -kInfinity}, {0, 100.f}}; }), "accepted");
  EXPECT_EQ(message([](auto& p) { p.temperature = 0; }), "accepted");
  EXPECT_EQ(message([](auto& p) { p.repeat_last_n = -1; }), "accepted");
}

}  // namespace
}  // namespace anedvd
