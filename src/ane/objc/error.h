// An NSError as plain data.
#pragma once

#include <string>

#include "ane/driver_failure.h"
#include "ane/objc/runtime.h"

namespace anedvd::objc {

// Copies domain, code, text and status before the pool takes the error away. A failed call may leave no error: nil gets words of ours.
//   what     the call that failed, "compile"
//   program  hexadecimal id
DriverFailure failure_of(NSError* error, const char* what, const std::string& program);

}  // namespace anedvd::objc
