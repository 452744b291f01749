// Cost of moving a program's columns between rows of floats and the chip's planes of halves: 3,072 channels (qkv or the FFN of a 1B model), 1 and 64
// columns. Bytes are those of the floats and of the cache lines that the planes touch.
#include <vector>

#include <benchmark/benchmark.h>

#include "ane/planar.h"

namespace {

constexpr int64_t kChannels = 3072;

struct Planes {
  explicit Planes(int width) {
    const int64_t stride = (int64_t(width) * 2 + 63) / 64 * 64;
    layout = {"x", 0, kChannels, width, stride, stride * kChannels};
    surface.resize(size_t(layout.bytes));
    rows.assign(size_t(width) * kChannels, 0.5f);
    factors.assign(size_t(width), 1.0f);
  }
  int64_t bytes() const { return int64_t(rows.size() * sizeof(float)) + layout.bytes; }

  anedvd::TensorLayout layout;
  std::vector<std::byte> surface;
  std::vector<float> rows, factors;
};

void scatter(benchmark::State& state) {
  Planes planes(int(state.range(0)));
  for (auto _ : state) {
    anedvd::scatter_planes(planes.rows.data(), kChannels, 0, kChannels, int(state.range(0)), planes.factors,
                           planes.layout, planes.surface);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * planes.bytes());
}

void gather(benchmark::State& state) {
  Planes planes(int(state.range(0)));
  for (auto _ : state) {
    bool is_finite = anedvd::gather_planes(planes.surface, planes.layout, 0, kChannels, int(state.range(0)),
                                           planes.factors, planes.rows.data(), kChannels);
    benchmark::DoNotOptimize(is_finite);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * planes.bytes());
}

BENCHMARK(scatter)->Arg(1)->Arg(64)->Unit(benchmark::kMicrosecond);
BENCHMARK(gather)->Arg(1)->Arg(64)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
