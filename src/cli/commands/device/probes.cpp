#include "cli/commands/device/probes.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <nlohmann/json.hpp>

#include "ane/objc/inventory.h"
#include "ane/small_program.h"
#include "base/half.h"
#include "cli/commands/device/side_by_side.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

std::vector<float> random_halves(size_t count, float spread, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> values(count);
  for (float& value : values) value = half_to_float(float_to_half(normal(random)));
  return values;
}

template <class T>
Result<T> told(const char* what, DriverResult<T> result) {
  if (!result) return fail_device(what, result.error());
  return std::move(*result);
}

// Some value for `name`, or the failure's words.
Json outcome(const DriverResult<std::unique_ptr<SmallProgram>>& made) {
  return made ? Json(true) : Json(words_of(made.error()));
}

DriverResult<std::unique_ptr<SmallProgram>> make_conv(Driver& driver, int rows, int cols, int width,
                                                      const std::vector<float>& matrix,
                                                      MilDialect dialect = MilDialect::kTerse,
                                                      size_t surface_bytes = 0) {
  auto weights = write_matrices(driver, {matrix});
  if (!weights) return tl::unexpected(own_failure(weights.error().message));
  return SmallProgram::make(driver, conv_text(dialect, rows, cols, width, weights->offsets[0]),
                            std::move(weights->file), {{"i00", cols, width}}, {{"o00", rows, width}}, surface_bytes);
}

// The relative error of a random [rows, cols] convolution with inputs of this spread.
Result<double> conv_error(Driver& driver, int rows, int cols, int width, float spread) {
  const auto matrix = random_halves(size_t(rows) * size_t(cols), 1 / std::sqrt(float(cols)), 1);
  const Plane x = random_halves(size_t(cols) * size_t(width), spread, 2);
  ANEDVD_TRY(const auto program, told("conv", make_conv(driver, rows, cols, width, matrix)));
  ANEDVD_TRY(const auto y, told("conv", program->run({x})));
  Plane wanted(size_t(rows) * size_t(width));
  for (int r = 0; r < rows; ++r)
    for (int w = 0; w < width; ++w) {
      double sum = 0;
      for (int k = 0; k < cols; ++k) sum += double(matrix[size_t(r * cols + k)]) * double(x[size_t(k * width + w)]);
      wanted[size_t(r * width + w)] = float(sum);
    }
  Difference difference;
  difference.add(y[0], wanted);
  return difference.relative();
}

Result<Json> framework(Driver& driver) {
  if (driver.name() != "ane") return Json{{"ok", true}, {"classes", "simulated"}};
  Json missing = Json::array();
  int found = 0;
  for (const objc::InventoryEntry& entry : objc::take_inventory())
    if (entry.state == objc::InventoryEntry::State::kFound)
      ++found;
    else
      missing.push_back(entry.class_name + " " + entry.selector);
  return Json{{"ok", true}, {"found", found}, {"missing", missing}, {"machine", driver.machine()}};
}

Result<Json> row_strides(Driver& driver) {
  Json json = {{"ok", true}};
  for (const int width : {1, 8, 31, 32, 33, 48, 64, 65, 128}) {
    const auto matrix = random_halves(64 * 64, 0.1f, 1);
    auto weights = write_matrices(driver, {matrix});
    if (!weights) return tl::unexpected(weights.error());
    auto staged = driver.stage(conv_text(MilDialect::kTerse, 64, 64, width, weights->offsets[0]),
                               std::move(weights->file), DictionaryContent::kDigest);
    if (!staged) return fail_device("stage", staged.error());
    if (auto done = (*staged)->compile(); !done) return fail_device("compile", done.error());
    auto loaded = (*staged)->load();
    if (!loaded) return fail_device("load", loaded.error());
    const auto& procedures = (*loaded)->attributes().procedures;
    const int64_t stride = procedures.empty() || procedures[0].inputs.empty() ? 0 : procedures[0].inputs[0].row_stride;
    json["row_stride"][std::to_string(width)] = stride;
    if (stride != (width * 2 + 63) / 64 * 64) json["ok"] = false;
  }
  return json;
}

Result<Json> dialects(Driver& driver) {
  const auto matrix = random_halves(64 * 64, 0.1f, 1);
  const auto terse = make_conv(driver, 64, 64, 64, matrix, MilDialect::kTerse);
  const auto verbose = make_conv(driver, 64, 64, 32, matrix, MilDialect::kVerbose);
  return Json{{"ok", bool(terse) || bool(verbose)}, {"terse", outcome(terse)}, {"verbose", outcome(verbose)}};
}

Result<Json> planar_values(Driver& driver) {
  Json json = {{"ok", true}};
  for (const int width : {1, 32, 64}) {
    ANEDVD_TRY(const double error, conv_error(driver, 96, 128, width, 1));
    json["rel_err"][std::to_string(width)] = error;
    if (error > 2e-3) json["ok"] = false;
  }
  return json;
}

