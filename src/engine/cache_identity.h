// What keys and values depend on besides the tokens.
#pragma once

#include <string>

#include "device/plan.h"
#include "engine/runtime.h"

namespace anedvd {

// How a plan computes, apart from its weights: every step's kind, parameters, rotations and windows.
std::string plan_digest(const Plan& plan);

// A digest of the model's bytes (every tensor's name, shape, type and samples of its content) and of how this runtime computes: equal for files
// whose pages may be exchanged, different for all others.
std::string cache_identity(const Runtime& runtime);

}  // namespace anedvd
