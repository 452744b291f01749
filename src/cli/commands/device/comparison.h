// What check, verify and layers have in common: a model loaded side by side with the reference, and texts to run through both.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/args.h"
#include "cli/commands/device/side_by_side.h"
#include "cli/devices.h"
#include "engine/runtime.h"

namespace anedvd {

struct Comparison {
  std::unique_ptr<Runtime> runtime;
  SideBySide* both = nullptr;  // lives in the runtime
  std::string device;          // "sim", "ane"
};

// The model of the arguments on their device, beside the reference; without a Neural Engine "auto" is the simulator. `layers` > 0: the first ones.
// `numerics`: of the simulator, whatever its options say.
Result<Comparison> load_comparison(const Args& args, int layers, SimNumerics numerics = SimNumerics::kAsAsked);

// --prompt as ids, or 32 short texts; for a model whose tokenizer is not there, 32 rows of ids that are always the same.
Result<std::vector<std::vector<Token>>> comparison_prompts(const Args& args, Runtime& runtime);

// NAME N: only the first N layers. Each command has its own name for it.
OptionSpec first_layers_option(std::string_view name);

// --model, --prompt, --json and what loading takes.
std::vector<OptionSpec> comparison_options();

}  // namespace anedvd
