// How a chip computes: rounding, tables, small values.
#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/half.h"
#include "cli/commands/device/probes/all.h"

namespace anedvd::probes {

Answer planar_values(const ProbedMachine& machine) {
  ProbeJson json = {{"ok", true}};
  for (const int width : {1, 32, 64}) {
    ANEDVD_TRY(const double error, conv_error(machine.driver, 96, 128, width, 1));
    json["rel_err"][std::to_string(width)] = error;
    if (error > 2e-3) json["ok"] = false;
  }
  return json;
}

namespace {

Result<std::vector<Plane>> run_unary(Driver& driver, const char* op, int channels, const Plane& x) {
  constexpr int kWidth = 64;
  ANEDVD_TRY(const auto program,
             told(op, SmallProgram::make(driver, unary_text(MilDialect::kTerse, op, channels, kWidth), WeightFile(),
                                         {{"i00", channels, kWidth}}, {{"o00", channels, kWidth}})));
  return told(op, program->run_patiently({x}));
}

}  // namespace

Answer activations(const ProbedMachine& machine) {
  Plane x(64 * 64);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = half_to_float(float_to_half(float(-20 + 40.0 * double(i) / double(x.size()))));
  ProbeJson json = {{"ok", true}};
  const struct {
    const char* op;
    double (*exact)(double);
    double bound;
  } cases[] = {{"sigmoid", [](double v) { return 1 / (1 + std::exp(-v)); }, 0.01},
               {"tanh", [](double v) { return std::tanh(v); }, 0.01}};
  for (const auto& c : cases) {
    ANEDVD_TRY(const auto y, run_unary(machine.driver, c.op, 64, x));
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

Answer small_values(const ProbedMachine& machine) {
  ProbeJson json = {{"ok", true}};
  for (int exponent = 0; exponent >= -12; exponent -= 2) {
    ANEDVD_TRY(const double error, conv_error(machine.driver, 64, 576, 32, std::ldexp(1.0f, exponent)));
    json["rel_err"][std::to_string(exponent)] = error;
  }
  // A floor that does not shrink with the inputs shows as an error that grows.
  json["has_floor"] = json["rel_err"]["-8"].get<double>() > 4 * json["rel_err"]["0"].get<double>();
  // One weight of one, so that a sum is a product: where a result leaves the range, and how a tie is rounded.
  ANEDVD_TRY(const auto one, told("conv", make_conv(machine.driver, 1, 2, 32, {1, 1})));
  const auto sum = [&](float a, float b) -> Result<float> {
    Plane x(64, b);
    std::fill_n(x.begin(), 32, a);
    ANEDVD_TRY(const auto y, told("conv", one->run_patiently({x})));
    return y[0][0];
  };
  ANEDVD_TRY(const float below, sum(32752, 0));
  ANEDVD_TRY(const float above, sum(32768, 0));
  ANEDVD_TRY(const float tie, sum(2048, 1));
  ANEDVD_TRY(const float denormal, sum(0x1p-20f, 0));
  json["32752"] = std::isfinite(below) ? ProbeJson(below) : ProbeJson("inf");
  json["32768"] = std::isfinite(above) ? ProbeJson(above) : ProbeJson("inf");
  json["2049"] = tie;
  json["keeps_denormals"] = denormal != 0;
  return json;
}

// Every fp16 number through each function: what a simulator needs to give the very same.
Answer activation_tables(const ProbedMachine& machine) {
  constexpr size_t kPatterns = size_t(1) << 16;
  Plane x(kPatterns);
  for (size_t i = 0; i < kPatterns; ++i) x[i] = half_to_float(uint16_t(i));
  ProbeJson json = {{"ok", true}};
  for (const char* op : {"sigmoid", "tanh", "silu"}) {
    const auto y = run_unary(machine.driver, op, int(kPatterns / 64), x);
    if (!y) {
      json["refused"][op] = y.error().message;
      continue;
    }
    std::string bytes;
    for (const float value : (*y)[0]) {
      const uint16_t half = float_to_half(value);
      bytes += char(half & 0xff);
      bytes += char(half >> 8);
    }
    json["halves"][op] = base64_of(bytes);
  }
  json["ok"] = json.contains("halves");
  return json;
}

Answer determinism(const ProbedMachine& machine) {
  const auto matrix = random_halves(128 * 128, 0.1f, 1);
  ANEDVD_TRY(const auto program, told("conv", make_conv(machine.driver, 128, 128, 64, matrix)));
  Plane x = random_halves(128 * 64, 1, 2);
  for (size_t c = 0; c < 128; ++c) x[c * 64 + 63] = x[c * 64];  // two equal columns
  ANEDVD_TRY(const auto first, told("conv", program->run_patiently({x})));
  bool same = true, by_column = true;
  for (int i = 0; i < 1000; ++i) {
    if (i < 50) {
      ANEDVD_TRY(const auto again, told("conv", program->run_patiently({x})));
      same = same && again == first;
    } else if (auto done = program->evaluate_again(); !done) {
      return fail_device("conv", done.error());
    }
  }
  ANEDVD_TRY(const auto last, told("conv", program->run_patiently({x})));
  same = same && last == first;
  for (size_t r = 0; r < 128; ++r) by_column = by_column && first[0][r * 64] == first[0][r * 64 + 63];
  return ProbeJson{{"ok", same && by_column}, {"repeats", same}, {"columns_are_independent", by_column}};
}

}  // namespace anedvd::probes
