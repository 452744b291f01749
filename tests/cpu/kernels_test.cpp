// Every SIMD level of this machine against the scalar one, bit for bit, and the scalar one against double arithmetic.
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "base/half.h"
#include "cpu/pack.h"
#include "cpu/tested_kernels.h"
#include "tensor/view.h"

namespace anedvd {
namespace {

struct FormatCase {
  DType dtype;
  std::vector<int> scale_offsets;  // where a block holds fp16 scales
};

const FormatCase kFormats[] = {
    {DType::kQ4_0, {0}},      {DType::kQ4_1, {0, 2}}, {DType::kQ5_0, {0}},    {DType::kQ5_1, {0, 2}},
    {DType::kQ8_0, {0}},      {DType::kIQ4_NL, {0}},  {DType::kMXFP4, {}},    {DType::kIQ4_XS, {0}},
    {DType::kQ2_K, {80, 82}}, {DType::kQ3_K, {108}},  {DType::kQ4_K, {0, 2}}, {DType::kQ5_K, {0, 2}},
    {DType::kQ6_K, {208}},
};

std::string level_name(const testing::TestParamInfo<const KernelTable*>& info) { return info.param->name; }

class Kernels : public testing::TestWithParam<const KernelTable*> {
 protected:
  const KernelTable& level() const { return *GetParam(); }
  const KernelTable& scalar() const { return *scalar_kernels(); }

  std::vector<float> random_floats(size_t n, float spread = 1) {
    std::normal_distribution<float> normal(0, spread);
    // Room for whole vectors, filled with what must not matter.
    std::vector<float> values((n + kLanes - 1) / kLanes * kLanes, 1e30f);
    for (size_t i = 0; i < n; ++i) values[i] = normal(rng_);
    return values;
  }

  // Random quants under scales of ordinary size, of either sign, one in eight zero.
  std::vector<std::byte> random_rows(const FormatCase& c, int64_t rows, int64_t cols) {
    const QuantFormat& format = format_of(c.dtype);
    const int64_t blocks = rows * (cols / format.block_elements);
    std::vector<std::byte> bytes(size_t(blocks * format.block_bytes));
    for (std::byte& b : bytes) b = std::byte(rng_());
    if (c.dtype == DType::kMXFP4)  // a power of two from 2^-18 to 2^-3
      for (int64_t b = 0; b < blocks; ++b) bytes[size_t(b * format.block_bytes)] = std::byte(110 + rng_() % 16);
    for (int64_t b = 0; b < blocks; ++b)
      for (const int offset : c.scale_offsets) {
        const float scale = rng_() % 8 == 0 ? 0.0f : float(int(rng_() % 2001) - 1000) * 1e-5f;
        const uint16_t half = float_to_half(scale);
        std::memcpy(&bytes[size_t(b * format.block_bytes + offset)], &half, 2);
      }
    return bytes;
  }

