// The Neural Engine as a compiler of plans, over any driver.
//
//   spec ── text in the dialect that works here ── weight file ── stage ── cached? load : compile, load ── surfaces ── AneProgram
//             │ refused text: the other dialect, once        │ refused files: true data, once     │ no resources: wait, again
//             └ too large, cannot be lowered: split, at last the host
//
// Everything that the device cannot take in the end runs on the host; only broken files, full disks and attributes that contradict the program
// are errors. Counts compilations and loaded programs, because both are budgets of unknown size (docs/ane.md#budgets).
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "ane/ane_program.h"
#include "ane/driver.h"
#include "ane/patience.h"
#include "ane/program_spec.h"
#include "ane/scaling.h"
#include "ane/weight_format.h"
#include "device/partition.h"

namespace anedvd {

struct AneOptions {
  MilDialect dialect = MilDialect::kTerse;  // tried first
  GateForm gates = GateForm::kTanh;         // tried first; sigmoid where tanh is refused
  int width = 64;                           // columns of a program; 32 and multiples of it keep rows contiguous
  ProgramLimits limits;
  int max_compiles = 110, max_loaded = 110;  // 119 and 126 were observed as ceilings; others run on this machine, too
  bool fuse_norms = false;                   // rms_norm on the device: squares overflow (docs/ane.md#reductions)
  bool fuse = true;                          // false: every linear a program of its own
  bool scale = true;                         // lift small sums above the accumulator's grain (scaling.h)
  bool measure =
      false;  // time each program on the device and on the host, and run it where it is faster (AneExecutable::measure)
  std::filesystem::path times_file;  // where measured times are kept between starts (times_memory.h); empty: nowhere
  std::string times_conditions;      // what they depend on beside device and width
  // Forms to store matrices in, of those that the machine's probe passes (docs/ane.md#compressed-weights).
  std::vector<WeightWish> weights;
  Patience patience;
};

// What the device offers the partition.
Capabilities ane_capabilities(const AneOptions& options);

struct AneCounters {
  int compiles = 0, loaded = 0, cached_loads = 0;
  int load_retries = 0, splits = 0, dialect_switches = 0, gate_switches = 0;
  int64_t evaluate_retries = 0;
  int measured_shapes = 0, remembered_shapes = 0;  // whose times were taken now, or at a start before
  int host_programs = 0;                           // that were meant for the device
  int coded_matrices = 0, dense_matrices = 0;      // stored in fewer bits; in fp16 although that was wished for
  double worst_weight_error = 0;                   // of those in fewer bits
  std::vector<std::string> refusals;               // why, one line each
};

// What a program takes on the device and on the host, with one column and with all of its width. Zeros: not measured.
struct PartTimes {
  double device_us[2] = {0, 0}, host_us[2] = {0, 0};
  std::string shape = {};  // steps and their sizes: programs of one shape are measured once

  // By a straight line between both measurements.
  bool host_is_faster(int columns, int width) const;
};

// A part of a plan as it will run.
struct AnePart {
  std::unique_ptr<AneProgram> program;  // null: a host step
  ProgramSpec spec;                     // of the program
  int host_op = -1;
  PartTimes times = {};
};

// One thread. The driver outlives the device and all that it compiled.
class AneDevice {
 public:
  AneDevice(Driver& driver, AneOptions options);

  // All parts of a partition, in order of execution. `find` is used during the call only.
  Result<std::vector<AnePart>> compile(const Plan& plan, const Partition& partition, const TensorFinder& find);

  // A program once more, after its like stopped answering.
  Result<std::unique_ptr<AneProgram>> rebuild(const Plan& plan, const ProgramSpec& spec, const TensorFinder& find);

  const AneOptions& options() const { return options_; }
  const AneCounters& counters() const { return counters_; }
  AneCounters& counters() { return counters_; }
  Driver& driver() { return driver_; }

 private:
  // The device does not take this program.
  struct Refused {
    bool smaller_may_do = false;
  };
  using Attempt = std::variant<std::unique_ptr<AneProgram>, Refused>;

  Result<Attempt> attempt(const Plan& plan, const ProgramSpec& spec, const TensorFinder& find);
  // With codes, the program or nothing; without, in the dialect that works.
  struct BroughtUp {
    MilProgram mil;
    DriverResult<std::unique_ptr<LoadedProgram>> loaded;
    std::string id;
  };
  Result<BroughtUp> bring_up_coded(const Plan& plan, const ProgramSpec& spec, const TensorFinder& find,
                                   const Scaling& scaling);
  Result<BroughtUp> bring_up_dense(const Plan& plan, const ProgramSpec& spec, const TensorFinder& find,
                                   const Scaling& scaling);
  MilOptions mil_options(const Scaling& scaling) const;
  void probe_wishes();
  DriverResult<std::unique_ptr<LoadedProgram>> bring_up(const std::string& text, WeightFile& weights, std::string& id);
  DriverResult<std::unique_ptr<LoadedProgram>> compile_and_load(StagedProgram& staged);
  DriverResult<std::unique_ptr<LoadedProgram>> load_patiently(StagedProgram& staged);

  // Appends the spec's parts; false if the host must take the whole of it.
  Result<bool> compile_spec(const Plan& plan, const ProgramSpec& spec, const TensorFinder& find,
                            std::vector<AnePart>& parts);
  void give_to_host(const ProgramSpec& spec, std::vector<AnePart>& parts);
  void note(const std::string& why);

  Driver& driver_;
  AneOptions options_;
  AneCounters counters_;
  bool dialect_is_known_ = false;  // one program was compiled in options_.dialect
  bool gates_are_known_ = false;   // one with a gate in options_.gates
  bool wishes_are_probed_ = false;
};

}  // namespace anedvd
