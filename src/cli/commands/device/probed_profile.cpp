#include "cli/commands/device/probed_profile.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/words.h"

namespace anedvd {
namespace {

using Json = nlohmann::json;

const Json& at(const Json& value, const char* key) {
  static const Json kNothing;
  if (!value.is_object()) return kNothing;
  const auto found = value.find(key);
  return found == value.end() ? kNothing : *found;
}

// A probe's answers are true, or the failure's words.
bool says_no(const Json& value) { return value.is_string() || (value.is_boolean() && !value.get<bool>()); }

// A number within bounds that make sense, else `otherwise`.
double number(const Json& value, double low, double high, double otherwise) {
  if (!value.is_number()) return otherwise;
  const double given = value.get<double>();
  return given >= low && given <= high ? given : otherwise;
}

void take_operations(const Json& ops, sim::Profile& profile) {
  if (!ops.is_object()) return;
  for (const auto& [op, answer] : ops.items()) {
    const auto known = profile.ops.find(op);
    if (known == profile.ops.end()) continue;
    if (says_no(answer)) known->second = sim::OpVerdict::kInvalid;
    if (answer.is_boolean() && answer.get<bool>()) known->second = sim::OpVerdict::kTaken;
  }
}

void take(const std::string& id, const Json& value, sim::Profile& profile) {
  sim::CostModel& cost = profile.cost;
  if (id == "P-02") profile.rows_by_max = at(at(value, "row_stride"), "33") == 66;
  if (id == "P-03") {
    profile.takes_terse = !says_no(at(value, "terse"));
    profile.takes_verbose = !says_no(at(value, "verbose"));
  }
  if (id == "P-05") {
    const Json& bytes = at(value, "bytes");
    if (says_no(at(bytes, "16384")) && !says_no(at(bytes, "49152"))) profile.minimum_surface = 49152;
  }
  if (id == "P-10") profile.max_weight_tensors = int(number(at(value, "most"), 1, 64, profile.max_weight_tensors));
  if (id == "P-11" && says_no(at(at(value, "rows"), "16385"))) profile.max_out_channels = 16384;
  if (id == "P-13") profile.numerics.table_activations = number(at(at(value, "sigmoid"), "max_abs"), 0, 1, 1) > 1e-3;
  if (id == "P-15") take_operations(at(value, "ops"), profile);
  if (id == "P-27") {
    cost.launch_us = number(at(value, "launch_us"), 1, 1e5, cost.launch_us);
    cost.launch_after_host_us = number(at(value, "launch_after_host_us"), 1, 1e5, cost.launch_after_host_us);
  }
  if (id == "P-28") {
    cost.near_gb_s = number(at(at(value, "gb_s"), "1024"), 1, 1e4, cost.near_gb_s);
    cost.far_gb_s = number(at(at(value, "gb_s"), "3072"), 1, 1e4, cost.far_gb_s);
  }
  if (id == "P-38" && at(value, "has_floor").is_boolean())
    profile.numerics.accumulator =
        at(value, "has_floor").get<bool>() ? sim::Accumulator::kFixed : sim::Accumulator::kRoundedProducts;
}

}  // namespace

Result<sim::Profile> profile_of_probes(std::string_view text, std::string_view where) {
  ANEDVD_TRY(const Json json, parse_json(text, where));
  const Json& probes = at(json, "probes");
  if (!probes.is_array())
    return fail(ErrorCode::kBadFile, "{}: no list \"probes\"; give a file that \"anedvd probe --export\" wrote", where);
  sim::Profile profile = *sim::profile_named("a18pro-27");
  profile.name = "probed";
  if (const Json& machine = at(json, "machine"); machine.is_string())
    profile.name = "as " + visible(machine.get<std::string>(), 60);
  for (const Json& probe : probes)
    if (at(probe, "id").is_string()) take(at(probe, "id").get<std::string>(), at(probe, "value"), profile);
  return profile;
}

}  // namespace anedvd
