// This program once more, as a child with a time limit: for work that may hang or take the process with it.
#pragma once

#include <string>
#include <vector>

namespace anedvd {

struct ChildResult {
  std::string output;  // standard output; standard error is the parent's
  bool timed_out = false;
  int signal = 0;  // that ended it
  int exit_code = -1;

  // Why there is no output: "no answer within 30 s", "ended by signal 11", "exit code 1".
  std::string words() const;
};

// Runs anedvd with these arguments and waits `seconds` at most; after that the child is ended.
ChildResult run_child(const std::vector<std::string>& arguments, int seconds);

}  // namespace anedvd
