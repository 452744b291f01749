// anedvd selftest: a tiny random transformer by the device's whole path against the exact reference.
#include <optional>

#include <nlohmann/json.hpp>

#include "base/words.h"
#include "cli/commands/all.h"
#include "cli/commands/device/side_by_side.h"
#include "cli/devices.h"
#include "cli/option_groups.h"
#include "cli/terminal/console.h"
#include "cli/terminal/table.h"
#include "device/random_plan.h"

namespace anedvd {
namespace {

constexpr int kLayers = 2, kHidden = 128, kFfn = 256, kVocab = 256;
// A prompt of several columns, then single ones.
const std::vector<std::vector<int32_t>> kSteps = {{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5}, {8}, {9}, {7}};
constexpr double kLargestError = 0.02;

struct Tested {
  Difference difference;
  AneCounters counters;
  int64_t failures = 0;
  std::string name, device, machine;
};

Result<Tested> run_once(const Args& args, SimNumerics numerics) {
  ANEDVD_TRY(DeviceChoice device, choose_device(args, "sim", numerics));
  if (!device.compiler)
    return fail(ErrorCode::kUsage, "--device cpu: is what the self-test compares with; use --device sim");
  ANEDVD_TRY(const RandomPlan random, RandomPlan::transformer(kLayers, kHidden, kFfn, kVocab, 1));
  const KvLayout layout(random.plan().cache);
  SideBySide* both = nullptr;
  const DeviceCompiler compiler = SideBySide::compiler(device.compiler, 0, &both);
  DeviceRequest request;
  request.threads = int(args.integer("--threads").value_or(2));
  ANEDVD_TRY(const DeviceProgram program, compiler(random.plan(), layout, random.finder(), request));
  std::vector<uint16_t> page(size_t(layout.page_bytes() / 2));
  uint16_t* pages[] = {page.data()};
  Tested tested;
  int position = 0;
  for (const auto& tokens : kSteps) {
    Slice slice;
    slice.kv.pages = pages;
    slice.first_position = position;
    slice.tokens = tokens;
    slice.want_all_logits = true;
    ANEDVD_TRY_VOID(program.executable->run({&slice, 1}));
    for (int i = 0; i < int(tokens.size()); ++i) tested.difference.add(both->logits(i), both->reference_logits(i));
    position += int(tokens.size());
  }
  tested.counters = both->ane()->device().counters();
  tested.failures = both->ane()->executable().statistics().failures;
  tested.name = device.name;
  tested.device = program.device;
  tested.machine = both->ane()->driver().machine();
  return tested;
}

Result<ExitCode> run_selftest(const Args& args) {
  ANEDVD_TRY(const Tested tested, run_once(args, SimNumerics::kAsAsked));
  const Difference& difference = tested.difference;
  const AneCounters& counters = tested.counters;
  const bool ok = difference.relative() <= kLargestError && difference.not_finite == 0 && counters.host_programs == 0 &&
                  tested.failures == 0;
  std::optional<double> without_tables, half_precision;
  if (has_simulated_tables(args, tested.name)) {
    ANEDVD_TRY(const Tested again, run_once(args, SimNumerics::kWithoutTables));
    without_tables = again.difference.relative();
    ANEDVD_TRY(const Tested rounded, run_once(args, SimNumerics::kHalfPrecision));
    half_precision = rounded.difference.relative();
  }
  if (args.given("--json")) {
    nlohmann::ordered_json json = {{"rel_err", difference.relative()},
                                   {"ok", ok},
                                   {"worst_row", difference.worst_row},
                                   {"device", tested.device},
                                   {"machine", tested.machine},
                                   {"programs", counters.loaded},
                                   {"host_programs", counters.host_programs},
                                   {"refusals", counters.refusals}};
    if (without_tables) json["rel_err_without_tables"] = *without_tables;
    if (half_precision) json["rel_err_half_precision"] = *half_precision;
    ANEDVD_TRY_VOID(write_out(json.dump() + "\n"));
    return ok ? kDone : kDifferent;
  }
  std::vector<std::pair<std::string, std::string>> rows = {
      {"device", fmt::format("{} ({})", tested.device, tested.machine)},
      {"programs", fmt::format("{} loaded, {} refused", counters.loaded, counters.host_programs)},
      {"error",
       fmt::format("{} of the largest logit{}", error_words(difference.relative()),
                   without_tables ? fmt::format("; without the activations' tables {}, half precision alone {}",
                                                error_words(*without_tables), error_words(*half_precision))
                                  : "")},
      {"verdict", ok ? "ok" : "DIFFERENT"}};
  for (const std::string& refusal : counters.refusals) rows.insert(rows.end() - 1, {"refused", visible(refusal)});
  ANEDVD_TRY_VOID(write_out(labelled(rows)));
  return ok ? kDone : kDifferent;
}

}  // namespace

Command selftest_command() {
  return {.name = "selftest",
          .group = CommandGroup::kCheck,
          .summary = "Run a tiny random transformer on the Neural Engine and on the CPU and compare",
          .examples = {"anedvd selftest", "anedvd selftest --device sim --sim-profile m4-26 --json"},
          .options = join({json_option(), runtime_options()}),
          .run = run_selftest};
}

}  // namespace anedvd
