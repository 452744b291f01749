// The machine that the program runs on, in words and numbers.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace anedvd {

struct Machine {
  std::string system;  // "Linux x86-64"
  std::string simd;    // kernel level in use: "AVX-512 VNNI"
  int cores = 0;       // that this process may run on
  uint64_t memory_bytes = 0, memory_free_bytes = 0;
};

Machine this_machine();

// "135M", "1.71B": parameters as model names give them.
std::string parameter_words(int64_t parameters);

}  // namespace anedvd