  std::mt19937 rng_{7};
};

void expect_same_bits(std::span<const float> want, std::span<const float> got, const std::string& what) {
  for (size_t i = 0; i < want.size(); ++i)
    ASSERT_EQ(std::bit_cast<uint32_t>(want[i]), std::bit_cast<uint32_t>(got[i]))
        << what << " element " << i << ": want " << want[i] << ", got " << got[i];
}

struct Quantised {
  std::vector<int8_t> q;
  std::vector<float> scale;
  std::vector<int32_t> sum;
};

Quantised quantise(const KernelTable& kernels, const std::vector<float>& x, int columns, int64_t cols) {
  Quantised out{std::vector<int8_t>(size_t(columns * cols)), std::vector<float>(size_t(columns * cols / kBlock * 2)),
                std::vector<int32_t>(size_t(columns * cols / kBlock * 2))};
  kernels.quantize(x.data(), columns * cols, out.q.data(), out.scale.data(), out.sum.data());
  return out;
}

// out[column][16·panels]
std::vector<float> multiply(const KernelTable& kernels, PackFormat format, const std::vector<std::byte>& packed,
                            int panels, int64_t cols, const Quantised& x, int columns) {
  std::vector<float> out(size_t(columns) * size_t(panels) * kLanes);
  LinearArgs args{};
  args.panels = packed.data();
  args.panel_stride = packed_panel_bytes(format, cols);
  args.panel_count = panels;
  args.inputs = int(cols);
  args.blocks = int(cols / kBlock);
  args.q = x.q.data();
  args.scale = x.scale.data();
  args.sum = x.sum.data();
  args.columns = columns;
  args.out = out.data();
  args.out_stride = int64_t(panels) * kLanes;
  kernels.linear[format](args);
  return out;
}

std::vector<std::byte> pack(const FormatCase& c, const std::vector<std::byte>& rows, int64_t count, int64_t cols) {
  const PackFormat format = *pack_format(c.dtype);
  const int64_t row_bytes = cols / format_of(c.dtype).block_elements * format_of(c.dtype).block_bytes;
  const int64_t panels = (count + kLanes - 1) / kLanes;
  // Some room behind, as the arena has: the kernels fetch ahead.
  std::vector<std::byte> packed(size_t(panels * packed_panel_bytes(format, cols)));
  for (int64_t p = 0; p < panels; ++p) {
    std::array<const std::byte*, kLanes> lanes{};
    for (int64_t i = 0; i < kLanes && p * kLanes + i < count; ++i)
      lanes[size_t(i)] = rows.data() + (p * kLanes + i) * row_bytes;
    pack_panel(format, lanes, cols, packed.data() + p * packed_panel_bytes(format, cols));
  }
  return packed;
}

TEST_P(Kernels, LinearHasTheScalarBitsAtEveryWidth) {
  constexpr int64_t kRows = 83, kCols = 768;
  constexpr int kPanels = 6;
  for (const FormatCase& c : kFormats) {
    const auto packed = pack(c, random_rows(c, kRows, kCols), kRows, kCols);
    for (const int columns : {1, 2, 3, 4, 5, 6, 7, 8, 13, 16, 17, 35}) {
      const auto x = random_floats(size_t(columns * kCols));
      const Quantised q = quantise(scalar(), x, columns, kCols);
      const PackFormat format = *pack_format(c.dtype);
      expect_same_bits(multiply(scalar(), format, packed, kPanels, kCols, q, columns),
                       multiply(level(), format, packed, kPanels, kCols, q, columns),
                       fmt::format("{} × {} columns", format_of(c.dtype).name, columns));
    }
  }
}

// Kernels that take the inputs in parts: less than one, exactly one, one and a bit, several.
TEST_P(Kernels, LinearHasTheScalarBitsAtEveryLength) {
  constexpr int64_t kRows = 32;
  constexpr int kPanels = 2;
  for (const FormatCase& c : kFormats) {
    const PackFormat format = *pack_format(c.dtype);
    const int64_t unit = format_of(c.dtype).block_elements;
    for (const int64_t cols : {unit, int64_t(1024), 1024 + unit, int64_t(2304)}) {
      const auto packed = pack(c, random_rows(c, kRows, cols), kRows, cols);
      for (const int columns : {2, 16, 19}) {
        const auto x = random_floats(size_t(columns * cols));
        const Quantised q = quantise(scalar(), x, columns, cols);
        expect_same_bits(multiply(scalar(), format, packed, kPanels, cols, q, columns),
                         multiply(level(), format, packed, kPanels, cols, q, columns),
                         fmt::format("{}, {} inputs × {} columns", format_of(c.dtype).name, cols, columns));
      }
    }
  }
}

TEST_P(Kernels, AColumnDoesNotDependOnItsNeighbours) {
  constexpr int64_t kRows = 32, kCols = 512;
  constexpr int kColumns = 37;
  for (const FormatCase& c : kFormats) {
    const auto packed = pack(c, random_rows(c, kRows, kCols), kRows, kCols);
    const auto x = random_floats(size_t(kColumns * kCols));
    const PackFormat format = *pack_format(c.dtype);
    const auto together = multiply(level(), format, packed, 2, kCols, quantise(level(), x, kColumns, kCols), kColumns);
    for (int column = 0; column < kColumns; ++column) {
      const std::vector<float> one(x.begin() + column * kCols, x.begin() + (column + 1) * kCols);
      const auto alone = multiply(level(), format, packed, 2, kCols, quantise(level(), one, 1, kCols), 1);
      expect_same_bits(std::span(together).subspan(size_t(column) * 32, 32), alone, "column");
    }
  }
}

// The quantised activations are what the kernel gets, so against exact arithmetic on them only float rounding is left: 768 products in
// 24 … 48 fused steps, each within 2^-24 of the largest partial sum.
TEST_P(Kernels, LinearIsTheDotProductOfDequantisedRows) {
  constexpr int64_t kRows = 48, kCols = 768;
  constexpr double kTolerance = 48 * 0x1p-24;
  for (const FormatCase& c : kFormats) {
    const auto rows = random_rows(c, kRows, kCols);
    const auto x = random_floats(size_t(2 * kCols));
    const Quantised q = quantise(level(), x, 2, kCols);
    const auto got = multiply(level(), *pack_format(c.dtype), pack(c, rows, kRows, kCols), 3, kCols, q, 2);
    TensorView view{.name = "w", .dtype = c.dtype, .shape = {kRows, kCols}, .bytes = rows};
    std::vector<float> weights(size_t(kRows * kCols));
    dequantize(view, 0, kRows, weights);
    for (int column = 0; column < 2; ++column)
      for (int64_t r = 0; r < kRows; ++r) {
        double want = 0, magnitude = 0;
        for (int64_t k = 0; k < kCols; ++k) {
          const size_t at = size_t(column * kCols + k);
          const double term =
              double(weights[size_t(r * kCols + k)]) * q.q[at] * double(q.scale[size_t(at) / kBlock * 2]);
          want += term;
          magnitude += std::fabs(term);
        }
        ASSERT_NEAR(want, got[size_t(column * kRows + r)], kTolerance * magnitude)
            << format_of(c.dtype).name << " row " << r << " column " << column;
      }
  }
}

// F16, BF16 and F32 weights against float activations, also with an odd number of inputs.
TEST_P(Kernels, LinearOfNumbersHasTheScalarBitsAndIsTheDotProduct) {
  constexpr int64_t kRows = 40;
  constexpr int kPanels = 3;
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32}) {
    for (const int64_t cols : {1, 33, 320}) {
      const QuantFormat& format = format_of(dtype);
      std::vector<std::byte> rows(size_t(kRows * cols * format.block_bytes));
      const auto numbers = random_floats(size_t(kRows * cols));
      for (size_t i = 0; i < size_t(kRows * cols); ++i) {
        const uint32_t bits = std::bit_cast<uint32_t>(numbers[i]);
        const uint16_t word = dtype == DType::kF16 ? float_to_half(numbers[i]) : uint16_t(bits >> 16);
        std::memcpy(&rows[i * size_t(format.block_bytes)],
                    dtype == DType::kF32 ? static_cast<const void*>(&bits) : &word, size_t(format.block_bytes));
      }
      std::vector<float> weights(size_t(kRows * cols));
      dequantize({.name = "w", .dtype = dtype, .shape = {kRows, cols}, .bytes = rows}, 0, kRows, weights);
      const auto packed = pack({dtype, {}}, rows, kRows, cols);
      for (const int columns : {1, 2, 5, 8}) {
        const auto x = random_floats(size_t(columns * cols));
        const auto run = [&](const KernelTable& kernels) {
          std::vector<float> out(size_t(columns) * kPanels * kLanes);
          LinearArgs args{};
          args.panels = packed.data();
          args.panel_stride = packed_panel_bytes(*pack_format(dtype), cols);
          args.panel_count = kPanels;
          args.inputs = int(cols);
          args.x = x.data();
          args.x_stride = cols;
          args.columns = columns;
          args.out = out.data();
          args.out_stride = kPanels * kLanes;
          kernels.linear[*pack_format(dtype)](args);
          return out;
        };
        const auto got = run(level());
        expect_same_bits(run(scalar()), got, std::string(format.name));
        for (int c = 0; c < columns; ++c)
          for (int64_t r = 0; r < kRows; ++r) {
            double want = 0, magnitude = 0;
            for (int64_t k = 0; k < cols; ++k) {
              const double term = double(weights[size_t(r * cols + k)]) * double(x[size_t(c * cols + k)]);
              want += term;
              magnitude += std::fabs(term);
            }
            // Two chains of 160 fused steps, each within 2^-24.
            ASSERT_NEAR(want, got[size_t(c * kPanels * kLanes + r)], 162 * 0x1p-24 * magnitude)
                << format.name << " row " << r;
          }
      }
    }
  }
}

