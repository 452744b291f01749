// A plan on the Neural Engine or its simulator together with all that it runs on: what a DeviceCompiler hands over.
#pragma once

#include <memory>

#include "ane/ane_executable.h"

namespace anedvd {

class AneModel : public Executable {
 public:
  // Cuts the plan by the options, compiles what the device takes and leaves the rest to `host`. Programs beyond the device's budget stay on the
  // host, too. `find`'s tensors outlive the model. Errors: those of AneExecutable::make.
  static Result<std::unique_ptr<AneModel>> make(const Plan& plan, const TensorFinder& find,
                                                std::unique_ptr<Driver> driver, AneOptions options,
                                                std::unique_ptr<HostOps> host);

  int max_columns() const override { return executable_->max_columns(); }
  Result<> run(std::span<const Slice> slices) override { return executable_->run(slices); }
  std::span<const float> logits(int i) const override { return executable_->logits(i); }
  void record(Trace* trace) override { executable_->record(trace); }
  void limit_threads(int threads) override { host_->limit_threads(threads); }

  AneExecutable& executable() { return *executable_; }
  const AneExecutable& executable() const { return *executable_; }
  const AneDevice& device() const { return *device_; }
  const Driver& driver() const { return *driver_; }

  // Bytes of all loaded programs' weights, as fp16.
  uint64_t weight_bytes() const;

 private:
  AneModel() = default;

  std::unique_ptr<Driver> driver_;
  std::unique_ptr<HostOps> host_;
  std::unique_ptr<AneDevice> device_;
  std::unique_ptr<AneExecutable> executable_;
};

}  // namespace anedvd
