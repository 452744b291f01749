// The simulator's rules by name. Each copies one fact of docs/ane.md; its section #rules lists them all.
//
// A refusal ends in its rule's name, and a profile can switch a rule off: what depends on it shows (tests/ane/sim/every_rule_test.cpp).
#pragma once

#include <string_view>

#include "ane/driver_failure.h"
#include "ane/sim/profile.h"

namespace anedvd::sim {

struct Rule {
  std::string_view name;
  std::string_view anchor;  // section of docs/ane.md
};

inline constexpr Rule kRules[] = {
    // of one program's text, where the graph is built
    {"operation_is_taken", "operations"},
    {"operands_are_named", "mil-text"},
    {"codes_are_of_a_known_type", "compressed-weights"},
    {"scales_are_of_rows", "compressed-weights"},
    {"table_is_of_the_tensor", "compressed-weights"},
    // of one program as a whole (compile_rules)
    {"dialect_is_taken", "mil-text"},
    {"outputs_are_live", "mil-text"},
    {"one_weight_file", "one-weight-file"},
    {"blob_slots", "blob-slots"},
    {"extents", "extents"},
    {"out_channels", "out-channels"},
    {"program_bytes", "large-heads"},
    {"softmax_of_power_of_two", "operations"},
    {"procedures", "procedures"},
    // of the service (service.cpp)
    {"compiles_of_a_process", "budgets"},
    {"stalls_after_a_failure", "wedging"},
    {"loaded_at_a_time", "budgets"},
    {"huge_programs_are_doubtful", "large-heads"},
    {"cancelled_after_idle", "errors"},
    {"fails_at_run", "operations"},
    {"poisons_the_process", "operations"},
    // of a request (request_rules)
    {"symbols_are_the_procedures", "binding"},
    {"surfaces_hold_their_symbol", "surface-sizes"},
    {"surfaces_are_equal", "surface-sizes"},
    {"surfaces_reach_the_minimum", "surface-sizes"},
};

// The rule of this name; a name that is not in the list does not compile.
consteval const Rule& rule(std::string_view name) {
  const Rule* found = nullptr;
  for (const Rule& candidate : kRules)
    if (candidate.name == name) found = &candidate;
  return *found;
}

inline bool holds(const Rule& rule, const Profile& profile) { return !profile.rules_off.contains(rule.name); }

// The failure in the system's words, and whose it is.
inline DriverFailure refused_by(const Rule& rule, DriverFailure failure) {
  failure.text += fmt::format(" [rule {}]", rule.name);
  return failure;
}

}  // namespace anedvd::sim