TEST_P(Kernels, QuantiseRoundsToNearestEvenAndSumsHalves) {
  std::vector<float> x(64);
  for (int i = 0; i < 32; ++i) x[size_t(i)] = float(i) - 15.5f;  // halves: scale makes 127 of 16.5
  x[0] = 127;
  x[1] = 2.5f;
  x[2] = 3.5f;
  x[3] = -2.5f;
  const Quantised q = quantise(level(), x, 1, 64);
  EXPECT_EQ(q.scale[0], 1.0f);
  EXPECT_EQ(q.q[1], 2);
  EXPECT_EQ(q.q[2], 4);
  EXPECT_EQ(q.q[3], -2);
  int first = 0, second = 0;
  for (int i = 0; i < 16; ++i) first += q.q[size_t(i)], second += q.q[size_t(16 + i)];
  EXPECT_EQ(q.sum[0], first);
  EXPECT_EQ(q.sum[1], second);
  EXPECT_EQ(q.scale[2], 0.0f);  // a block of zeros
  EXPECT_EQ(q.sum[2], 0);
}

TEST_P(Kernels, ColumnFunctionsHaveTheScalarBits) {
  for (const int n : {1, 15, 16, 17, 64, 100, 576, 1000}) {
    const auto x = random_floats(size_t(n), 4), y = random_floats(size_t(n)), w = random_floats(size_t(n));
    const auto both = [&](auto run, const char* what) {
      std::vector<float> want(x.size()), got(x.size());
      run(scalar(), want.data());
      run(level(), got.data());
      expect_same_bits(std::span(want).first(size_t(n)), std::span(got).first(size_t(n)),
                       fmt::format("{} of {}", what, n));
    };
    both([&](const KernelTable& k, float* out) { k.rms_norm(x.data(), w.data(), 1e-5f, n, out); }, "rms_norm");
    both([&](const KernelTable& k, float* out) { k.rms_norm(x.data(), nullptr, 1e-5f, n, out); },
         "rms_norm without weight");
    both([&](const KernelTable& k, float* out) { k.add(x.data(), y.data(), n, out); }, "add");
    both([&](const KernelTable& k, float* out) { k.mul(x.data(), y.data(), n, out); }, "mul");
    both([&](const KernelTable& k, float* out) { k.scale(x.data(), 0.37f, n, out); }, "scale");
    both([&](const KernelTable& k, float* out) { k.silu(x.data(), n, out); }, "silu");
    both([&](const KernelTable& k, float* out) { k.gelu(x.data(), n, out); }, "gelu");
    both([&](const KernelTable& k, float* out) { k.softcap(x.data(), 3.0f, n, out); }, "softcap");
    both([&](const KernelTable& k, float* out) { out[0] = k.dot(x.data(), y.data(), n); }, "dot");
  }
}

