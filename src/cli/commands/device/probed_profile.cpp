#include "cli/commands/device/probed_profile.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/words.h"
#include "text/hf/base64.h"

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

bool says_yes(const Json& value) { return value.is_boolean() && value.get<bool>(); }

bool contains(const Json& value, std::string_view part) {
  return value.is_string() && value.get_ref<const std::string&>().find(part) != std::string::npos;
}

void take_operations(const Json& ops, sim::Profile& profile) {
  if (!ops.is_object()) return;
  for (const auto& [op, answer] : ops.items()) {
    const auto known = profile.ops.find(op);
    if (known == profile.ops.end()) continue;
    if (says_yes(answer)) known->second = sim::OpVerdict::kTaken;
    if (says_no(answer)) {
      // Compiled, then failed with the status of a surface that is too small; or computed something else, which no verdict says.
      if (contains(answer, "wrong values")) continue;
      known->second = contains(answer, "0x1d") ? sim::OpVerdict::kFailsAtRun : sim::OpVerdict::kInvalid;
    }
  }
}

void take_samples(const Json& halves, sim::Profile& profile) {
  constexpr size_t kPatterns = size_t(1) << 16;
  if (!halves.is_object()) return;
  for (const auto& [op, text] : halves.items()) {
    if (!profile.ops.contains(op) || !text.is_string()) continue;
    const auto bytes = decode_base64(text.get_ref<const std::string&>());
    if (!bytes || bytes->size() != 2 * kPatterns) continue;
    auto table = std::make_shared<std::vector<uint16_t>>(kPatterns);
    for (size_t i = 0; i < kPatterns; ++i)
      (*table)[i] = uint16_t(uint8_t((*bytes)[2 * i]) | uint8_t((*bytes)[2 * i + 1]) << 8);
    profile.numerics.samples[op] = std::move(table);
  }
}

// A program's surfaces, files and weights.
void take_of_programs(const std::string& id, const Json& value, sim::Profile& profile) {
  if (id == "P-02") profile.rows_by_max = at(at(value, "row_stride"), "33") == 66;
  if (id == "P-03") {
    profile.takes_terse = !says_no(at(value, "terse"));
    profile.takes_verbose = !says_no(at(value, "verbose"));
  }
  if (id == "P-05") {
    const Json& bytes = at(value, "bytes");
    if (!at(bytes, "16384").is_null())
      profile.minimum_surface = says_no(at(bytes, "16384")) && !says_no(at(bytes, "49152")) ? 49152 : 0;
  }
  if (id == "P-07" && at(value, "files").is_object()) profile.one_weight_file = says_no(at(at(value, "files"), "2"));
  if (id == "P-09") profile.equal_surfaces = says_no(at(value, "large"));
  if (id == "P-10") profile.max_weight_tensors = int(number(at(value, "most"), 1, 64, profile.max_weight_tensors));
  if (id == "P-11" && at(value, "rows").is_object())
    profile.max_out_channels = says_no(at(at(value, "rows"), "16385")) ? 16384 : 1 << 20;
  if (id == "P-19" && at(value, "plain").is_number())
    profile.scalar_takes_slot = number(at(value, "with_scalar"), 0, 64, 0) < number(at(value, "plain"), 0, 64, 64);
  if (id == "P-21") profile.takes_block_scales = says_yes(at(value, "blocks"));
  if (id == "P-22") {
    profile.takes_grouped_tables = says_yes(at(value, "groups"));
    // Of no width at all: the operation is refused, whatever it indexes with.
    for (const auto& [bits, answer] : at(value, "bits").items())
      if (says_no(answer) && profile.ops["constexpr_lut_to_dense"] != sim::OpVerdict::kInvalid)
        profile.code_types.erase("uint" + bits);
  }
  if (id == "P-25" && says_yes(at(value, "int4"))) profile.code_types.insert("int4");
}

