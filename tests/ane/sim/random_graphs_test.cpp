// Random programs of every operation that the simulator computes: written, parsed and interpreted, they give what plain loops give.
#include <cmath>
#include <functional>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "ane/mil_text.h"
#include "ane/sim/signature.h"
#include "ane/sim/sim_driver.h"
#include "ane/small_program.h"
#include "base/half.h"

namespace anedvd::sim {
namespace {

constexpr double kBound = 8;  // of every value: what grows is clipped, so that nothing overflows or drowns

double half_of(double value) { return double(half_to_float(float_to_half(float(value)))); }

// A value of the program and what it should be: [channels][width].
struct Node {
  std::string name;
  int channels = 0, width = 0;
  std::vector<double> numbers;

  double at(int channel, int column) const {
    return numbers[size_t((channels == 1 ? 0 : channel) * width + (width == 1 ? 0 : column))];
  }
};

class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed)
      : random_(seed), width_(std::array{1, 33, 64}[seed % 3]), function_(MilDialect::kTerse, width_) {
    for (int i = 0; i < 2; ++i) {
      Node input{fmt::format("i{:02}", i), 4 * (1 + pick(3)), width_, {}};
      std::normal_distribution<double> normal(0, 1);
      for (int k = 0; k < input.channels * width_; ++k) input.numbers.push_back(half_of(normal(random_)));
      inputs.push_back({input.name, input.channels, width_});
      planes.emplace_back(input.numbers.begin(), input.numbers.end());
      nodes_.push_back(std::move(input));
    }
    // Whole numbers of steps are equal or not: only what has no error yet may be quantized.
    for (int i = 0; i < 2; ++i)
      i == 0 ? through_bytes(nodes_[0]) : unary("abs", nodes_[1], [](double v) { return std::abs(v); });
    for (int i = 0; i < 14; ++i) step();
    for (const Node& node : nodes_)
      if (!read_.contains(node.name)) outputs.push_back(node);
  }

  std::string text() const {
    std::vector<std::string> names;
    for (const Node& node : outputs) names.push_back(node.name);
    return function_.program(inputs, names);
  }

  std::vector<DeclaredTensor> inputs;
  std::vector<Plane> planes;
  std::vector<Node> outputs;
  std::vector<BlobRecordData> records;
  std::set<std::string> ops;

 private:
  int pick(int count) { return int(random_() % uint32_t(count)); }
  Node any() { return nodes_[size_t(pick(int(nodes_.size())))]; }
  std::string half(double value) { return function_.half(float(value)); }

  Node& emit(const std::string& op, const std::string& arguments, int channels, int width,
             const std::function<double(int, int)>& number) {
    Node node{{}, channels, width, {}};
    for (int c = 0; c < channels; ++c)
      for (int w = 0; w < width; ++w) node.numbers.push_back(half_of(number(c, w)));
    ops.insert(op);
    node.name = function_.raw(fmt::format("tensor<fp16, [1, {}, 1, {}]>", channels, width),
                              fmt::format("{}({})", op, arguments));
    nodes_.push_back(std::move(node));
    return nodes_.back();
  }

  std::string reads(const Node& node) {
    read_.insert(node.name);
    return node.name;
  }

  // The last value, within bounds: only that is read any further.
  void tame() {
    const Node x = nodes_.back();
    if (std::all_of(x.numbers.begin(), x.numbers.end(), [](double v) { return std::abs(v) <= kBound; })) return;
    nodes_.pop_back();
    emit("clip", fmt::format("x = {}, alpha = {}, beta = {}", reads(x), half(-kBound), half(kBound)), x.channels,
         x.width, [&](int c, int w) { return std::clamp(x.at(c, w), -kBound, kBound); });
  }

  void unary(const std::string& op, const Node& x, double (*f)(double), const std::string& more = {}) {
    emit(op, "x = " + reads(x) + more, x.channels, x.width, [&](int c, int w) { return f(x.at(c, w)); });
    tame();
  }

  void binary(const std::string& op, const Node& x, const Node& y, double (*f)(double, double)) {
    emit(op, fmt::format("x = {}, y = {}", reads(x), reads(y)), std::max(x.channels, y.channels),
         std::max(x.width, y.width), [&](int c, int w) { return f(x.at(c, w), y.at(c, w)); });
    tame();
  }

  // From 1 on.
  Node positive() {
    unary("abs", any(), [](double v) { return std::abs(v); });
    binary("add", nodes_.back(), number(1), [](double a, double b) { return a + b; });
    return nodes_.back();
  }
  Node number(double value) { return {half(value), 1, 1, {value}}; }

