// Questions to a chip, one by one (the numbers are those of docs/ane.md): what it accepts, how it lays tensors out, rounds and how long it takes.
#pragma once

#include <span>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "ane/driver.h"
#include "base/result.h"

namespace anedvd {

struct Probe {
  std::string_view id;       // "P-02"
  std::string_view settles;  // a few words
  // Whether the chip is as expected goes into "ok"; everything else is what was found. An error: the question could not be asked.
  Result<nlohmann::ordered_json> (*ask)(Driver& driver);
};

// In an order in which what may disturb the service comes last.
std::span<const Probe> all_probes();

}  // namespace anedvd