Result<Json> surface_sizes(Driver& driver) {
  const auto matrix = random_halves(64 * 64, 0.1f, 1);
  const Plane x(64 * 64, 1.0f);
  Json json = {{"ok", true}};
  const size_t exact = 64 * 128;
  for (const size_t bytes : {exact, exact - 128, size_t(16384), size_t(49152), size_t(65536)}) {
    auto program = make_conv(driver, 64, 64, 64, matrix, MilDialect::kTerse, bytes);
    if (!program) return fail_device("conv", program.error());
    const auto ran = (*program)->run({x});
    json["bytes"][std::to_string(bytes)] = ran ? Json(true) : Json(words_of(ran.error()));
    if (bytes == 65536 && !ran) json["ok"] = false;
  }
  return json;
}

Result<Json> symbol_order(Driver& driver) {
  MilFunction function(MilDialect::kTerse, 32);
  const Argument first[] = {{"x", "zz"}, {"y", "aa"}}, second[] = {{"x", "s"}, {"y", "mm"}};
  function.statement("add", first, 8, "s");
  const std::string out[] = {function.statement("mul", second, 8, "y")};
  const std::vector<DeclaredTensor> in = {{"zz", 8, 32}, {"aa", 8, 32}, {"mm", 8, 32}};
  auto program = SmallProgram::make(driver, function.program(in, out), WeightFile(), in, {{"y", 8, 32}});
  if (!program) return fail_device("program", program.error());
  const auto y = (*program)->run({Plane(256, 3.0f), Plane(256, 4.0f), Plane(256, 5.0f)});
  if (!y) return fail_device("program", y.error());
  const auto& symbols = (*program)->attributes().input_symbols;
  const bool is_right = (*y)[0][0] == 35;
  return Json{{"ok", is_right}, {"symbols", symbols}, {"sorted", std::is_sorted(symbols.begin(), symbols.end())}};
}

Result<Json> weight_tensors(Driver& driver) {
  int most = 0;
  for (int count = 14; count <= 20; ++count) {
    auto weights = write_matrices(driver, std::vector(size_t(count), random_halves(64 * 64, 0.1f, 1)));
    if (!weights) return tl::unexpected(weights.error());
    MilFunction function(MilDialect::kTerse, 32);
    const int64_t shape[] = {64, 64, 1, 1};
    std::string x = "i00";
    for (int i = 0; i < count; ++i)
      x = function.conv(function.weight(shape, weights->offsets[size_t(i)]), x, 64, i + 1 == count ? "o00" : "");
    const DeclaredTensor in{"i00", 64, 32};
    auto program = SmallProgram::make(driver, function.program({&in, 1}, {{x}}), std::move(weights->file), {in},
                                      {{"o00", 64, 32}});
    if (!program) break;
    most = count;
  }
  return Json{{"ok", most >= 15}, {"most", most}};
}

Result<Json> out_channels(Driver& driver) {
  Json json = {{"ok", true}};
  for (const int rows : {16384, 16385, 32000}) {
    const auto matrix = random_halves(size_t(rows) * 32, 0.1f, 1);
    json["rows"][std::to_string(rows)] = outcome(make_conv(driver, rows, 32, 32, matrix));
  }
  return json;
}

Result<Json> activations(Driver& driver) {
  constexpr int kChannels = 64, kWidth = 64;
  Plane x(kChannels * kWidth);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = half_to_float(float_to_half(float(-20 + 40.0 * double(i) / double(x.size()))));
  Json json = {{"ok", true}};
  const struct {
    const char* op;
    double (*exact)(double);
    double bound;
  } cases[] = {{"sigmoid", [](double v) { return 1 / (1 + std::exp(-v)); }, 0.01},
               {"tanh", [](double v) { return std::tanh(v); }, 0.01}};
  for (const auto& c : cases) {
    ANEDVD_TRY(
        const auto program,
        told(c.op, SmallProgram::make(driver, unary_text(MilDialect::kTerse, c.op, kChannels, kWidth), WeightFile(),
                                      {{"i00", kChannels, kWidth}}, {{"o00", kChannels, kWidth}})));
    ANEDVD_TRY(const auto y, told(c.op, program->run({x})));
    double worst = 0, at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double error = std::abs(double(y[0][i]) - c.exact(double(x[i])));
      if (error > worst) worst = error, at = double(x[i]);
    }
    json[c.op] = {{"max_abs", worst}, {"at", at}};
    if (worst > c.bound) json["ok"] = false;
  }
  return json;
}

