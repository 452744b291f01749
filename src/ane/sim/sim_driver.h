// The simulator as a driver: the same code as on the Neural Engine, on any machine.
//
// Folders, names and files are those of the real thing; behind them is the simulated service (service.h).
#pragma once

#include <memory>

#include "ane/driver.h"
#include "ane/sim/service.h"

namespace anedvd::sim {

class SimDriver : public Driver {
 public:
  // A private folder below the system's temporary one, removed with the driver. Error: kIo.
  static Result<std::unique_ptr<SimDriver>> make(Profile profile);
  ~SimDriver() override;

  std::string_view name() const override { return "sim"; }
  std::string machine() const override;
  const std::filesystem::path& scratch_folder() const override;
  DriverResult<std::unique_ptr<StagedProgram>> stage(std::string_view mil, WeightFile weights,
                                                     DictionaryContent dictionary) override;
  DriverResult<std::unique_ptr<Surface>> make_surface(size_t bytes) override;
  void host_worked(uint64_t nanoseconds) override;

  Service& service();

 private:
  struct State;
  explicit SimDriver(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace anedvd::sim
