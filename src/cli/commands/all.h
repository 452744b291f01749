// One function a command, each in its own file. registry.cpp lists them.
#pragma once

#include "cli/command.h"

namespace anedvd {

Command attnbench_command();
Command bench_command();
Command chat_command();
Command check_command();
Command completions_command();
Command conform_command();
Command cpu_command();
Command detokenize_command();
Command help_command();
Command info_command();
Command kernels_command();
Command layers_command();
Command list_command();
Command logits_command();
Command perplexity_command();
Command probe_command();
Command pull_command();
Command quantize_command();
Command rm_command();
Command run_command();
Command selftest_command();
Command serve_command();
Command template_command();
Command tokenize_command();
Command verify_command();
Command version_command();
Command width_command();

}  // namespace anedvd