  // Something whose shape fits x's: of the same, of one channel, one column, or a number.
  Node fitting(const Node& x) {
    std::vector<Node> fit = {number(double(pick(16) - 8) / 4)};
    for (const Node& y : nodes_)
      if ((y.channels == x.channels || y.channels == 1 || x.channels == 1) &&
          (y.width == x.width || y.width == 1 || x.width == 1))
        fit.push_back(y);
    return fit[size_t(pick(int(fit.size())))];
  }

  void through_bytes(const Node& x) {
    constexpr double kScale = 0x1p-4;
    ops.insert("quantize");
    const std::string q = function_.raw(fmt::format("tensor<int8, [1, {}, 1, {}]>", x.channels, x.width),
                                        fmt::format("quantize(input = {}, scale = {}, output_dtype = {})", reads(x),
                                                    half(kScale), function_.string("int8")));
    const Node from = x;
    emit("dequantize", fmt::format("input = {}, scale = {}", q, half(kScale)), x.channels, x.width,
         [&](int c, int w) { return std::clamp(std::nearbyint(from.at(c, w) / kScale), -128.0, 127.0) * kScale; });
  }

  uint64_t record(BlobType type, uint64_t elements, std::vector<std::byte> bytes) {
    uint64_t offset = 64;  // as WeightFileWriter lays them: a record's head, its bytes, all at multiples of 64
    for (const BlobRecordData& before : records) offset += 64 + (before.bytes.size() + 63) / 64 * 64;
    records.push_back({type, elements, std::move(bytes)});
    return offset;
  }
  uint64_t halves_record(const std::vector<double>& values) {
    std::vector<std::byte> bytes;
    for (const double value : values) {
      const uint16_t bits = float_to_half(float(value));
      bytes.insert(bytes.end(), {std::byte(bits & 0xff), std::byte(bits >> 8)});
    }
    return record(BlobType::kFp16, values.size(), std::move(bytes));
  }

  // A weight [rows, cols] in one of the forms; `dense` becomes what it stands for.
  std::string weight(int rows, int cols, std::vector<double>& dense) {
    const int64_t shape[] = {rows, cols, 1, 1};
    const size_t count = size_t(rows * cols);
    const double spread = 1 / std::sqrt(double(cols));
    dense.assign(count, 0);
    std::vector<std::byte> bytes;
    const auto code = [&](int bits) { return pick(1 << bits); };
    const auto near = [&] { return half_of(spread * double(pick(256) - 128) / 64); };
    switch (pick(5)) {
      case 0:
        for (double& value : dense) value = near();
        return function_.weight(shape, halves_record(dense));
      case 1:
        ops.insert("constexpr_affine_dequantize");
        for (double& value : dense) {
          bytes.push_back(std::byte(code(8)));
          value = half_of(double(int8_t(bytes.back())) * 0x1p-8);
        }
        return function_.affine_weight(shape, record(BlobType::kInt8, count, bytes), 0x1p-8f);
      case 2: {
        ops.insert("constexpr_blockwise_shift_scale");
        std::vector<double> scales;
        for (int r = 0; r < rows; ++r) scales.push_back(0x1p-9 * (1 + pick(8)));
        for (size_t i = 0; i < count; ++i) {
          bytes.push_back(std::byte(code(8)));
          dense[i] = half_of(double(int8_t(bytes.back())) * scales[i / size_t(cols)]);
        }
        const uint64_t data = record(BlobType::kInt8, count, bytes);
        return function_.row_scaled_weight(shape, data, halves_record(scales));
      }
      case 3: {
        ops.insert("constexpr_lut_to_dense");
        std::vector<double> table;
        for (int i = 0; i < 16; ++i) table.push_back(near());
        bytes.resize((count + 1) / 2);
        for (size_t i = 0; i < count; ++i) {
          const int index = code(4);
          bytes[i / 2] |= std::byte(i % 2 == 0 ? index : index << 4);
          dense[i] = table[size_t(index)];
        }
        const uint64_t data = record(BlobType::kUint4, count, bytes);
        return function_.table_weight(shape, 4, data, halves_record(table));
      }
      default: {
        ops.insert("constexpr_sparse_to_dense");
        std::vector<double> values = {near()};
        bytes.resize((count + 7) / 8);
        bytes[0] = std::byte(1);
        dense[0] = values[0];
        for (size_t i = 1; i < count; ++i) {
          if (code(1) == 0) continue;
          bytes[i / 8] |= std::byte(1 << i % 8);
          values.push_back(near());
          dense[i] = values.back();
        }
        const int64_t listed[] = {int64_t(values.size())};
        const std::string mask = function_.weight(shape, record(BlobType::kUint1, count, bytes), "uint1");
        const std::string list = function_.weight(listed, halves_record(values));
        return function_.raw(fmt::format("tensor<fp16, [{}, {}, 1, 1]>", rows, cols),
                             fmt::format("constexpr_sparse_to_dense(nonzero_data = {}, mask = {})", list, mask));
      }
    }
  }