// What the service keeps and how much of it.
void take_of_service(const std::string& id, const Json& value, sim::Profile& profile) {
  if (id == "P-30") {
    if (contains(at(value, "loaded_ended_by"), "code 54"))
      profile.max_loaded = int(number(at(value, "loaded"), 1, 1e6, profile.max_loaded));
    else if (at(value, "loaded").is_number())
      profile.max_loaded = std::max(profile.max_loaded, int(number(at(value, "loaded"), 1, 1e6, 1)));
    if (at(value, "compiles_ended_by").is_string())
      profile.max_compiles = int(number(at(value, "compiles"), 1, 1e6, profile.max_compiles));
  }
  if (id == "P-32" && at(value, "known").is_boolean()) profile.keeps_compiled = says_yes(at(value, "known"));
  if (id == "P-33" && at(value, "reads_the_file").is_boolean())
    profile.reloads_weights = says_yes(at(value, "reads_the_file"));
  if (id == "P-34" && says_no(at(at(value, "functions"), "200")))
    profile.max_procedures = int(number(at(value, "most"), 1, 256, 1));
  if (id == "P-43") profile.stall_seconds = number(at(value, "seconds"), 0, 3600, profile.stall_seconds);
  if (id == "P-44" && says_yes(at(value, "is_poisonous"))) profile.ops["tile"] = sim::OpVerdict::kPoisonous;
  if (id == "P-47") {
    profile.cancels_after_idle = int(number(at(value, "most"), 0, 100, profile.cancels_after_idle));
    double shortest = 0;
    for (const auto& [pause, refused] : at(value, "refused").items())
      if (number(refused, 0, 100, 0) > 0) {
        const double seconds = std::strtod(pause.c_str(), nullptr);
        shortest = shortest == 0 ? seconds : std::min(shortest, seconds);
      }
    if (shortest > 0) profile.idle_seconds = shortest;
  }
}

void take_of_numbers(const std::string& id, const Json& value, sim::Profile& profile) {
  sim::Numerics& numerics = profile.numerics;
  if (id == "P-13") numerics.table_activations = number(at(at(value, "sigmoid"), "max_abs"), 0, 1, 1) > 1e-3;
  if (id == "P-17" && at(value, "lengths").is_object())
    profile.needs_softmax_power_of_two =
        says_no(at(at(value, "lengths"), "96")) && says_yes(at(at(value, "lengths"), "64"));
  if (id == "P-38") {
    if (at(value, "has_floor").is_boolean())
      numerics.accumulator =
          says_yes(at(value, "has_floor")) ? sim::Accumulator::kFixed : sim::Accumulator::kRoundedProducts;
    if (at(value, "2049").is_number()) numerics.ties_up = at(value, "2049") == 2050;
    if (at(value, "32768").is_number()) {
      numerics.overflow_is_zero = at(value, "32768") == 0;
      if (at(value, "32768") == 32768) numerics.saturation = 65520;
    }
    if (at(value, "keeps_denormals").is_boolean() && numerics.accumulator != sim::Accumulator::kFixed)
      numerics.flush_denormals = !says_yes(at(value, "keeps_denormals"));
  }
  if (id == "P-39") take_samples(at(value, "halves"), profile);
  if (id == "P-40" && at(value, "reduce_sum").is_number()) numerics.half_reductions = at(value, "reduce_sum") != 4096;
}

void take_of_times(const std::string& id, const Json& value, sim::Profile& profile) {
  sim::CostModel& cost = profile.cost;
  if (id == "P-24") cost.int8_streams = number(at(at(value, "int8"), "3072"), 0, 100, 0.5) < 0.8;
  if (id == "P-27") {
    cost.launch_us = number(at(value, "launch_us"), 1, 1e5, cost.launch_us);
    cost.launch_after_host_us = number(at(value, "launch_after_host_us"), 1, 1e5, cost.launch_after_host_us);
  }
  if (id == "P-28") {
    cost.near_gb_s = number(at(at(value, "gb_s"), "1024"), 1, 1e4, cost.near_gb_s);
    cost.far_gb_s = number(at(at(value, "gb_s"), "3072"), 1, 1e4, cost.far_gb_s);
  }
  if (id == "P-42" && at(value, "first_us").is_number()) {
    const double growth = number(at(value, "last_us"), 0, 1e7, 0) / number(at(value, "first_us"), 1e-3, 1e7, 1) - 1;
    // Within a twentieth it is noise.
    cost.slowdown = growth > 0.05 ? growth * 1e5 / number(at(value, "evaluations"), 1, 1e9, 1e5) : 0;
  }
}

void take(const std::string& id, const Json& value, sim::Profile& profile) {
  take_operations(at(value, "ops"), profile);
  take_of_programs(id, value, profile);
  take_of_service(id, value, profile);
  take_of_numbers(id, value, profile);
  take_of_times(id, value, profile);
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
