#include "ane/ane_model.h"

namespace anedvd {

Result<std::unique_ptr<AneModel>> AneModel::make(const Plan& plan, const TensorFinder& find,
                                                 std::unique_ptr<Driver> driver, AneOptions options,
                                                 std::unique_ptr<HostOps> host) {
  std::unique_ptr<AneModel> made(new AneModel);
  Capabilities can = ane_capabilities(options);
  can.max_programs = 1 << 30;  // the device counts, and stops where its budget ends
  ANEDVD_TRY(const Partition cut, partition(plan, can));
  made->driver_ = std::move(driver);
  made->host_ = std::move(host);
  made->device_ = std::make_unique<AneDevice>(*made->driver_, std::move(options));
  ANEDVD_TRY(made->executable_, AneExecutable::make(plan, cut, find, *made->device_, *made->host_));
  return made;
}

uint64_t AneModel::weight_bytes() const {
  uint64_t bytes = 0;
  for (const AnePart& part : executable_->parts())
    if (part.program != nullptr) bytes += uint64_t(part.program->mil().weight_bytes);
  return bytes;
}

}  // namespace anedvd
