// Cost of one draw over a vocabulary of 151,936 (Qwen 2 and 3). Budget: 0.05 ms with top-k 40.
#include <random>

#include <benchmark/benchmark.h>

#include "sampling/sampler.h"

namespace {

std::vector<float> logits_of_a_model() {
  std::mt19937 rng(1);
  std::normal_distribution<float> normal(0, 2.5f);
  std::vector<float> logits(151936);
  for (float& x : logits) x = normal(rng);
  logits[777] = 17;  // one favourite and some rivals, as after real text
  for (size_t i = 0; i < 30; ++i) logits[i * 4001] = 12;
  return logits;
}

void draw(benchmark::State& state, const anedvd::SamplingParams& params, bool with_history) {
  const auto logits = logits_of_a_model();
  anedvd::Sampler sampler(params);
  if (with_history)
    for (int32_t i = 0; i < 64; ++i) sampler.accept(i * 1999);
  for (auto _ : state) benchmark::DoNotOptimize(sampler.sample(logits));
}

anedvd::SamplingParams with(float temperature, int top_k, float top_p) {
  anedvd::SamplingParams params;
  params.temperature = temperature;
  params.top_k = top_k;
  params.top_p = top_p;
  params.seed = 1;
  return params;
}

void greedy(benchmark::State& state) { draw(state, with(0, 0, 1), false); }
void top_k_40(benchmark::State& state) { draw(state, with(0.8f, 40, 0.95f), false); }
void top_p_only(benchmark::State& state) { draw(state, with(0.8f, 0, 0.95f), false); }
void no_truncation(benchmark::State& state) { draw(state, with(0.8f, 0, 1), false); }
void top_k_40_with_penalties(benchmark::State& state) {
  auto params = with(0.8f, 40, 0.95f);
  params.repeat_penalty = 1.1f;
  params.presence_penalty = 0.5f;
  draw(state, params, true);
}

BENCHMARK(greedy)->Unit(benchmark::kMicrosecond);
BENCHMARK(top_k_40)->Unit(benchmark::kMicrosecond);
BENCHMARK(top_k_40_with_penalties)->Unit(benchmark::kMicrosecond);
BENCHMARK(top_p_only)->Unit(benchmark::kMicrosecond);
BENCHMARK(no_truncation)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