  void conv(const Node& x) {
    if (x.width != width_) return;
    const int rows = 1 + pick(24);
    std::vector<double> dense;
    const std::string w = weight(rows, x.channels, dense);
    ops.insert("conv");
    Node y{{}, rows, width_, {}};
    for (int r = 0; r < rows; ++r)
      for (int column = 0; column < width_; ++column) {
        double sum = 0;
        for (int c = 0; c < x.channels; ++c) sum += dense[size_t(r * x.channels + c)] * x.at(c, column);
        y.numbers.push_back(half_of(sum));
      }
    y.name = function_.conv(w, reads(x), rows);
    nodes_.push_back(std::move(y));
    tame();
  }

  void reduce(const Node& x, int which) {
    const bool over_channels = pick(2) == 0;
    const int axes[] = {over_channels ? 1 : 3}, count = over_channels ? x.channels : x.width;
    const char* names[] = {"reduce_sum", "reduce_mean", "reduce_max"};
    emit(names[which],
         fmt::format("x = {}, axes = {}, keep_dims = {}", reads(x), function_.int32s(axes), function_.boolean(true)),
         over_channels ? 1 : x.channels, over_channels ? x.width : 1, [&](int c, int w) {
           double sum = 0, largest = -HUGE_VAL;
           for (int i = 0; i < count; ++i) {
             const double value = over_channels ? x.at(i, w) : x.at(c, i);
             sum += value;
             largest = std::max(largest, value);
           }
           return which == 2 ? largest : which == 1 ? sum / count : sum;
         });
    tame();
  }

  void softmax(const Node& x) {
    const bool over_channels = pick(2) == 0;
    const int count = over_channels ? x.channels : x.width;
    emit("softmax", fmt::format("x = {}, axis = {}", reads(x), function_.int32(over_channels ? 1 : -1)), x.channels,
         x.width, [&](int c, int w) {
           double sum = 0;
           for (int i = 0; i < count; ++i) sum += std::exp(over_channels ? x.at(i, w) : x.at(c, i));
           return std::exp(x.at(c, w)) / sum;
         });
  }

  void matmul(const Node& x) {
    Node y = fitting(x);
    if (y.channels != x.channels || y.width != x.width || !std::isalpha(y.name[0]) || y.name == half(0)) y = x;
    emit("matmul",
         fmt::format("x = {}, y = {}, transpose_x = {}, transpose_y = {}", reads(x), reads(y), function_.boolean(false),
                     function_.boolean(true)),
         x.channels, 1, [&](int c, int) {
           double sum = 0;
           for (int w = 0; w < x.width; ++w) sum += x.at(c, w) * y.at(c, w);
           return sum;
         });
    tame();
  }

  void concat(const Node& x) {
    Node y = any();
    if (y.width != x.width) y = x;
    emit("concat",
         fmt::format("values = ({}, {}), axis = {}, interleave = {}", reads(x), reads(y), function_.int32(1),
                     function_.boolean(false)),
         x.channels + y.channels, x.width,
         [&](int c, int w) { return c < x.channels ? x.at(c, w) : y.numbers[size_t((c - x.channels) * y.width + w)]; });
  }

  void slice(const Node& x) {
    const int first = pick(x.channels), count = 1 + pick(x.channels - first);
    const int begin[] = {0, first, 0, 0}, size[] = {1, count, 1, x.width};
    emit("slice_by_size",
         fmt::format("x = {}, begin = {}, size = {}", reads(x), function_.int32s(begin), function_.int32s(size)), count,
         x.width, [&](int c, int w) { return x.numbers[size_t((c + first) * x.width + w)]; });
  }

