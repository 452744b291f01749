// What the chip and its system refuse, one rule a fact. Each names the section of docs/ane.md that it copies.
//
// Rules of the text's grammar and types live where the graph is built (graph.h); here are limits, of one program, one process, one request.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "ane/model_attributes.h"
#include "ane/sim/graph.h"
#include "ane/sim/profile.h"
#include "ane/sim/service.h"

namespace anedvd::sim {

using Refusal = std::optional<DriverFailure>;

// What is known when a program has been read.
struct CompileCase {
  const MilText& text;
  std::span<const Graph> graphs;
};

struct CompileRule {
  std::string_view name;    // as in docs/ane.md#rules
  std::string_view anchor;  // section of docs/ane.md
  Refusal (*check)(const CompileCase&, const Profile&);
};
std::span<const CompileRule> compile_rules();

// A request against a loaded program.
struct RequestCase {
  const ModelAttributes& attributes;
  const ProcedureAttributes* procedure;  // null: there is none with that index
  std::span<const Bound> inputs, outputs;
};

struct RequestRule {
  std::string_view name, anchor;
  Refusal (*check)(const RequestCase&, const Profile&);
};
std::span<const RequestRule> request_rules();

// Planar layout of [1, channels, 1, width] in fp16 (docs/ane.md#planar-law).
LiveTensor live_tensor(const GraphValue& value, bool is_output, const Profile& profile);

// Symbols over all functions, sorted by name as the compiler sorts them.
ModelAttributes attributes_of(std::span<const Graph> graphs, const Profile& profile);

// The failures of docs/ane.md#errors, as macOS words them; newer systems have codes of their own.
DriverFailure surface_too_small(const Profile& profile);
DriverFailure bad_request();
DriverFailure cancelled_by_power();
DriverFailure no_resources();
DriverFailure no_memory();
DriverFailure too_large();
DriverFailure invalid_bundle();
DriverFailure timeout();
DriverFailure procedure_failed();
DriverFailure not_ready();        // one of those that call themselves transient
DriverFailure hardware_failed();  // one of those that do not

}  // namespace anedvd::sim
