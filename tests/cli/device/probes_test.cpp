// Probes against the simulator: each finds what its profile says, and what it found makes the same profile again.
#include "cli/commands/device/probes.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "ane/sim/sim_driver.h"
#include "base/log.h"
#include "cli/commands/device/probe_memory.h"
#include "cli/commands/device/probed_profile.h"

namespace anedvd {
namespace {

ProbeJson ask(std::string_view id, const sim::Profile& profile) {
  const Probe* probe = probe_named(id);
  EXPECT_NE(probe, nullptr) << id;
  auto driver = *sim::SimDriver::make(profile);
  const ProbedMachine machine{*driver, [&](std::string_view other) { return ask(other, profile).dump(); }};
  return ask_probe(*probe, machine);
}

sim::Profile quiet(const char* name) {
  sim::Profile profile = *sim::profile_named(name);
  profile.cost.noise = 0;
  return profile;
}

struct Flip {
  const char* id;
  const char* profile;
  const char* at;  // in the value
  void (*change)(sim::Profile&);
  const char* before;  // as JSON; null: anything that differs from after
};

void set(sim::Profile& profile, const char* op, sim::OpVerdict verdict) { profile.ops[op] = verdict; }
void wrong(sim::Profile& profile) { profile.faults = *sim::parse_faults("evaluate:wrong*-1"); }

using P = sim::Profile;
using sim::OpVerdict;

const Flip kFlips[] = {
    {"P-02", "a18pro-27", "/row_stride/33", [](P& p) { p.rows_by_max = true; }, "128"},
    {"P-03", "a18pro-27", "/verbose", [](P& p) { p.takes_verbose = false; }, "true"},
    {"P-04", "a18pro-27", "/ok", wrong, "true"},
    {"P-05", "a18pro-27", "/bytes/16384", [](P& p) { p.minimum_surface = 49152; }, "true"},
    {"P-06", "a18pro-27", "/ok", wrong, "true"},
    {"P-07", "m4-26", "/files/2", [](P& p) { p.one_weight_file = true; }, "true"},
    {"P-08", "a18pro-27", "/ok", wrong, "true"},
    {"P-09", "a18pro-27", "/large", [](P& p) { p.equal_surfaces = true; }, "true"},
    {"P-10", "a18pro-27", "/most", [](P& p) { p.max_weight_tensors = 18; }, "16"},
    {"P-11", "a18pro-27", "/rows/16385", [](P& p) { p.max_out_channels = 16384; }, "true"},
    {"P-12", "e5", "/ops/concat", [](P& p) { set(p, "concat", OpVerdict::kInvalid); }, "true"},
    {"P-13", "a18pro-27", "/sigmoid/max_abs", [](P& p) { p.numerics.table_activations = false; }, nullptr},
    {"P-14", "e5", "/ops/matmul", [](P& p) { set(p, "matmul", OpVerdict::kFailsAtRun); }, "true"},
    {"P-15", "e5", "/ops/silu", [](P& p) { set(p, "silu", OpVerdict::kInvalid); }, "true"},
    {"P-15", "e5", "/gelu/TANH_APPROXIMATION", [](P& p) { set(p, "gelu", OpVerdict::kInvalid); }, "true"},
    {"P-16", "e5", "/ops/rsqrt", [](P& p) { set(p, "rsqrt", OpVerdict::kInvalid); }, "true"},
    {"P-17", "e5", "/lengths/96", [](P& p) { p.needs_softmax_power_of_two = true; }, "true"},
    {"P-18", "e5", "/ops/real_div", [](P& p) { set(p, "real_div", OpVerdict::kInvalid); }, "true"},
    {"P-19", "a18pro-27", "/with_scalar", [](P& p) { p.scalar_takes_slot = false; }, "15"},
    {"P-20", "a18pro-27", "/ops/constexpr_affine_dequantize",
     [](P& p) { set(p, "constexpr_affine_dequantize", OpVerdict::kInvalid); }, "true"},
    {"P-20", "a18pro-27", "/variants/a scale a row", wrong, "true"},
    {"P-21", "a18pro-27", "/ops/constexpr_blockwise_shift_scale",
     [](P& p) { set(p, "constexpr_blockwise_shift_scale", OpVerdict::kInvalid); }, "true"},
    {"P-21", "e5", "/blocks", [](P& p) { p.takes_block_scales = true; }, nullptr},
    {"P-22", "e5", "/bits/6", [](P& p) { p.code_types.erase("uint6"); }, "true"},
    {"P-22", "e5", "/bits/4", wrong, "true"},
    {"P-22", "e5", "/groups", [](P& p) { p.takes_grouped_tables = true; }, nullptr},
    {"P-23", "e5", "/ops/constexpr_sparse_to_dense",
     [](P& p) { set(p, "constexpr_sparse_to_dense", OpVerdict::kInvalid); }, "true"},
    {"P-24", "e5", "/int8/3072", [](P& p) { p.cost.int8_streams = false; }, nullptr},
    {"P-25", "e5", "/int4", [](P& p) { p.code_types.insert("int4"); }, nullptr},
    {"P-26", "e5", "/ops/quantize", [](P& p) { set(p, "quantize", OpVerdict::kInvalid); }, "true"},
    {"P-27", "a18pro-27", "/launch_us", [](P& p) { p.cost.launch_us = 300; }, nullptr},
    {"P-28", "a18pro-27", "/gb_s/3072", [](P& p) { p.cost.far_gb_s = 20; }, nullptr},
    {"P-30", "a18pro-27", "/loaded", [](P& p) { p.max_loaded = 50; }, "126"},
    {"P-30", "a18pro-27", "/compiles_ended_by", [](P& p) { p.max_compiles = 119; }, "null"},
    {"P-32", "a18pro-27", "/known", [](P& p) { p.keeps_compiled = false; }, "true"},
    {"P-33", "a18pro-27", "/second", [](P& p) { p.reloads_weights = true; }, "0.5"},
    {"P-34", "a18pro-27", "/most", [](P& p) { p.max_procedures = 8; }, "200"},
    {"P-35", "a18pro-27", "/beside a loaded program",
     [](P& p) {
       p.pool = std::filesystem::path(testing::TempDir()) / fmt::format("pool-{}", getpid());
       p.max_loaded = 1;
     },
     "true"},
    {"P-38", "a18pro-27", "/has_floor", [](P& p) { p.numerics.accumulator = sim::Accumulator::kRoundedProducts; },
     "true"},
    {"P-38", "a18pro-27", "/2049", [](P& p) { p.numerics.ties_up = false; }, "2050.0"},
    {"P-39", "a18pro-27", "/halves/sigmoid", [](P& p) { p.numerics.table_activations = false; }, nullptr},
    {"P-40", "e5", "/reduce_sum", [](P& p) { p.numerics.half_reductions = false; }, "2048.0"},
    {"P-41", "a18pro-27", "/repeats", [](P& p) { p.faults = *sim::parse_faults("evaluate:wrong@9"); }, "true"},
    {"P-42", "a18pro-27", "/ok", [](P& p) { p.cost.slowdown = 1; }, "true"},
    {"P-43", "a18pro-27", "/seconds", [](P& p) { p.stall_seconds = 4; }, "0"},
    {"P-44", "a18pro-27", "/is_poisonous", [](P& p) { set(p, "tile", OpVerdict::kInvalid); }, "true"},
    {"P-47", "a18pro-27", "/most", [](P& p) { p.cancels_after_idle = 0; }, "3"},
};

class Flips : public testing::TestWithParam<Flip> {};

TEST_P(Flips, ChangeTheAnswer) {
  const Flip& flip = GetParam();
  sim::Profile profile = quiet(flip.profile);
  const auto answer = [&] {
    const ProbeJson line = ask(flip.id, profile);
    const auto at = ProbeJson::json_pointer(flip.at);
    // A question that could not be asked has words for a value.
    if (std::string_view(flip.at) == "/ok") return line["ok"];
    return line["value"].is_object() && line["value"].contains(at) ? line["value"][at] : line["value"];
  };
  const ProbeJson before = answer();
  if (flip.before != nullptr) {
    EXPECT_EQ(before, ProbeJson::parse(flip.before)) << before.dump();
  }
  flip.change(profile);
  const ProbeJson after = answer();
  EXPECT_NE(before, after) << before.dump();
}

INSTANTIATE_TEST_SUITE_P(Probes, Flips, testing::ValuesIn(kFlips), [](const auto& given) {
  return fmt::format("{}_{}", std::string(given.param.id).substr(2), given.index);
});

TEST(Probes, EveryoneIsFlipped) {
  // The host's own work, the framework's classes and the other route's functions are no matter of a profile.
  std::set<std::string_view> asked = {"P-01", "P-29", "P-37"};
  for (const Flip& flip : kFlips) asked.insert(flip.id);
  for (const Probe& probe : all_probes()) EXPECT_TRUE(asked.contains(probe.id)) << probe.id;
}

// docs/ane.md#probes has a row for every number: what it settles, what is expected and what happens otherwise; or that it is not asked.
TEST(Probes, EveryoneIsOnThePage) {
  std::ifstream page(std::filesystem::path(ANEDVD_TEST_DATA).parent_path().parent_path() / "docs/ane.md");
  if (!page) GTEST_SKIP() << "docs/ane.md is not here";
  std::set<std::string> rows;
  for (std::string line; std::getline(page, line);)
    if (line.starts_with("| P-")) rows.insert(line);
  constexpr int kLast = 47;
  EXPECT_EQ(rows.size(), size_t(kLast));
  int asked = 0;
  for (int i = 1; i <= kLast; ++i) {
    const std::string id = fmt::format("P-{:02}", i);
    const Probe* probe = probe_named(id);
    asked += probe != nullptr ? 1 : 0;
    const std::string start = probe != nullptr ? fmt::format("| {} {} | ", id, probe->settles) : "| " + id + " ";
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const std::string& r) { return r.starts_with(start); });
    ASSERT_NE(row, rows.end()) << "no row that begins " << start;
    EXPECT_EQ(std::count(row->begin(), row->end(), '|'), 4) << *row;
    EXPECT_EQ(row->find("| not asked |") == std::string::npos, probe != nullptr) << *row;
  }
  EXPECT_EQ(size_t(asked), all_probes().size());
}