TEST_P(Kernels, ColumnFunctionsAreTheirFormulas) {
  constexpr int kN = 4096;
  std::vector<float> x(kN), out(kN);
  for (int i = 0; i < kN; ++i) x[size_t(i)] = float(i - kN / 2) / 64.0f;  // −32 … 32
  level().silu(x.data(), kN, out.data());
  for (int i = 0; i < kN; ++i) {
    const double v = x[size_t(i)], want = v / (1 + std::exp(-v));
    ASSERT_NEAR(want, out[size_t(i)], std::max(1e-36, std::fabs(want) * 4e-7)) << "silu " << v;
  }
  level().gelu(x.data(), kN, out.data());
  for (int i = 0; i < kN; ++i) {
    const double v = x[size_t(i)], want = 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
    ASSERT_NEAR(want, out[size_t(i)], 3e-7 * std::max(1.0, std::fabs(v))) << "gelu " << v;
  }
  level().softcap(x.data(), 5.0f, kN, out.data());
  for (int i = 0; i < kN; ++i) {
    const double v = x[size_t(i)], want = 5 * std::tanh(v / 5);
    ASSERT_NEAR(want, out[size_t(i)], 1e-6 * std::fabs(want)) << "softcap " << v;
  }
}

TEST_P(Kernels, RopeHasTheScalarBitsAndKeepsTheUnrotatedRest) {
  for (const auto& [pairs, head_dim] : {std::pair{32, 64}, {8, 16}, {24, 64}, {5, 12}}) {
    const int heads = 3;
    const auto x = random_floats(size_t(heads * head_dim)), c = random_floats(size_t(pairs)),
               s = random_floats(size_t(pairs));
    std::vector<float> want(x.size()), got(x.size());
    scalar().rope(x.data(), c.data(), s.data(), pairs, head_dim, heads, want.data());
    level().rope(x.data(), c.data(), s.data(), pairs, head_dim, heads, got.data());
    expect_same_bits(std::span(want).first(size_t(heads * head_dim)), std::span(got).first(size_t(heads * head_dim)),
                     "rope");
    EXPECT_EQ(got[0], x[0] * c[0] - x[size_t(pairs)] * s[0]);
    if (2 * pairs < head_dim) {
      EXPECT_EQ(got[size_t(2 * pairs)], x[size_t(2 * pairs)]);
    }
  }
}

