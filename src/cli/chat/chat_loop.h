// Where a chat's lines come from: a terminal with the line editor, or a pipe.
#pragma once

#include "base/result.h"
#include "cli/args.h"

namespace anedvd {

// Loads the model and talks until the input ends or the person leaves. args: of `chat`, or of `run` and `cpu`, which have the same flags.
// exact: as --exact.
Result<ExitCode> run_chat(const Args& args, const std::string& model, bool exact);

}  // namespace anedvd
