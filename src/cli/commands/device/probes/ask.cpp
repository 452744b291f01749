#include "cli/commands/device/probes/ask.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <thread>

#include <nlohmann/json.hpp>

#include "base/half.h"
#include "base/words.h"
#include "cli/commands/device/middle.h"
#include "cli/commands/device/side_by_side.h"

namespace anedvd {

void ProbedMachine::pause(double seconds) const {
  if (driver.name() == "sim")
    driver.host_worked(uint64_t(seconds * 1e9));
  else
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

std::vector<float> random_halves(size_t count, float spread, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> values(count);
  for (float& value : values) value = half_to_float(float_to_half(normal(random)));
  return values;
}

Plane product(const std::vector<float>& matrix, const Plane& x, int rows, int cols, int width) {
  Plane result(size_t(rows) * size_t(width));
  for (int r = 0; r < rows; ++r)
    for (int w = 0; w < width; ++w) {
      double sum = 0;
      for (int k = 0; k < cols; ++k) sum += double(matrix[size_t(r * cols + k)]) * double(x[size_t(k * width + w)]);
      result[size_t(r * width + w)] = float(sum);
    }
  return result;
}

ProbeJson outcome(const DriverResult<std::unique_ptr<SmallProgram>>& made) {
  return made ? ProbeJson(true) : ProbeJson(words_of(made.error()));
}

DriverResult<std::unique_ptr<SmallProgram>> make_conv(Driver& driver, int rows, int cols, int width,
                                                      const std::vector<float>& matrix, MilDialect dialect,
                                                      size_t surface_bytes) {
  auto weights = write_matrices(driver, {matrix});
  if (!weights) return tl::unexpected(own_failure(weights.error().message));
  return SmallProgram::make(driver, conv_text(dialect, rows, cols, width, weights->offsets[0]),
                            std::move(weights->file), {{"i00", cols, width}}, {{"o00", rows, width}}, surface_bytes);
}

Result<double> conv_error(Driver& driver, int rows, int cols, int width, float spread) {
  const auto matrix = random_halves(size_t(rows) * size_t(cols), 1 / std::sqrt(float(cols)), 1);
  const Plane x = random_halves(size_t(cols) * size_t(width), spread, 2);
  ANEDVD_TRY(const auto program, told("conv", make_conv(driver, rows, cols, width, matrix)));
  ANEDVD_TRY(const auto y, told("conv", program->run_patiently({x})));
  Difference difference;
  difference.add(y[0], product(matrix, x, rows, cols, width));
  return difference.relative();
}

Result<double> run_time(SmallProgram& program, const std::vector<Plane>& inputs, int repetitions) {
  std::vector<double> times;
  for (int i = 0; i < repetitions; ++i) {
    ANEDVD_TRY_VOID(told("run", program.run_patiently(inputs)));
    times.push_back(program.microseconds());
  }
  return middle_of(std::move(times));
}

Result<double> conv_time(Driver& driver, int size, int repetitions, uint64_t host_nanoseconds) {
  const std::vector<float> matrix(size_t(size) * size_t(size), 0.01f);
  ANEDVD_TRY(const auto program, told("conv", make_conv(driver, size, size, 64, matrix)));
  const Plane x(size_t(size) * 64, 0.0f);
  if (host_nanoseconds == 0) return run_time(*program, {x}, repetitions);
  std::vector<double> times;
  for (int i = 0; i < repetitions; ++i) {
    driver.host_worked(host_nanoseconds);
    ANEDVD_TRY(const double time, run_time(*program, {x}, 1));
    times.push_back(time);
  }
  return middle_of(std::move(times));
}

bool is_yes(const ProbeJson& value) { return value.is_boolean() && value.get<bool>(); }

ProbeJson answer(Driver& driver, Question question) {
  auto program = SmallProgram::make(driver, question.text, std::move(question.weights), question.in, question.out,
                                    question.surface_bytes);
  if (!program) return words_of(program.error());
  const auto got = (*program)->run_patiently(question.inputs);
  if (!got) return words_of(got.error());
  double worst = 0;
  for (size_t i = 0; i < question.wanted.size(); ++i) {
    Difference difference;
    difference.add((*got)[i], question.wanted[i]);
    worst = std::max(worst, difference.not_finite > 0 ? HUGE_VAL : difference.relative());
  }
  if (worst <= question.most_error) return true;
  return fmt::format("wrong values: error {}", error_words(worst));
}

}  // namespace anedvd
