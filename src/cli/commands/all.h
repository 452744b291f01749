// One function a command, each in its own file. registry.cpp lists them.
#pragma once

#include "cli/command.h"

namespace anedvd {

Command completions_command();
Command detokenize_command();
Command help_command();
Command info_command();
Command tokenize_command();
Command version_command();

}  // namespace anedvd