struct Cache {
  int head_dim, padded_dim;
  std::vector<std::vector<uint16_t>> pages;
  std::vector<std::vector<float>> k, v;  // rounded to fp16, by position

  std::vector<const uint16_t*> pointers() const {
    std::vector<const uint16_t*> result;
    for (const auto& page : pages) result.push_back(page.data());
    return result;
  }
};

TEST_P(Kernels, AttentionOverAChunkIsSoftmaxOfScores) {
  for (const int head_dim : {64, 128, 24, 10}) {
    for (const float softcap : {0.0f, 2.0f}) {
      const int padded_dim = (head_dim + 15) / 16 * 16, positions = 100;
      Cache cache{head_dim, padded_dim, {}, {}, {}};
      cache.pages.assign(7,
                         std::vector<uint16_t>(size_t(2 * 16 * padded_dim), 0x7e00));  // NaN where nothing was written
      for (int p = 0; p < positions; ++p) {
        auto k = random_floats(size_t(head_dim)), v = random_floats(size_t(head_dim));
        level().append_kv(k.data(), v.data(), head_dim, padded_dim, p % 16, cache.pages[size_t(p / 16)].data());
        for (int d = 0; d < head_dim; ++d) {
          k[size_t(d)] = half_to_float(float_to_half(k[size_t(d)]));
          v[size_t(d)] = half_to_float(float_to_half(v[size_t(d)]));
        }
        cache.k.push_back(k);
        cache.v.push_back(v);
      }
      const auto pages = cache.pointers();
      const std::pair<int, int> ranges[] = {{0, 1}, {0, 100}, {37, 38}, {17, 81}, {0, 16}, {3, 100}, {90, 100}};
      std::vector<std::vector<float>> queries, records;
      std::vector<AttentionQuery> list;
      for (const auto& [begin, end] : ranges) {
        queries.push_back(random_floats(size_t(head_dim)));
        records.emplace_back(size_t(padded_dim + kLanes));
        float* record = records.back().data();
        list.push_back({queries.back().data(), record, record + padded_dim, record + padded_dim + 1, begin, end});
      }
      std::vector<float> scores(kAttentionTile * kAttentionChunk);
      level().attention_chunk({pages.data(), softcap > 0 ? pages.data() : nullptr, head_dim, padded_dim, 0.25f, softcap,
                               list.data(), int(list.size()), scores.data()});
      for (size_t i = 0; i < list.size(); ++i) {
        std::vector<float> out(size_t(padded_dim), -1);
        level().attention_merge(records[i].data(), padded_dim + kLanes, 1, head_dim, padded_dim, out.data());
        std::vector<double> want(size_t(head_dim), 0);
        double total = 0;
        for (int p = list[i].begin; p < list[i].end; ++p) {
          double score = 0;
          for (int d = 0; d < head_dim; ++d)
            score += double(queries[i][size_t(d)]) * double(cache.k[size_t(p)][size_t(d)]);
          score *= 0.25;
          if (softcap > 0) score = softcap * std::tanh(score / softcap);
          const double weight = std::exp(score);
          total += weight;
          for (int d = 0; d < head_dim; ++d) want[size_t(d)] += weight * double(cache.v[size_t(p)][size_t(d)]);
        }
        for (int d = 0; d < head_dim; ++d)
          ASSERT_NEAR(want[size_t(d)] / total, out[size_t(d)], 5e-6)
              << "head " << head_dim << " query " << i << " dim " << d;
        for (int d = head_dim; d < padded_dim; ++d) ASSERT_EQ(out[size_t(d)], -1) << "wrote past the head";
      }
    }
  }
}

