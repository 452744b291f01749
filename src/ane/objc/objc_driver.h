// The driver of the real Neural Engine, through Apple's private framework.
#pragma once

#include <chrono>
#include <memory>

#include "ane/driver.h"
#include "ane/objc/runtime.h"

namespace anedvd::objc {

struct DriverOptions {
  std::chrono::milliseconds patience{60'000};  // longest wait for one compile or load
  bool keep_folders = false;                   // programs' folders stay until unload, to look at them
};

// Opens the framework, checks that all that is needed is there, and removes what killed processes left in the temporary folder. kDevice says
// what is missing; on a machine without the framework that is the framework.
Result<std::unique_ptr<Driver>> open_objc_driver(const LibraryPaths& paths = LibraryPaths::from_environment(),
                                                 const DriverOptions& options = {});

}  // namespace anedvd::objc
