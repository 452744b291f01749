// What the chip and its system refuse of one program and of one request. rule.h names all rules.
//
// Rules of the text's grammar and types live where the graph is built (graph.h), those of a process and its budgets in service.cpp.
#pragma once

#include <optional>
#include <span>

#include "ane/model_attributes.h"
#include "ane/sim/graph.h"
#include "ane/sim/profile.h"
#include "ane/sim/rule.h"
#include "ane/sim/service.h"

namespace anedvd::sim {

using Refusal = std::optional<DriverFailure>;

// What is known when a program has been read.
struct CompileCase {
  const MilText& text;
  std::span<const Graph> graphs;
};

struct CompileRule {
  Rule rule;
  Refusal (*check)(const CompileCase&, const Profile&);
};
std::span<const CompileRule> compile_rules();

// By the first rule that holds and does not let it pass, whose name ends the failure.
Refusal refusal_of(const CompileCase& program, const Profile& profile);

// A request against a loaded program.
struct RequestCase {
  const ModelAttributes& attributes;
  const ProcedureAttributes* procedure;  // null: there is none with that index
  std::span<const Bound> inputs, outputs;
};

struct RequestRule {
  Rule rule;
  Refusal (*check)(const RequestCase&, const Profile&);
};
std::span<const RequestRule> request_rules();
Refusal refusal_of(const RequestCase& request, const Profile& profile);

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
