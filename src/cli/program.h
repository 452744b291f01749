// From the words on the command line to an exit code.
#pragma once

#include <string>
#include <vector>

namespace anedvd {

// Runs one command. Errors become one line on stderr: anedvd: WHERE: what is wrong; what to do
int run_program(const std::vector<std::string>& words);

}  // namespace anedvd
