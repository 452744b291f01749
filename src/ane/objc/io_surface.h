// Memory shared with the Neural Engine: one IOSurface and the framework's wrapper round it.
#pragma once

#include <memory>

#include "ane/driver.h"
#include "ane/objc/message.h"

namespace anedvd::objc {

class IoSurface final : public Surface {
 public:
  // `bytes` zeroed bytes, at least 1. The layout is the program's business: the surface is one row of single bytes.
  static DriverResult<std::unique_ptr<IoSurface>> make(size_t bytes);
  ~IoSurface() override;

  size_t bytes() const override { return bytes_; }
  DriverResult<std::span<std::byte>> lock(Access access) override;
  DriverResult<> unlock(Access access) override;

  // The _ANEIOSurfaceObject for requests; lives as long as this.
  Id wrapper() const { return wrapper_.get(); }

 private:
  IoSurface() = default;

  Ref<IOSurface> surface_;
  Ref<> wrapper_;
  size_t bytes_ = 0;
};

}  // namespace anedvd::objc
