// What the probes share: small programs with known results, and how a chip's answer becomes JSON.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "ane/small_program.h"
#include "base/result.h"

namespace anedvd {

using ProbeJson = nlohmann::ordered_json;

// The machine that is asked.
struct ProbedMachine {
  Driver& driver;
  // Runs one probe in another process of the same device and returns its line of JSON; empty when there is none.
  std::function<std::string(std::string_view id)> beside;

  // Time passes without requests: on the simulator its clock only.
  void pause(double seconds) const;
};

// fp16 numbers as floats, normally distributed.
std::vector<float> random_halves(size_t count, float spread, uint32_t seed);

// Σ_k matrix[r, k] · x[k, w] in double precision. matrix [rows][cols], x [cols][width].
Plane product(const std::vector<float>& matrix, const Plane& x, int rows, int cols, int width);

template <class T>
Result<T> told(const char* what, DriverResult<T> result) {
  if (!result) return fail_device(what, result.error());
  return std::move(*result);
}

inline Result<> told(const char* what, const DriverResult<>& result) {
  if (!result) return fail_device(what, result.error());
  return {};
}

// true, or the failure's words.
ProbeJson outcome(const DriverResult<std::unique_ptr<SmallProgram>>& made);

DriverResult<std::unique_ptr<SmallProgram>> make_conv(Driver& driver, int rows, int cols, int width,
                                                      const std::vector<float>& matrix,
                                                      MilDialect dialect = MilDialect::kTerse,
                                                      size_t surface_bytes = 0);

// The relative error of a random [rows, cols] convolution with inputs of this spread.
Result<double> conv_error(Driver& driver, int rows, int cols, int width, float spread);

// The median time of a convolution [size, size] in microseconds; `host_nanoseconds` of host work before each.
Result<double> conv_time(Driver& driver, int size, int repetitions, uint64_t host_nanoseconds);
Result<double> run_time(SmallProgram& program, const std::vector<Plane>& inputs, int repetitions);

// A program and what it should give.
struct Question {
  std::string text;
  WeightFile weights = {};
  std::vector<DeclaredTensor> in, out;
  std::vector<Plane> inputs, wanted;
  double most_error = 2e-3;  // relative to the largest value
  size_t surface_bytes = 0;  // as SmallProgram::make
};

// true; "wrong values: error 3.10e-1"; or the failure's words.
ProbeJson answer(Driver& driver, Question question);

// Whether an answer is `true`.
bool is_yes(const ProbeJson& value);

}  // namespace anedvd
