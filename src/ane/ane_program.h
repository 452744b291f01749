// One program that is loaded and has its surfaces: floats in, floats out.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ane/driver.h"
#include "ane/mil_writer.h"
#include "ane/patience.h"

namespace anedvd {

class AneProgram {
 public:
  // Finds every tensor in the framework's attributes, makes surfaces and binds them by symbol. Errors: kDevice (attributes that contradict the
  // program; a surface that cannot be made).
  static Result<std::unique_ptr<AneProgram>> make(Driver& driver, std::unique_ptr<LoadedProgram> loaded, MilProgram mil,
                                                  int width, std::string id);

  // Runs `columns` ≤ width columns. values[id] as in HostOps: inputs are read, outputs written. A cancelled request is made again
  // (docs/ane.md#retries). `retries` counts those.
  DriverResult<> run(std::span<float* const> values, int columns, const Plan& plan, const Patience& patience,
                     int64_t& retries);

  const MilProgram& mil() const { return mil_; }
  const std::string& id() const { return id_; }
  uint64_t simulated_nanoseconds() const { return loaded_->simulated_nanoseconds(); }

  // The columns, ascending, for which the last run gave something that is no number, or infinity: an overflow on the chip (docs/ane.md#numerics).
  std::span<const int> overflowed() const { return overflowed_; }

 private:
  AneProgram(std::unique_ptr<LoadedProgram> loaded, MilProgram mil, int width, std::string id)
      : mil_(std::move(mil)), width_(width), id_(std::move(id)), loaded_(std::move(loaded)) {}

  DriverResult<> write_inputs(std::span<float* const> values, int columns, const Plan& plan);
  DriverResult<> evaluate(const Patience& patience, int64_t& retries);
  DriverResult<> read_outputs(std::span<float* const> values, int columns, const Plan& plan);

  MilProgram mil_;
  int width_;
  std::string id_;
  ProgramLayout layout_;
  int filled_ = 0;  // columns that the inputs' surfaces hold; those behind are zero
  std::vector<int> overflowed_;
  std::vector<float> scales_, undo_;                        // by column: of the inputs, and what takes them back
  std::vector<std::unique_ptr<Surface>> inputs_, outputs_;  // outlive the loaded program's use of them
  std::unique_ptr<LoadedProgram> loaded_;
};

}  // namespace anedvd