Result<Json> operations(Driver& driver) {
  Json json = {{"ok", true}};
  using Halves = std::vector<std::pair<std::string_view, float>>;
  const std::pair<const char*, Halves> cases[] = {{"sigmoid", {}},
                                                  {"tanh", {}},
                                                  {"silu", {}},
                                                  {"exp", {}},
                                                  {"sqrt", {}},
                                                  {"abs", {}},
                                                  {"rsqrt", {{"epsilon", 0.0009765625f}}},
                                                  {"clip", {{"alpha", -1.0f}, {"beta", 1.0f}}},
                                                  {"pow", {{"y", 2.0f}}},
                                                  {"mul", {{"y", 2.0f}}},
                                                  {"add", {{"y", 2.0f}}},
                                                  {"maximum", {{"y", 0.0f}}}};
  for (const auto& [op, halves] : cases)
    json["ops"][op] = outcome(SmallProgram::make(driver, unary_text(MilDialect::kTerse, op, 64, 64, halves),
                                                 WeightFile(), {{"i00", 64, 64}}, {{"o00", 64, 64}}));
  return json;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + ptrdiff_t(values.size() / 2), values.end());
  return values[values.size() / 2];
}

Result<double> conv_time(Driver& driver, int size, int repetitions, uint64_t host_nanoseconds) {
  const std::vector<float> matrix(size_t(size) * size_t(size), 0.01f);
  ANEDVD_TRY(const auto program, told("conv", make_conv(driver, size, size, 64, matrix)));
  const Plane x(size_t(size) * 64, 0.0f);
  std::vector<double> times;
  for (int i = 0; i < repetitions; ++i) {
    if (host_nanoseconds > 0) driver.host_worked(host_nanoseconds);
    ANEDVD_TRY_VOID(told("conv", program->run({x})));
    times.push_back(program->microseconds());
  }
  return median(std::move(times));
}

Result<Json> launch(Driver& driver) {
  ANEDVD_TRY(const double together, conv_time(driver, 64, 200, 0));
  ANEDVD_TRY(const double after_host, conv_time(driver, 64, 50, 1'000'000));
  return Json{{"ok", true}, {"launch_us", together}, {"launch_after_host_us", after_host}};
}

Result<Json> bandwidth(Driver& driver) {
  ANEDVD_TRY(const double floor, conv_time(driver, 64, 50, 0));
  Json json = {{"ok", true}};
  for (const int size : {1024, 2048, 3072}) {
    ANEDVD_TRY(const double time, conv_time(driver, size, 5, 0));
    json["gb_s"][std::to_string(size)] = 2.0 * size * size / std::max(time - floor, 1e-3) / 1e3;
    json["us"][std::to_string(size)] = time;
  }
  return json;
}

Result<Json> small_values(Driver& driver) {
  Json json = {{"ok", true}};
  for (int exponent = 0; exponent >= -12; exponent -= 2) {
    ANEDVD_TRY(const double error, conv_error(driver, 64, 576, 32, std::ldexp(1.0f, exponent)));
    json["rel_err"][std::to_string(exponent)] = error;
  }
  // A floor that does not shrink with the inputs shows as an error that grows.
  json["has_floor"] = json["rel_err"]["-8"].get<double>() > 4 * json["rel_err"]["0"].get<double>();
  return json;
}

Result<Json> determinism(Driver& driver) {
  const auto matrix = random_halves(128 * 128, 0.1f, 1);
  ANEDVD_TRY(const auto program, told("conv", make_conv(driver, 128, 128, 64, matrix)));
  Plane x = random_halves(128 * 64, 1, 2);
  for (size_t c = 0; c < 128; ++c) x[c * 64 + 63] = x[c * 64];  // two equal columns
  ANEDVD_TRY(const auto first, told("conv", program->run({x})));
  bool same = true, by_column = true;
  for (int i = 0; i < 50; ++i) {
    ANEDVD_TRY(const auto again, told("conv", program->run({x})));
    same = same && again == first;
  }
  for (size_t r = 0; r < 128; ++r) by_column = by_column && first[0][r * 64] == first[0][r * 64 + 63];
  return Json{{"ok", same && by_column}, {"repeats", same}, {"columns_are_independent", by_column}};
}

constexpr Probe kProbes[] = {
    {"P-01", "framework, classes and selectors", framework},
    {"P-02", "row strides", row_strides},
    {"P-03", "dialects", dialects},
    {"P-04", "values of a convolution", planar_values},
    {"P-05", "surface sizes", surface_sizes},
    {"P-08", "order of symbols", symbol_order},
    {"P-10", "weight tensors of a function", weight_tensors},
    {"P-11", "output channels", out_channels},
    {"P-13", "sigmoid and tanh", activations},
    {"P-15", "operations", operations},
    {"P-27", "time of a launch", launch},
    {"P-28", "weight bandwidth", bandwidth},
    {"P-38", "small values", small_values},
    {"P-41", "determinism", determinism},
};

}  // namespace

std::span<const Probe> all_probes() { return kProbes; }

}  // namespace anedvd