  void step() {
    const Node x = any();
    switch (pick(28)) {
      case 0: return unary("abs", x, [](double v) { return std::abs(v); });
      case 1: return unary("erf", x, [](double v) { return std::erf(v); });
      case 2: return unary("exp", x, [](double v) { return std::exp(v); });
      case 3: return unary("sigmoid", x, [](double v) { return 1 / (1 + std::exp(-v)); });
      case 4: return unary("silu", x, [](double v) { return v / (1 + std::exp(-v)); });
      case 5: return unary("square", x, [](double v) { return v * v; });
      case 6: return unary("tanh", x, [](double v) { return std::tanh(v); });
      case 7:
        return unary(
            "gelu", x, [](double v) { return 0.5 * v * (1 + std::tanh(0.7978845608 * (v + 0.044715 * v * v * v))); },
            ", mode = " + function_.string("TANH_APPROXIMATION"));
      case 8: return unary("sqrt", positive(), [](double v) { return std::sqrt(v); });
      case 9:
        return unary(
            "log", positive(), [](double v) { return std::log(v + 0x1p-4); }, ", epsilon = " + half(0x1p-4));
      case 10:
        return unary(
            "rsqrt", positive(), [](double v) { return 1 / std::sqrt(v + 0x1p-4); }, ", epsilon = " + half(0x1p-4));
      case 11: return binary("real_div", x, fitting_positive(x), [](double a, double b) { return a / b; });
      case 12:
        return binary("pow", positive(), number(-0.5 * (1 + pick(3))),
                      [](double a, double b) { return std::pow(a, b); });
      case 13: return binary("add", x, fitting(x), [](double a, double b) { return a + b; });
      case 14: return binary("sub", x, fitting(x), [](double a, double b) { return a - b; });
      case 15: return binary("mul", x, fitting(x), [](double a, double b) { return a * b; });
      case 16: return binary("maximum", x, fitting(x), [](double a, double b) { return std::max(a, b); });
      case 17: return binary("minimum", x, fitting(x), [](double a, double b) { return std::min(a, b); });
      case 18: return reduce(x, pick(3));
      case 19: return softmax(x);
      case 20: return matmul(x);
      case 21: return concat(x);
      case 22: return slice(x);
      case 23:
        emit("clip", fmt::format("x = {}, alpha = {}, beta = {}", reads(x), half(-0.5), half(1)), x.channels, x.width,
             [&](int c, int w) { return std::clamp(x.at(c, w), -0.5, 1.0); });
        return;
      default: return conv(x);
    }
  }

  // A number, or something as large as x.
  Node fitting_positive(const Node& x) {
    if (pick(2) == 0) return number(1.5);
    emit("abs", "x = " + reads(x), x.channels, x.width, [&](int c, int w) { return std::abs(x.at(c, w)); });
    binary("add", nodes_.back(), number(1), [](double a, double b) { return a + b; });
    return nodes_.back();
  }

  std::mt19937 random_;
  int width_;
  MilFunction function_;
  std::vector<Node> nodes_;
  std::set<std::string> read_;
};

Profile exact_profile() {
  Profile profile = *profile_named("e5");
  profile.numerics = {
      .accumulator = Accumulator::kPlain, .table_activations = false, .ties_up = false, .half_reductions = false};
  profile.max_weight_tensors = 100;
  profile.cost.noise = 0;
  return profile;
}

constexpr int kSeeds = 300;

TEST(RandomGraphs, GiveWhatPlainLoopsGive) {
  auto driver = *SimDriver::make(exact_profile());
  double worst = 0;
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    const RandomGraph graph(seed);
    auto weights = write_records(*driver, graph.records);
    ASSERT_TRUE(weights) << weights.error().message;
    std::vector<DeclaredTensor> outputs;
    for (const Node& node : graph.outputs) outputs.push_back({node.name, node.channels, node.width});
    auto program = SmallProgram::make(*driver, graph.text(), std::move(weights->file), graph.inputs, outputs);
    ASSERT_TRUE(program) << "seed " << seed << ": " << words_of(program.error()) << "\n" << graph.text();
    const auto got = (*program)->run_patiently(graph.planes);
    ASSERT_TRUE(got) << "seed " << seed << ": " << words_of(got.error());
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      const Node& want = graph.outputs[i];
      ASSERT_EQ((*got)[i].size(), want.numbers.size());
      for (size_t k = 0; k < want.numbers.size(); ++k) {
        const double error = std::abs(double((*got)[i][k]) - want.numbers[k]);
        worst = std::max(worst, error);
        // Values reach 8, whose fp16 neighbours are 0.008 apart; a sum that is rounded another way moves what follows by a few of them.
        ASSERT_LT(error, 0.02) << "seed " << seed << ", " << want.name << " number " << k << "\n" << graph.text();
      }
    }
  }
  EXPECT_GT(worst, 0);
  RecordProperty("worst", fmt::format("{}", worst));
}

TEST(RandomGraphs, HaveEveryOperationThatIsComputed) {
  std::set<std::string> seen, computed;
  for (uint32_t seed = 0; seed < kSeeds; ++seed) seen.merge(RandomGraph(seed).ops);
  // These compile, and are said to have no arithmetic.
  for (const Signature& signature : all_signatures())
    if (signature.op != "reshape" && signature.op != "transpose" && signature.op != "tile")
      computed.emplace(signature.op);
  EXPECT_EQ(seen, computed);
}

}  // namespace
}  // namespace anedvd::sim
