// Questions to a chip, one by one (the numbers are those of docs/ane.md): what it accepts, how it lays tensors out, rounds and how long it takes.
#pragma once

#include <span>
#include <string_view>

#include "cli/commands/device/probes/ask.h"

namespace anedvd {

struct Probe {
  std::string_view id;       // "P-02"
  std::string_view settles;  // a few words
  // Whether the chip is as expected goes into "ok"; everything else is what was found. An error: the question could not be asked.
  Result<ProbeJson> (*ask)(const ProbedMachine& machine);
  int seconds = 30;  // that it may take
};

// In an order in which what may disturb the service comes last.
std::span<const Probe> all_probes();

// nullptr: there is none.
const Probe* probe_named(std::string_view id);

// One probe's answer as a line of JSON: {"id", "machine", "ok", "value"}; a question that could not be asked is not ok, and its value says why.
ProbeJson ask_probe(const Probe& probe, const ProbedMachine& machine);

}  // namespace anedvd
