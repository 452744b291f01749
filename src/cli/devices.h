// Which device a person gets: the only place that names concrete ones.
//
//   --device cpu   the quantised kernels
//            sim   the Neural Engine's programs on the simulator (--sim-chip, --sim-profile, --sim-deterministic, --sim-faults)
//            ane   the Neural Engine through Apple's private framework, or the library that ANEDVD_ANE_FRAMEWORK names in its place
//            auto  the Neural Engine where there is one and it measures faster, else the CPU
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/args.h"
#include "device/compile.h"

namespace anedvd {

class AneModel;
class Driver;
struct AneOptions;
namespace sim {
struct Profile;
}

struct DeviceChoice {
  std::string name;         // "cpu", "sim", "ane"
  DeviceCompiler compiler;  // empty: the engine's own, the CPU
  std::string why_not_ane;  // what made "auto" the CPU on a machine that may have a Neural Engine; else empty
};

// What the simulator leaves out of a chip's numerics, so that its share of an error can be told.
enum class SimNumerics {
  kAsAsked,
  kWithoutTables,  // as if --sim-act exact were given
  kHalfPrecision,  // exact sums and functions: what remains are values rounded to fp16 between operations, on any chip
};

// --device and what belongs to it; `otherwise` is what "auto" means on a machine without a Neural Engine. Errors: kDevice for a device that the
// machine lacks, kUsage for values that are none.
Result<DeviceChoice> choose_device(const Args& args, std::string_view otherwise = "cpu",
                                   SimNumerics numerics = SimNumerics::kAsAsked);

// The simulator computes activations by tables, so that their share of an error can be told by computing once more without them.
bool has_simulated_tables(const Args& args, std::string_view device);

// The driver behind --device sim or ane, for commands that compile programs without a model; auto is the simulator where there is no Neural
// Engine. Errors as above; kUsage for cpu.
Result<std::unique_ptr<Driver>> open_driver(const Args& args, int threads);

// --fuse, --split, --chunk, --ane-weights.
Result<AneOptions> ane_options_of(const Args& args);

// --sim-profile, --sim-chip, --sim-deterministic, --sim-faults, --sim-pool.
Result<sim::Profile> sim_profile_of(const Args& args);

// The private framework as it is on this machine, asked before any message is sent.
struct NeuralEngine {
  bool is_usable = false;
  std::string words;                 // "Neural Engine", or why it cannot be used: "no Neural Engine here"
  int found = 0;                     // classes and selectors
  std::vector<std::string> missing;  // "_ANEInMemoryModel -model"
  std::string table;                 // one line each
};
NeuralEngine find_neural_engine();

// The model behind an executable when it runs on the Neural Engine or its simulator; null on the CPU.
AneModel* ane_model_of(Executable& executable);

// Steps, retries, failures and simulated time of a model in a few words; empty when there is nothing to say.
std::string device_words(const AneModel& model);

// The same and more for --json: programs, compiles, retries, failures, overflows, device and host time, simulated time.
nlohmann::ordered_json device_json(const AneModel& model);

// Every option above.
std::vector<OptionSpec> device_options();

}  // namespace anedvd