TEST_P(Kernels, AttentionOfAQueryDoesNotDependOnTheTile) {
  constexpr int kHead = 64, kPositions = 128;
  std::vector<std::vector<uint16_t>> pages(8, std::vector<uint16_t>(2 * 16 * kHead));
  for (int p = 0; p < kPositions; ++p) {
    const auto k = random_floats(kHead), v = random_floats(kHead);
    level().append_kv(k.data(), v.data(), kHead, kHead, p % 16, pages[size_t(p / 16)].data());
  }
  std::vector<const uint16_t*> pointers;
  for (const auto& page : pages) pointers.push_back(page.data());
  std::vector<float> scores(kAttentionTile * kAttentionChunk);
  const auto run = [&](const KernelTable& kernels, int first, int count) {
    std::mt19937 seed(3);
    rng_ = seed;
    std::vector<std::vector<float>> queries, records;
    std::vector<AttentionQuery> list;
    for (int i = 0; i < 7; ++i) {
      queries.push_back(random_floats(kHead));
      records.emplace_back(size_t(kHead + kLanes));
    }
    for (int i = first; i < first + count; ++i) {
      float* record = records[size_t(i)].data();
      list.push_back({queries[size_t(i)].data(), record, record + kHead, record + kHead + 1, 5 * i, 60 + 9 * i});
    }
    const uint16_t* const* ahead = count == 1 ? pointers.data() : nullptr;  // what is fetched ahead changes nothing
    kernels.attention_chunk({pointers.data(), ahead, kHead, kHead, 0.125f, 0, list.data(), count, scores.data()});
    return records;
  };
  const auto together = run(level(), 0, 7);
  const auto reference = run(scalar(), 0, 7);
  for (int i = 0; i < 7; ++i) {
    const auto alone = run(level(), i, 1);
    expect_same_bits(std::span(together[size_t(i)]).first(kHead + 2), std::span(alone[size_t(i)]).first(kHead + 2),
                     "alone");
    expect_same_bits(std::span(reference[size_t(i)]).first(kHead + 2), std::span(together[size_t(i)]).first(kHead + 2),
                     "scalar");
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, Kernels, testing::ValuesIn(tested_kernels()), level_name);

TEST(SelectKernels, RefusesALevelThatIsNotThere) {
  ::setenv("ANEDVD_SIMD", "mmx", 1);
  const auto result = select_kernels();
  ::unsetenv("ANEDVD_SIMD");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kUsage);
  EXPECT_NE(result.error().message.find("ANEDVD_SIMD=mmx"), std::string::npos);
}

}  // namespace
}  // namespace anedvd