// What was found, without times.
void drop_times(ProbeJson& value) {
  for (const char* time : {"us", "gb_s", "launch_us", "launch_after_host_us", "first_us", "last_us"})
    if (value.is_object()) value.erase(time);
}

class RoundTrip : public testing::TestWithParam<const char*> {};

TEST_P(RoundTrip, AProbedSimulatorIsProbedAlike) {
  ProbeJson file = {{"machine", "here"}, {"probes", ProbeJson::array()}};
  // Slow ones have their flips above.
  const std::set<std::string_view> slow = {"P-24", "P-28", "P-29", "P-42"};
  const auto is_asked = [&](const Probe& probe) { return !slow.contains(probe.id); };
  const sim::Profile original = quiet(GetParam());
  for (const Probe& probe : all_probes())
    if (is_asked(probe)) file["probes"].push_back(ask(probe.id, original));
  auto profile = profile_of_probes(file.dump(), "test");
  ASSERT_TRUE(profile) << profile.error().message;
  profile->cost.noise = 0;
  for (const Probe& probe : all_probes()) {
    if (!is_asked(probe)) continue;
    ProbeJson again = ask(probe.id, *profile)["value"], first;
    for (const ProbeJson& known : file["probes"])
      if (known["id"] == probe.id) first = known["value"];
    drop_times(first);
    drop_times(again);
    // Codes differ by the system, which no probe asks for; that there was a failure does not.
    const auto as_verdicts = [](ProbeJson value) {
      const auto flat = value.flatten();
      ProbeJson out;
      for (const auto& [key, leaf] : flat.items())
        out[key] = leaf.is_string() && (leaf.get<std::string>().starts_with("com.apple") ||
                                        leaf.get<std::string>().starts_with("wrong values"))
                       ? ProbeJson("failed")
                       : leaf;
      return out;
    };
    if (!first.is_object()) continue;
    const ProbeJson want = as_verdicts(first), got = as_verdicts(again);
    for (const auto& [key, leaf] : want.items()) {
      if (leaf.is_number_float() && got.contains(key) && got[key].is_number()) {
        // Errors of random sums by accumulator kind only.
        EXPECT_NEAR(leaf.get<double>(), got[key].get<double>(), 0.2 * std::abs(leaf.get<double>()) + 2e-3)
            << GetParam() << " " << probe.id << key;
      } else {
        EXPECT_EQ(leaf, got.contains(key) ? got[key] : ProbeJson()) << GetParam() << " " << probe.id << key;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Profiles, RoundTrip, testing::Values("orion15", "m4-26", "a18pro-27", "e5"),
                         [](const auto& given) {
                           std::string name = given.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Probes, SampledFunctionsAreTakenBitForBit) {
  sim::Profile exact = quiet("e5");
  exact.numerics.table_activations = false;
  const ProbeJson line = ask("P-39", exact);
  const ProbeJson file = {{"probes", ProbeJson::array({line})}};
  const auto profile = profile_of_probes(file.dump(), "test");
  ASSERT_TRUE(profile);
  EXPECT_EQ(ask("P-39", *profile)["value"]["halves"]["sigmoid"], line["value"]["halves"]["sigmoid"]);
  EXPECT_NE(ask("P-39", quiet("e5"))["value"]["halves"]["sigmoid"], line["value"]["halves"]["sigmoid"]);
}

TEST(ProbeMemory, KeepsAnswersByMachineAndVersion) {
  const auto folder = std::filesystem::path(testing::TempDir()) / fmt::format("probes-{}", getpid());
  const ProbeJson answer = {{"id", "P-02"}, {"ok", true}, {"value", {{"row", 64}}}};
  {
    ProbeMemory memory(folder, "h16g, 25F71", "1.0");
    EXPECT_FALSE(memory.holds("P-02"));
    memory.keep("P-02", answer);
    ASSERT_TRUE(memory.save());
  }
  const ProbeMemory same(folder, "h16g, 25F71", "1.0");
  EXPECT_EQ(same.find("P-02"), answer);
  EXPECT_FALSE(same.holds("P-03"));
  for (const auto& [machine, version] :
       {std::pair{"h16g, 25F72", "1.0"}, {"h16g, 25F71", "1.1"}, {"H16G 25F71", "1.0"}})
    EXPECT_FALSE(ProbeMemory(folder, machine, version).holds("P-02")) << machine << version;
  std::ofstream(same.file()) << "{\"machine\": 3";
  EXPECT_FALSE(ProbeMemory(folder, "h16g, 25F71", "1.0").holds("P-02"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace anedvd
