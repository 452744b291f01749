// Which operations a chip takes, in which spelling, and whether they give what they should.
#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/half.h"
#include "cli/commands/device/probes/all.h"

namespace anedvd::probes {
namespace {

constexpr int kWidth = 64;

float half_of(double value) { return half_to_float(float_to_half(float(value))); }

std::string activation(int64_t channels, int64_t width = kWidth) {
  return fmt::format("tensor<fp16, [1, {}, 1, {}]>", channels, width);
}

Plane map(const Plane& x, double (*f)(double)) {
  Plane y;
  for (const float value : x) y.push_back(float(f(double(value))));
  return y;
}

// Positive where an operation asks for it.
Plane positive(size_t count, uint32_t seed) {
  Plane x = random_halves(count, 1, seed);
  for (float& value : x) value = half_of(std::abs(double(value)) + 0.25);
  return x;
}

// o00 = call(i00) of [1, channels, 1, 64] → [1, rows, 1, columns].
Question unary(MilFunction function, const std::string& call, int channels, int rows, int columns, Plane x,
               Plane wanted, double most_error) {
  const std::string out[] = {function.raw(activation(rows, columns), call, {}, "o00")};
  const DeclaredTensor in{"i00", channels, kWidth};
  return {function.program({&in, 1}, out),
          {},
          {in},
          {{"o00", rows, columns}},
          {std::move(x)},
          {std::move(wanted)},
          most_error};
}

// A table's error, an absolute one, stays below this.
constexpr double kTableError = 0.02;

}  // namespace

Answer joins_and_slices(const ProbedMachine& machine) {
  const Plane a = random_halves(8 * kWidth, 1, 1), b = random_halves(16 * kWidth, 1, 2);
  Plane joined = a;
  joined.insert(joined.end(), b.begin(), b.end());
  const std::vector<DeclaredTensor> two = {{"i00", 8, kWidth}, {"i01", 16, kWidth}};
  ProbeJson json = {{"ok", true}};
  {
    MilFunction function(MilDialect::kTerse, kWidth);
    const std::string call = fmt::format("concat(values = (i00, i01), axis = {}, interleave = {})", function.int32(1),
                                         function.boolean(false));
    const std::string out[] = {function.raw(activation(24), call, {}, "o00")};
    json["ops"]["concat"] =
        answer(machine.driver, {function.program(two, out), {}, two, {{"o00", 24, kWidth}}, {a, b}, {joined}, 0});
  }
  {
    MilFunction function(MilDialect::kTerse, kWidth);
    const Argument first[] = {{"x", "i00"}}, second[] = {{"x", "i01"}};
    const std::string x = function.statement("abs", first, 8), y = function.statement("abs", second, 16);
    const std::string call = fmt::format("concat(values = ({}, {}), axis = {}, interleave = {})", x, y,
                                         function.int32(1), function.boolean(false));
    const std::string out[] = {function.raw(activation(24), call, {}, "o00")};
    json["variants"]["concat of intermediates"] =
        answer(machine.driver, {function.program(two, out),
                                {},
                                two,
                                {{"o00", 24, kWidth}},
                                {a, b},
                                {map(joined, [](double v) { return std::abs(v); })},
                                0});
  }
  {
    MilFunction function(MilDialect::kTerse, kWidth);
    const std::string call = fmt::format("concat(values = (i00, i00), axis = {}, interleave = {})", function.int32(3),
                                         function.boolean(false));
    Plane wide;
    for (size_t c = 0; c < 8; ++c)
      for (int copy = 0; copy < 2; ++copy)
        wide.insert(wide.end(), a.begin() + ptrdiff_t(c * kWidth), a.begin() + ptrdiff_t((c + 1) * kWidth));
    json["variants"]["concat along the width"] =
        answer(machine.driver, unary(std::move(function), call, 8, 8, 2 * kWidth, a, wide, 0));
  }
  const auto slice = [&](std::vector<int> begin, std::vector<int> size) {
    MilFunction function(MilDialect::kTerse, kWidth);
    const std::string call =
        fmt::format("slice_by_size(x = i01, begin = {}, size = {})", function.int32s(begin), function.int32s(size));
    const std::string out[] = {function.raw(activation(size[1], size[3]), call, {}, "o00")};
    const DeclaredTensor in{"i01", 16, kWidth};
    Plane wanted;
    for (int c = begin[1]; c < begin[1] + size[1]; ++c)
      for (int w = begin[3]; w < begin[3] + size[3]; ++w) wanted.push_back(b[size_t(c * kWidth + w)]);
    return answer(machine.driver,
                  {function.program({&in, 1}, out), {}, {in}, {{"o00", size[1], size[3]}}, {b}, {wanted}, 0});
  };
  json["ops"]["slice_by_size"] = slice({0, 4, 0, 0}, {1, 8, 1, kWidth});
  json["variants"]["slice along the width"] = slice({0, 0, 0, 32}, {1, 16, 1, 32});
  json["ok"] = is_yes(json["ops"]["slice_by_size"]);
  return json;
}

// Each channel's row of one tensor with that of another: the form of an attention score that keeps [1, C, 1, W].
Answer matmul(const ProbedMachine& machine) {
  constexpr int kChannels = 16;
  const Plane a = random_halves(kChannels * kWidth, 0.25f, 1), b = random_halves(kChannels * kWidth, 0.25f, 2);
  Plane wanted;
  for (size_t c = 0; c < kChannels; ++c) {
    double sum = 0;
    for (size_t w = 0; w < kWidth; ++w) sum += double(a[c * kWidth + w]) * double(b[c * kWidth + w]);
    wanted.push_back(float(sum));
  }
  const auto ask = [&](const char* first, const char* second) {
    MilFunction function(MilDialect::kTerse, kWidth);
    const std::string call = fmt::format("matmul(x = {}, y = {}, transpose_x = {}, transpose_y = {})", first, second,
                                         function.boolean(false), function.boolean(true));
    const std::string out[] = {function.raw(activation(kChannels, 1), call, {}, "o00")};
    // Names whose order is not the text's: only who binds by symbol is right.
    const std::vector<DeclaredTensor> in = {{first, kChannels, kWidth}, {second, kChannels, kWidth}};
    return answer(machine.driver, {function.program(in, out), {}, in, {{"o00", kChannels, 1}}, {a, b}, {wanted}, 5e-3});
  };
  ProbeJson json = {{"ok", false}};
  json["ops"]["matmul"] = ask("i00", "i01");
  json["variants"]["inputs in another order"] = ask("zz", "aa");
  json["ok"] = is_yes(json["ops"]["matmul"]) && is_yes(json["variants"]["inputs in another order"]);
  return json;
}

Answer elementwise(const ProbedMachine& machine) {
  ProbeJson json = {{"ok", true}};
  using Halves = std::vector<std::pair<std::string_view, float>>;
  const std::pair<const char*, Halves> cases[] = {{"sigmoid", {}},
                                                  {"tanh", {}},
                                                  {"silu", {}},
                                                  {"exp", {}},
                                                  {"sqrt", {}},
                                                  {"abs", {}},
                                                  {"erf", {}},
                                                  {"square", {}},
                                                  {"clip", {{"alpha", -1.0f}, {"beta", 1.0f}}},
                                                  {"pow", {{"y", 2.0f}}},
                                                  {"mul", {{"y", 2.0f}}},
                                                  {"add", {{"y", 2.0f}}},
                                                  {"sub", {{"y", 2.0f}}},
                                                  {"minimum", {{"y", 0.0f}}}};
  for (const auto& [op, halves] : cases)
    json["ops"][op] = outcome(SmallProgram::make(machine.driver, unary_text(MilDialect::kTerse, op, 64, 64, halves),
                                                 WeightFile(), {{"i00", 64, 64}}, {{"o00", 64, 64}}));
  // Without a mode the operation is not complete; who tried it so called it refused.
  const Plane x = random_halves(64 * kWidth, 2, 3);
  const auto gelu = [](double v) { return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))); };
  for (const char* mode : {"EXACT", "TANH_APPROXIMATION", "SIGMOID_APPROXIMATION"}) {
    MilFunction function(MilDialect::kTerse, kWidth);
    const std::string call = fmt::format("gelu(x = i00, mode = {})", function.string(mode));
    json["gelu"][mode] =
        answer(machine.driver, unary(std::move(function), call, 64, 64, kWidth, x, map(x, gelu), kTableError));
  }
  json["gelu"]["without mode"] = answer(machine.driver, unary(MilFunction(MilDialect::kTerse, kWidth), "gelu(x = i00)",
                                                              64, 64, kWidth, x, map(x, gelu), kTableError));
  json["ops"]["gelu"] = json["gelu"]["TANH_APPROXIMATION"];
  for (const char* needed : {"sigmoid", "tanh", "mul", "add"})
    json["ok"] = json["ok"].get<bool>() && is_yes(json["ops"][needed]);
  return json;
}

