// A whole plan on the Neural Engine: its programs there, everything between them on the host.
//
// Values are rows of floats on the host; a program's inputs are laid out in planes before it and its outputs are gathered after it. A program
// that stops answering in the middle of an answer is made anew once, then its steps run on the host from the same cache: the answer goes on.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ane/ane_device.h"
#include "device/host_ops.h"
#include "device/step.h"

namespace anedvd {

// Where the time of some steps went.
struct AneTimes {
  int64_t steps = 0, columns = 0;
  uint64_t device_nanoseconds = 0, host_nanoseconds = 0;  // real time: evaluations with their copies, host steps
  uint64_t simulated_nanoseconds = 0;                     // on the simulated chip; 0 on a real one
};

// What happened since the executable was made.
struct AneStatistics {
  AneTimes all;
  AneTimes single;  // of the steps with one column: decoding
  int64_t evaluations = 0;
  int64_t placed_on_host = 0;  // evaluations whose program is faster on the host
  int64_t overflowed = 0;      // evaluations whose work the host did again
  int64_t failures = 0;        // evaluations that failed for good
  std::string last_failure;
};

// A step's part as it was run, on the device or on the host, for checks. `values` as in HostOps.
using PartObserver = std::function<void(const AnePart& part, std::span<float* const> values, int columns)>;

class AneExecutable : public Executable {
 public:
  // Compiles the partition's programs and prepares the host's steps. `find`'s tensors, `host` and `device` outlive the executable.
  // Errors: those of AneDevice::compile and HostOps::prepare.
  static Result<std::unique_ptr<AneExecutable>> make(Plan plan, const Partition& partition, TensorFinder find,
                                                     AneDevice& device, HostOps& host);

  int max_columns() const override { return device_.options().width; }
  Result<> run(std::span<const Slice> slices) override;
  std::span<const float> logits(int i) const override;
  void record(Trace* trace) override { trace_ = trace; }

  const std::vector<AnePart>& parts() const { return parts_; }
  const AneStatistics& statistics() const { return statistics_; }
  void observe(PartObserver observer) { observer_ = std::move(observer); }

 private:
  AneExecutable(Plan plan, TensorFinder find, AneDevice& device, HostOps& host)
      : plan_(std::move(plan)), find_(std::move(find)), device_(device), host_(host) {}

  std::string_view name_of(const AnePart& part) const;
  void share_rows();
  void find_tail();
  void take(std::span<const Slice> slices);
  void keep_wanted_columns();
  Result<> measure();
  Result<> measure_part(AnePart& part);
  Result<> run_parts(std::span<const Slice> slices);
  Result<> run_program(AnePart& part, const HostStep& step);
  Result<> run_on_host(const ProgramSpec& spec, const HostStep& step);
  Result<> run_overflowed(const AnePart& part, const HostStep& step);
  Result<> run_host_ops(std::span<const int> ops, const HostStep& step, std::span<float* const> values);

  Plan plan_;
  TensorFinder find_;
  AneDevice& device_;
  HostOps& host_;
  std::vector<AnePart> parts_;
  size_t tail_ = 0;                       // first part behind the last attention
  std::vector<ValueId> live_at_tail_;     // written before it, read behind it
  std::vector<std::vector<float>> rows_;  // [width][column_floats] each
  std::vector<float*> values_;            // by value: its rows
  std::vector<HostColumn> columns_;
  std::vector<int> wanted_;
  std::vector<int> host_run_;  // neighbouring host steps
  AneStatistics statistics_;
  PartObserver observer_;
  Trace* trace_ = nullptr;
};

}  // namespace anedvd
