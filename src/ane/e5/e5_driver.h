// The Neural Engine by the E5 runtime, behind the same Driver: opt-in, --ane-route e5 (docs/ane.md#route-e5).
//
// Tensors are bound by name and lie packed, without rows of 64 bytes: programs whose width is a multiple of 32 look the same to both routes, others
// are refused when their attributes are read. Compiled programs live in this process only.
#pragma once

#include <memory>
#include <string>

#include "ane/driver.h"

namespace anedvd::e5 {

// Errors: kDevice as load_functions() says; kIo for the folder of the programs.
Result<std::unique_ptr<Driver>> open_e5_driver(const std::string& library);

}  // namespace anedvd::e5
