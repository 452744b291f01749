// bench --limits: what the machine could do at best, and how much of it the model's speed is.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "cpu/limits.h"
#include "engine/runtime.h"

namespace anedvd {

struct LimitShares {
  CpuLimits limits;
  double read = 0;  // of the bandwidth, by answers: weight bytes · tokens/s; 0: not measured, or a mixture of experts
  double multiply = 0;  // of the int8 rate, by prompts: 2 · weights · tokens/s
};

// Measures the limits right behind the speeds, with the same threads and as many bytes as the weights have. `answer` and `prompt` in tokens a second, 0:
// not measured. kNoMemory, kUsage.
Result<LimitShares> measure_shares(const Runtime& runtime, double prompt, double answer);

// One or two lines, each ended.
std::string words_of(const LimitShares& shares);

nlohmann::ordered_json json_of(const LimitShares& shares);

}  // namespace anedvd