Answer roots_and_sums(const ProbedMachine& machine) {
  constexpr int kChannels = 32;
  const Plane x = positive(kChannels * kWidth, 4);
  ProbeJson json = {{"ok", true}};
  const auto ask = [&](const std::string& op, bool with_epsilon, double (*f)(double)) {
    MilFunction function(MilDialect::kTerse, kWidth);
    const std::string call =
        with_epsilon ? fmt::format("{}(x = i00, epsilon = {})", op, function.half(0x1p-10f)) : op + "(x = i00)";
    return answer(machine.driver,
                  unary(std::move(function), call, kChannels, kChannels, kWidth, x, map(x, f), kTableError));
  };
  const auto inverse_root = [](double v) { return 1 / std::sqrt(v + 0x1p-10); };
  const auto logarithm = [](double v) { return std::log(v + 0x1p-10); };
  json["ops"]["rsqrt"] = ask("rsqrt", true, inverse_root);
  json["ops"]["log"] = ask("log", true, logarithm);
  json["variants"]["rsqrt without epsilon"] = ask("rsqrt", false, inverse_root);
  json["variants"]["log without epsilon"] = ask("log", false, logarithm);
  {
    MilFunction function(MilDialect::kTerse, kWidth);
    const std::string call = fmt::format("pow(x = i00, y = {})", function.half(-0.5f));
    json["ops"]["pow"] = answer(machine.driver, unary(std::move(function), call, kChannels, kChannels, kWidth, x,
                                                      map(x, [](double v) { return 1 / std::sqrt(v); }), kTableError));
  }
  for (const char* op : {"reduce_sum", "reduce_mean"}) {
    MilFunction function(MilDialect::kTerse, kWidth);
    const int axes[] = {1};
    const std::string call =
        fmt::format("{}(x = i00, axes = {}, keep_dims = {})", op, function.int32s(axes), function.boolean(true));
    Plane wanted(kWidth);
    for (size_t c = 0; c < kChannels; ++c)
      for (size_t w = 0; w < kWidth; ++w)
        wanted[w] += x[c * kWidth + w] / (op == std::string("reduce_mean") ? kChannels : 1);
    json["ops"][op] = answer(machine.driver, unary(std::move(function), call, kChannels, 1, kWidth, x, wanted, 5e-3));
  }
  json["ok"] = is_yes(json["ops"]["pow"]);
  return json;
}

