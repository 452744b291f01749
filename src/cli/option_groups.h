// Options that several commands share, in one place so that they mean the same everywhere.
#pragma once

#include <vector>

#include "cli/command.h"

namespace anedvd {

// One list after the other.
std::vector<OptionSpec> join(const std::vector<std::vector<OptionSpec>>& lists);

std::vector<OptionSpec> model_option();          // --model
std::vector<OptionSpec> runtime_options();       // --max-seq --device --threads --chunk …: how a model is loaded
std::vector<OptionSpec> sampling_options();      // --max-tokens --temp … --stop --seed
OptionSpec reps_option();                        // --reps: repetitions of a measurement
std::vector<OptionSpec> json_option();           // --json
std::vector<OptionSpec> quant_option();          // --quant, part of runtime_options()
std::vector<OptionSpec> chat_options();          // --multiline --plain --no-history
std::vector<OptionSpec> chat_template_option();  // --chat-template

// --threads, part of runtime_options().
OptionSpec threads_option(std::string_view help = "worker threads [physical cores]");

}  // namespace anedvd
