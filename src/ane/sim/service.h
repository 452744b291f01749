// The simulated service behind the framework: compiles folders, loads programs, evaluates requests, and refuses what the real one refuses.
//
// SimDriver (sim_driver.h) drives it directly; the stand-in for the private framework drives it through Objective-C messages. It knows bytes only:
// the text and the files as they lie in the program's folder, never what made them.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ane/driver_failure.h"
#include "ane/model_attributes.h"
#include "ane/sim/profile.h"

namespace anedvd::sim {

// A surface's memory and the symbol that it was bound to.
struct Bound {
  int symbol = 0;
  std::span<std::byte> memory;
};

// Not thread-safe.
class Service {
 public:
  explicit Service(Profile profile);
  ~Service();

  const Profile& profile() const;

  // The three parts of a program's hexadecimal name. `dictionary` is the bytes of the weight dictionary's entries.
  static std::string name_of(std::string_view mil, std::span<const std::byte> dictionary);

  // Reads `folder`/model.mil and the weight files that it names. Counts against the budget, whatever comes out.
  DriverResult<> compile(const std::string& id, const std::filesystem::path& folder);
  bool is_compiled(const std::string& id) const;
  void purge(const std::string& id);

  // The handle of a loaded program, > 0.
  DriverResult<int> load(const std::string& id);
  void unload(int handle);
  const ModelAttributes& attributes(int handle) const;

  DriverResult<> evaluate(int handle, int procedure, std::span<const Bound> inputs, std::span<const Bound> outputs);

  // Simulated time of the last evaluate (cost model, profile.h), and telling the clock that the host was busy in between.
  uint64_t last_nanoseconds() const;
  void host_worked(uint64_t nanoseconds);

  int compiles() const;
  int loaded() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace anedvd::sim