Answer softmax(const ProbedMachine& machine) {
  ProbeJson json = {{"ok", true}};
  const auto ask = [&](int length, double mask) {
    Plane x = random_halves(size_t(length) * kWidth, 1, 5);
    const int masked = mask == 0 ? 0 : length / 4;
    for (size_t i = 0; i < size_t(masked) * kWidth; ++i) x[i] = half_to_float(float_to_half(float(mask)));
    Plane wanted(x.size());
    for (size_t w = 0; w < kWidth; ++w) {
      double sum = 0;
      for (size_t c = size_t(masked); c < size_t(length); ++c) sum += std::exp(double(x[c * kWidth + w]));
      for (size_t c = size_t(masked); c < size_t(length); ++c)
        wanted[c * kWidth + w] = float(std::exp(double(x[c * kWidth + w])) / sum);
    }
    MilFunction function(MilDialect::kTerse, kWidth);
    const std::string call = fmt::format("softmax(x = i00, axis = {})", function.int32(1));
    return answer(machine.driver, unary(std::move(function), call, length, length, kWidth, x, wanted, kTableError));
  };
  for (const int length : {32, 33, 48, 64, 96, 128, 130}) json["lengths"][std::to_string(length)] = ask(length, 0);
  json["masks"]["-40000"] = ask(64, -40000);
  json["masks"]["-1e4"] = ask(64, -1e4);
  json["masks"]["-inf"] = ask(64, -HUGE_VAL);
  json["ok"] = is_yes(json["lengths"]["64"]);
  return json;
}

