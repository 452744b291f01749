// anedvd probe: what this machine's Neural Engine (or the simulator) really does.
#include <fstream>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/machine/processor.h"
#include "base/words.h"
#include "cli/commands/all.h"
#include "cli/commands/device/child.h"
#include "cli/commands/device/probe_memory.h"
#include "cli/commands/device/probes.h"
#include "cli/commands/device/trial.h"
#include "cli/devices.h"
#include "cli/models/model_cache.h"
#include "cli/option_groups.h"
#include "cli/terminal/console.h"
#include "cli/terminal/table.h"
#include "cli/version.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

Result<ExitCode> probe_matrix(const Args& args) {
  const int size = int(*args.integer("--size"));
  ANEDVD_TRY(const Trial trial, try_linear(args, {size, size, 64, 1, int(*args.integer("--reps"))}));
  const bool ok = trial.difference.relative() <= 2e-3 && trial.difference.not_finite == 0;
  const double gb_s = 2.0 * size * size / trial.microseconds / 1e3;
  if (args.given("--json")) {
    const Json json = {{"size", size}, {"rel_err", trial.difference.relative()}, {"us", trial.microseconds},
                       {"gb_s", gb_s}, {"simulated", trial.is_simulated},        {"machine", trial.machine},
                       {"ok", ok}};
    ANEDVD_TRY_VOID(write_out(json.dump() + "\n"));
  } else {
    ANEDVD_TRY_VOID(write_out(fmt::format("{0} × {0}: error {1} · {2} µs · {3} GB/s · {4}\n", with_commas(size),
                                          error_words(trial.difference.relative()), three_digits(trial.microseconds),
                                          three_digits(gb_s), time_words(trial))));
  }
  return ok ? kDone : kDifferent;
}

// The arguments that a child needs to open the same device.
std::vector<std::string> device_words_of(const Args& args) {
  std::vector<std::string> words;
  for (const OptionSpec& option : device_options()) {
    if (!args.given(option.name)) continue;
    words.emplace_back(option.name);
    if (option.kind != OptionKind::kFlag) words.push_back(*args.text(option.name));
  }
  return words;
}

ChildResult run_probe_child(const Args& args, const Probe& probe) {
  std::vector<std::string> words = {"probe", "--only", std::string(probe.id)};
  for (std::string& word : device_words_of(args)) words.push_back(std::move(word));
  return run_child(words, probe.seconds);
}

// In this process: one line of JSON.
Result<ExitCode> probe_one(const Args& args, const std::string& id) {
  const Probe* probe = probe_named(id);
  if (probe == nullptr)
    return fail(ErrorCode::kUsage, "--only {}: no such probe; \"anedvd probe\" lists them", visible(id, 20));
  ANEDVD_TRY(auto driver, open_driver(args, int(args.integer("--threads").value_or(usable_cores()))));
  const ProbedMachine machine{*driver, [&](std::string_view other) {
                                const Probe* asked = probe_named(other);
                                return asked != nullptr ? run_probe_child(args, *asked).output : std::string();
                              }};
  ANEDVD_TRY_VOID(write_out(ask_probe(*probe, machine).dump() + "\n"));
  return kDone;
}

// Each in a child: it may hang, or take its process with it.
Json run_in_child(const Args& args, const Probe& probe) {
  const ChildResult child = run_probe_child(args, probe);
  Json result = Json::parse(child.output, nullptr, false);
  if (result.is_discarded() || !result.is_object() || !result.contains("ok") || !result["ok"].is_boolean())
    result = {{"id", probe.id}, {"ok", false}, {"value", child.words()}, {"unanswered", true}};
  result.erase("machine");
  return result;
}

Result<ExitCode> run_probe(const Args& args) {
  const Console console = Console::from(args);
  if (args.given("--size")) return probe_matrix(args);
  if (const auto id = args.text("--only")) return probe_one(args, *id);
  // Opened once here, so that a machine without the device is told in one line.
  ANEDVD_TRY(const auto driver, open_driver(args, 1));
  Table table({{"probe", Align::kLeft}, {"settles", Align::kLeft}, {"", Align::kLeft}, {"found", Align::kLeft}});
  Json json = {{"machine", driver->machine()}, {"version", kVersion}, {"probes", Json::array()}};
  // A simulator is another machine with every flag: what it said is not worth keeping.
  std::optional<ProbeMemory> memory;
  if (const auto cache = ModelCache::find(); cache && driver->name() != "sim")
    memory.emplace(cache->probes(), driver->machine(), std::string(kVersion));
  int remembered = 0;
  bool all_ok = true;
  for (const Probe& probe : all_probes()) {
    const bool is_known = memory && !args.given("--again") && memory->holds(probe.id);
    Json result = is_known ? memory->find(probe.id) : run_in_child(args, probe);
    remembered += is_known ? 1 : 0;
    if (memory && !is_known && !result.contains("unanswered")) {
      memory->keep(probe.id, result);
      // At once: a later probe may end this process with the machine's service.
      if (const auto saved = memory->save(); !saved) {
        warn("{}", saved.error().message);
        memory.reset();
      }
    }
    const bool ok = result["ok"].get<bool>();
    all_ok = all_ok && ok;
    table.add(
        {std::string(probe.id), std::string(probe.settles), ok ? "ok" : "OTHER", visible(result["value"].dump(), 120)});
    json["probes"].push_back(std::move(result));
  }
  if (const auto path = args.text("--export")) {
    std::ofstream file(*path, std::ios::binary);
    file << json.dump(1) << "\n";
    if (!file.flush()) return fail(ErrorCode::kIo, "--export {}: cannot be written; give another file", visible(*path));
  }
  std::string last = driver->machine();
  if (remembered > 0) last += fmt::format(" · {} from before; --again asks anew", count_words(remembered, "answer"));
  ANEDVD_TRY_VOID(
      write_out(args.given("--json") ? json.dump() + "\n" : table.render(console.out_columns) + last + "\n"));
  return all_ok ? kDone : kDifferent;
}

}  // namespace

Command probe_command() {
  std::vector<OptionSpec> options = trial_options("");
  for (OptionSpec& option : options)
    if (option.name == "--size") option.help = "only: one matrix of N × N against the CPU";
  return {.name = "probe",
          .group = CommandGroup::kCheck,
          .summary = "Ask the Neural Engine what it accepts, how it rounds and how fast it is",
          .examples = {"anedvd probe", "anedvd probe --size 1024", "anedvd probe --export here.json"},
          .options = join({options,
                           {{.name = "--only",
                             .group = OptionGroup::kMeasure,
                             .kind = OptionKind::kText,
                             .value = "ID",
                             .help = "one probe, in this process",
                             .example = "P-04",
                             .is_rare = true},
                            {.name = "--again",
                             .group = OptionGroup::kMeasure,
                             .help = "also what this machine answered before",
                             .is_rare = true},
                            {.name = "--export",
                             .group = OptionGroup::kOutput,
                             .kind = OptionKind::kFile,
                             .value = "FILE",
                             .help = "what was found, for --sim-profile",
                             .example = "here.json"}}}),
          .run = run_probe};
}

}  // namespace anedvd
