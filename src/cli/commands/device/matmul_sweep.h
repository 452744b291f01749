// anedvd bench without a model: square matrices of growing size.
#pragma once

#include "cli/args.h"

namespace anedvd {

// --reps, --json and the device's options of the arguments.
Result<ExitCode> run_matmul_sweep(const Args& args);

}  // namespace anedvd
