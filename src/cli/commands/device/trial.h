// One matrix on the device of the arguments: how long it takes and how far its result is from double arithmetic.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/args.h"
#include "cli/commands/device/side_by_side.h"

namespace anedvd {

struct Trial {
  double microseconds = 0;  // median of one evaluation with its copies; on the simulator: of the simulated chip
  bool is_simulated = false;
  Difference difference;
  std::string machine;
};

struct TrialShape {
  int rows = 0, cols = 0;
  int width = 64;   // columns of the program
  int columns = 1;  // that hold something
  int repetitions = 5;
};

// Errors: those of open_driver and of compiling; kDevice when the program ends up on the host.
Result<Trial> try_linear(const Args& args, const TrialShape& shape);

// --size (with this default), --reps, --json and the device's options.
std::vector<OptionSpec> trial_options(std::string_view size);

// "simulated a18pro-27" behind a table of times, or the machine's name.
std::string time_words(const Trial& trial);

}  // namespace anedvd