Answer norms(const ProbedMachine& machine) {
  constexpr int kChannels = 64;
  const Plane x = random_halves(kChannels * kWidth, 1, 6), y = positive(kChannels * kWidth, 7);
  ProbeJson json = {{"ok", true}};
  const std::vector<DeclaredTensor> two = {{"i00", kChannels, kWidth}, {"i01", kChannels, kWidth}};
  for (const char* op : {"real_div", "maximum"}) {
    MilFunction function(MilDialect::kTerse, kWidth);
    const Argument arguments[] = {{"x", "i00"}, {"y", "i01"}};
    const std::string out[] = {function.statement(op, arguments, kChannels, "o00")};
    Plane wanted;
    for (size_t i = 0; i < x.size(); ++i)
      wanted.push_back(op == std::string("maximum") ? std::max(x[i], y[i]) : x[i] / y[i]);
    json["ops"][op] =
        answer(machine.driver, {function.program(two, out), {}, two, {{"o00", kChannels, kWidth}}, {x, y}, {wanted}});
  }
  Plane normal(x.size());
  for (size_t w = 0; w < kWidth; ++w) {
    double mean = 0, square = 0;
    for (size_t c = 0; c < kChannels; ++c) mean += double(x[c * kWidth + w]) / kChannels;
    for (size_t c = 0; c < kChannels; ++c) square += std::pow(double(x[c * kWidth + w]) - mean, 2) / kChannels;
    for (size_t c = 0; c < kChannels; ++c)
      normal[c * kWidth + w] = float((double(x[c * kWidth + w]) - mean) / std::sqrt(square + 0x1p-10));
  }
  {
    MilFunction function(MilDialect::kTerse, kWidth);
    const int axes[] = {1};
    const std::string call =
        fmt::format("layer_norm(x = i00, axes = {}, epsilon = {})", function.int32s(axes), function.half(0x1p-10f));
    json["ops"]["layer_norm"] =
        answer(machine.driver, unary(std::move(function), call, kChannels, kChannels, kWidth, x, normal, kTableError));
  }
  {
    const auto mean = random_halves(kChannels, 0.25f, 8), variance = positive(kChannels, 9);
    ANEDVD_TRY(auto weights, write_matrices(machine.driver, {mean, variance}));
    MilFunction function(MilDialect::kTerse, kWidth);
    const int64_t shape[] = {kChannels};
    const std::string call = fmt::format("batch_norm(x = i00, mean = {}, variance = {}, epsilon = {})",
                                         function.weight(shape, weights.offsets[0]),
                                         function.weight(shape, weights.offsets[1]), function.half(0x1p-10f));
    Plane wanted;
    for (size_t i = 0; i < x.size(); ++i)
      wanted.push_back(
          float((double(x[i]) - double(mean[i / kWidth])) / std::sqrt(double(variance[i / kWidth]) + 0x1p-10)));
    Question question = unary(std::move(function), call, kChannels, kChannels, kWidth, x, wanted, kTableError);
    question.weights = std::move(weights.file);
    json["ops"]["batch_norm"] = answer(machine.driver, std::move(question));
  }
  json["ok"] = is_yes(json["ops"]["maximum"]);
  return json;
}

