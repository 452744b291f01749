#include "ane/sim/profile.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "ane/sim/rules.h"
#include "ane/sim/signature.h"

namespace anedvd::sim {
namespace {

constexpr std::string_view kNames[] = {"orion15", "m4-26", "a18pro-27", "e5"};

void set(Profile& profile, OpVerdict verdict, std::initializer_list<std::string_view> ops) {
  for (const std::string_view op : ops) profile.ops[std::string(op)] = verdict;
}

// Every operation that the simulator has a signature for: the table of the other route, which each profile narrows (docs/ane.md#operations).
Profile wide(std::string_view name) {
  Profile profile;
  profile.name = name;
  for (const Signature& signature : all_signatures()) profile.ops[std::string(signature.op)] = OpVerdict::kTaken;
  return profile;
}

Profile orion15() {
  Profile profile = wide("orion15");
  set(profile, OpVerdict::kInvalid,
      {"concat", "gelu", "silu", "rsqrt", "log", "reduce_mean", "constexpr_affine_dequantize",
       "constexpr_blockwise_shift_scale", "quantize", "dequantize", "constexpr_lut_to_dense",
       "constexpr_sparse_to_dense"});
  set(profile, OpVerdict::kPoisonous, {"tile"});
  profile.max_extent = 16384;
  profile.max_out_channels = 16384;
  profile.max_compiles = 119;
  profile.one_weight_file = profile.newer_codes = false;
  profile.equal_surfaces = profile.reloads_weights = true;
  profile.minimum_surface = 49152;
  profile.needs_softmax_power_of_two = true;
  profile.numerics.accumulator = Accumulator::kRoundedProducts;
  return profile;
}

Profile m4_26() {
  Profile profile = wide("m4-26");
  set(profile, OpVerdict::kInvalid, {"reduce_mean", "constexpr_lut_to_dense", "constexpr_sparse_to_dense"});
  set(profile, OpVerdict::kPoisonous, {"tile"});
  profile.one_weight_file = profile.newer_codes = false;
  profile.needs_softmax_power_of_two = true;
  profile.numerics.accumulator = Accumulator::kRoundedProducts;
  return profile;
}

Profile a18pro_27() {
  Profile profile = wide("a18pro-27");
  set(profile, OpVerdict::kInvalid,
      {"concat", "gelu", "silu", "rsqrt", "reduce_mean", "constexpr_lut_to_dense", "constexpr_sparse_to_dense"});
  set(profile, OpVerdict::kFailsAtRun, {"matmul"});
  set(profile, OpVerdict::kPoisonous, {"tile"});
  profile.cancels_after_idle = 3;
  return profile;
}

struct Chip {
  std::string_view name;
  CostModel cost;
};

// docs/ane.md#cost; launch after host work is a scaled guess but for the A18 Pro.
constexpr Chip kChips[] = {
    {"a18-pro", {95, 160, 4e6, 58, 38, 8}},      {"m1", {190, 230, 0, 55, 55, 4.8, 1, 0.10, 0, false}},
    {"m2", {100, 160, 0, 52, 52, 7, 1}},         {"m3", {100, 160, 0, 60, 60, 8, 1}},
    {"m3-max", {100, 160, 0, 110, 110, 12, 1}},  {"m4", {85, 140, 0, 57, 57, 11.7}},
    {"m4-pro", {95, 150, 0, 118, 118, 12}},      {"m4-max", {95, 150, 0, 118, 118, 12}},
    {"m5", {70, 120, 0, 65, 65, 12, 1}},         {"m5-pro", {70, 120, 0, 150, 150, 18.8, 1}},
    {"m5-max", {70, 120, 0, 150, 150, 18.8, 1}}, {"m6", {70, 120, 0, 152, 152, 20, 1}},
};

constexpr auto kChipNames = [] {
  std::array<std::string_view, std::size(kChips)> names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = kChips[i].name;
  return names;
}();

struct FaultKind {
  std::string_view name;
  DriverFailure (*make)();
};

DriverFailure budget() { return cannot_lower("Program too complex"); }
DriverFailure invalid() { return invalid_program("refused by an injected fault"); }
DriverFailure small_surface() { return surface_too_small(Profile{}); }
DriverFailure nothing() { return {}; }

constexpr FaultKind kFaultKinds[] = {
    {"invalid", invalid},          {"cannot-lower", budget},
    {"bundle", invalid_bundle},    {"no-resources", no_resources},
    {"no-memory", no_memory},      {"too-large", too_large},
    {"surface", small_surface},    {"bad-request", bad_request},
    {"idle", cancelled_by_power},  {"procedure", procedure_failed},
    {"timeout", timeout},          {"transient", not_ready},
    {"hardware", hardware_failed}, {"wrong", nothing},
    {"no-attributes", nothing},
};

// The decimal number after `mark` in `text`, which is cut before it; `otherwise` if there is no mark, nullopt if there is no number.
std::optional<int> number_after(std::string_view& text, char mark, int otherwise) {
  const size_t at = text.find(mark);
  if (at == std::string_view::npos) return otherwise;
  const std::string_view digits = text.substr(at + 1);
  text = text.substr(0, at);
  int value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

Result<Fault> parse_fault(std::string_view item) {
  const std::string_view whole = item;
  const auto bad = [&](const char* what) {
    std::string known;
    for (const FaultKind& kind : kFaultKinds) known += fmt::format(" {}", kind.name);
    return fail(ErrorCode::kUsage, "fault \"{}\": {}; write compile, load or evaluate, a colon and one of{}", whole,
                what, known);
  };
  Fault fault;
  const auto after = number_after(item, '@', 0), times = number_after(item, '*', 1);
  if (!after || !times || *after < 0 || *times < -1) return bad("not a number");
  fault.after = *after;
  fault.times = *times;
  const size_t colon = item.find(':');
  if (colon == std::string_view::npos) return bad("no stage");
  const std::string_view stage = item.substr(0, colon), name = item.substr(colon + 1);
  if (stage != "compile" && stage != "load" && stage != "evaluate") return bad("no such stage");
  fault.stage = stage == "compile" ? Stage::kCompile : stage == "load" ? Stage::kLoad : Stage::kEvaluate;
  const auto kind =
      std::find_if(std::begin(kFaultKinds), std::end(kFaultKinds), [&](const FaultKind& k) { return k.name == name; });
  if (kind == std::end(kFaultKinds)) return bad("no such fault");
  fault.failure = kind->make();
  fault.wrong_data = name == "wrong";
  fault.no_attributes = name == "no-attributes";
  return fault;
}

}  // namespace

std::span<const std::string_view> profile_names() { return kNames; }
std::span<const std::string_view> chip_names() { return kChipNames; }

std::optional<Profile> profile_named(std::string_view name) {
  Profile profile;
  if (name == "orion15") {
    profile = orion15();
  } else if (name == "m4-26") {
    profile = m4_26();
  } else if (name == "a18pro-27") {
    profile = a18pro_27();
  } else if (name == "e5") {
    profile = wide("e5");
  } else {
    return std::nullopt;
  }
  if (name == "orion15" || name == "m4-26") profile.cost = {85, 140, 0, 57, 57, 11.7};
  return profile;
}

Result<> use_chip(Profile& profile, std::string_view chip) {
  const auto found =
      std::find_if(std::begin(kChips), std::end(kChips), [&](const Chip& known) { return known.name == chip; });
  if (found == std::end(kChips)) {
    std::string known;
    for (const std::string_view name : kChipNames) known += fmt::format(" {}", name);
    return fail(ErrorCode::kUsage, "chip \"{}\" is unknown; known are{}", chip, known);
  }
  const double noise = profile.cost.noise;
  profile.cost = found->cost;
  profile.cost.noise = noise;
  return {};
}

Result<std::vector<Fault>> parse_faults(std::string_view text) {
  std::vector<Fault> faults;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    ANEDVD_TRY(Fault fault, parse_fault(text.substr(0, comma)));
    faults.push_back(std::move(fault));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return faults;
}

}  // namespace anedvd::sim
