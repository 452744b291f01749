// Calls into a service that may hang or must not be interrupted.
//
// A process killed while the Neural Engine's service loads a program for it can leave that service stalled for everybody until the machine is
// restarted (docs/ane.md#wedging). So signals that would end the process wait until the call is over, and a call that does not come back is
// left to itself after a while instead of hanging the program.
#pragma once

#include <chrono>
#include <functional>

#include "ane/driver_failure.h"

namespace anedvd::objc {

// Runs `work` on a thread of its own and waits for it, `limit` at most. Past that the answer is a failure that is_stall() knows, and `work`
// goes on by itself: it must own all that it touches. SIGINT, SIGTERM and SIGHUP are held back meanwhile and raised afterwards.
// One call at a time in a process.
DriverResult<> run_patiently(const char* what, std::chrono::milliseconds limit, std::function<DriverResult<>()> work);

bool is_stall(const DriverFailure& failure);

}  // namespace anedvd::objc