Answer long_sums(const ProbedMachine& machine) {
  constexpr int kCount = 4096;
  const Plane ones(size_t(kCount) * kWidth, 1.0f);
  MilFunction function(MilDialect::kTerse, kWidth);
  const int axes[] = {1};
  const std::string call =
      fmt::format("reduce_sum(x = i00, axes = {}, keep_dims = {})", function.int32s(axes), function.boolean(true));
  const std::string out[] = {function.raw(activation(1), call, {}, "o00")};
  const DeclaredTensor in{"i00", kCount, kWidth};
  ProbeJson json = {{"ok", true}};
  const auto sum_of = [&](DriverResult<std::unique_ptr<SmallProgram>> program) -> ProbeJson {
    if (!program) return words_of(program.error());
    const auto got = (*program)->run_patiently({ones});
    return got ? ProbeJson((*got)[0][0]) : ProbeJson(words_of(got.error()));
  };
  json["reduce_sum"] = sum_of(
      SmallProgram::make(machine.driver, function.program({&in, 1}, out), WeightFile(), {in}, {{"o00", 1, kWidth}}));
  json["conv"] = sum_of(make_conv(machine.driver, 1, kCount, kWidth, std::vector<float>(kCount, 1.0f)));
  json["ok"] = json["conv"] == double(kCount);
  return json;
}

// Last: what it finds may spoil every evaluation after it.
Answer poison(const ProbedMachine& machine) {
  constexpr int kChannels = 8;
  const Plane x = random_halves(kChannels * kWidth, 1, 1);
  const auto matrix = random_halves(kChannels * kChannels, 0.25f, 2);
  ANEDVD_TRY(const auto healthy, told("conv", make_conv(machine.driver, kChannels, kChannels, kWidth, matrix)));
  const auto still_right = [&] {
    const auto got = healthy->run_patiently({x});
    return got ? ProbeJson(true) : ProbeJson(words_of(got.error()));
  };
  ProbeJson json = {{"ok", true}};
  {
    // A convolution whose weight is an input: taken and ignored, as far as is known.
    MilFunction function(MilDialect::kTerse, kWidth);
    const std::vector<DeclaredTensor> in = {{"i00", kChannels, kWidth}, {"i01", kChannels, 1}};
    const int weight_shape[] = {kChannels, 1, 1, 1};
    const std::string weight = function.raw(fmt::format("tensor<fp16, [{}, 1, 1, 1]>", kChannels),
                                            fmt::format("reshape(x = i01, shape = {})", function.int32s(weight_shape)));
    const std::string out[] = {function.conv(weight, "i00", kChannels, "o00")};
    json["conv with a computed weight"] =
        answer(machine.driver,
               {function.program(in, out), {}, in, {{"o00", kChannels, kWidth}}, {x, Plane(kChannels, 1.0f)}, {}});
  }
  {
    MilFunction function(MilDialect::kTerse, kWidth);
    const std::vector<DeclaredTensor> in = {
        {"i00", kChannels, kWidth}, {"i01", kChannels, kWidth}, {"i02", kChannels, kWidth}};
    const std::string out[] = {function.raw(
        activation(kChannels), "scaled_dot_product_attention(query = i00, key = i01, value = i02)", {}, "o00")};
    json["attention"] =
        answer(machine.driver, {function.program(in, out), {}, in, {{"o00", kChannels, kWidth}}, {x, x, x}, {}});
  }
  json["before"] = still_right();
  MilFunction function(MilDialect::kTerse, kWidth);
  const int repeats[] = {1, 2, 1, 1};
  const std::string call = fmt::format("tile(x = i00, reps = {})", function.int32s(repeats));
  Plane twice = x;
  twice.insert(twice.end(), x.begin(), x.end());
  json["ops"]["tile"] =
      answer(machine.driver, unary(std::move(function), call, kChannels, 2 * kChannels, kWidth, x, twice, 0));
  json["after"] = still_right();
  json["ok"] = is_yes(json["before"]);
  json["is_poisonous"] = is_yes(json["before"]) && !is_yes(json["after"]);
  return json;
}

}  // namespace anedvd::probes
