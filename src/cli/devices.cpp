#include "cli/devices.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include <nlohmann/json.hpp>

#include "ane/ane_model.h"
#include "ane/e5/e5_driver.h"
#include "ane/e5/runtime.h"
#include "ane/objc/inventory.h"
#include "ane/objc/objc_driver.h"
#include "ane/sim/profile.h"
#include "ane/sim/sim_driver.h"
#include "base/machine/processor.h"
#include "base/words.h"
#include "cli/commands/device/probed_profile.h"
#include "cli/commands/machine.h"
#include "cli/models/model_cache.h"
#include "cli/terminal/input.h"
#include "cli/version.h"
#include "cpu/cpu_host_ops.h"
#include "cpu/kernels/select.h"

namespace anedvd {
namespace {

#if defined(__APPLE__) && defined(__aarch64__)
constexpr bool kMayHaveNeuralEngine = true;
#else
constexpr bool kMayHaveNeuralEngine = false;
#endif

constexpr const char* kDefaultProfile = "a18pro-27";

bool has_framework() { return kMayHaveNeuralEngine || std::getenv("ANEDVD_ANE_FRAMEWORK") != nullptr; }

std::string joined(std::span<const std::string_view> names, std::string_view between = ", ") {
  std::string all;
  for (const std::string_view name : names) all += fmt::format("{}{}", all.empty() ? "" : between, name);
  return all;
}

// `takes_cpu`: the command can do its work on the CPU, too.
tl::unexpected<Error> no_neural_engine(bool takes_cpu) {
  return fail(ErrorCode::kDevice, "--device ane: this machine has no Neural Engine ({}); use {}--device sim{}",
              this_machine().system, takes_cpu ? "--device cpu, or " : "", takes_cpu ? " to simulate one" : "");
}

// One of --ane-route.
Result<std::unique_ptr<Driver>> open_route(const std::string& route) {
  return route == "e5" ? e5::open_e5_driver(e5::library_path()) : objc::open_objc_driver();
}

// Drivers are made when the plan is there, so that a wrong file is told before a service is asked.
using DriverMaker = std::function<Result<std::unique_ptr<Driver>>(int threads)>;

DeviceCompiler compiler_over(const char* name, const DriverMaker& open, const AneOptions& options) {
  return [=](const Plan& plan, const KvLayout& layout, const TensorFinder& find,
             const DeviceRequest& request) -> Result<DeviceProgram> {
    ANEDVD_TRY(auto driver, open(request.threads));
    ANEDVD_TRY(auto host, make_host_ops(plan, layout, find, {request.threads, options.width, request.exact}));
    ANEDVD_TRY(auto model, AneModel::make(plan, find, std::move(driver), options, std::move(host)));
    ANEDVD_TRY(const KernelTable* kernels, select_kernels());
    const uint64_t bytes = model->weight_bytes();
    return DeviceProgram{std::move(model), name, kernels->words, bytes};
  };
}

}  // namespace

Result<AneOptions> ane_options_of(const Args& args) {
  AneOptions options;
  if (args.given("--fuse") && args.given("--split"))
    return fail(ErrorCode::kUsage, "--fuse: contradicts --split; give one of them");
  options.fuse = !args.given("--split");
  if (args.given("--chunk")) options.width = int(*args.integer("--chunk"));
  options.weights = wishes_named(args.text("--ane-weights").value_or("fp16")).value_or(std::vector<WeightWish>{});
  return options;
}

Result<sim::Profile> sim_profile_of(const Args& args) {
  const std::string name = args.text("--sim-profile").value_or(kDefaultProfile);
  auto profile = sim::profile_named(name);
  if (std::error_code ignored; !profile && std::filesystem::is_regular_file(name, ignored)) {
    ANEDVD_TRY(const std::string text, read_input(name));
    ANEDVD_TRY(profile, profile_of_probes(text, visible(name)));
  }
  if (!profile)
    return fail(ErrorCode::kUsage, "--sim-profile {}: no such profile; use one of {}, or a file of probe --export",
                visible(name, 60), joined(sim::profile_names()));
  if (const auto chip = args.text("--sim-chip")) {
    const auto names = sim::chip_names();
    if (std::find(names.begin(), names.end(), *chip) == names.end())
      return fail(ErrorCode::kUsage, "--sim-chip {}: no such chip; use one of {}", visible(*chip, 60), joined(names));
    ANEDVD_TRY_VOID(sim::use_chip(*profile, *chip));
  }
  if (args.given("--sim-deterministic")) profile->cost.noise = 0;
  if (args.text("--sim-act").value_or("lut33") == "exact") profile->numerics.table_activations = false;
  if (const auto pool = args.text("--sim-pool")) profile->pool = *pool;
  if (args.given("--sim-fast")) profile->numerics.accumulator = sim::Accumulator::kPlain;
  if (const auto faults = args.text("--sim-faults")) {
    auto parsed = sim::parse_faults(*faults);
    if (!parsed) return fail_in("--sim-faults", std::move(parsed).error());
    profile->faults = std::move(*parsed);
  }
  return *profile;
}

Result<std::unique_ptr<Driver>> open_driver(const Args& args, int threads) {
  std::string name = args.text("--device").value_or("auto");
  if (name == "auto") name = has_framework() ? "ane" : "sim";
  if (name == "sim") {
    ANEDVD_TRY(sim::Profile profile, sim_profile_of(args));
    profile.threads = threads;
    return sim::SimDriver::make(std::move(profile));
  }
  if (name == "cpu")
    return fail(ErrorCode::kUsage, "--device cpu: has no programs of the Neural Engine; use --device sim");
  if (!has_framework()) return no_neural_engine(false);
  return open_route(args.text("--ane-route").value_or("inmem"));
}

bool has_simulated_tables(const Args& args, std::string_view device) {
  return device == "sim" && args.text("--sim-act").value_or("lut33") != "exact";
}

Result<DeviceChoice> choose_device(const Args& args, std::string_view otherwise, SimNumerics numerics) {
  DeviceChoice choice;
  choice.name = args.text("--device").value_or("auto");
  const bool is_auto = choice.name == "auto";
  const std::string route = args.text("--ane-route").value_or("inmem");
  if (is_auto) choice.name = has_framework() ? "ane" : otherwise;
  ANEDVD_TRY(const AneOptions options, ane_options_of(args));
  // A system that changed its framework, or a Mac that hides it, is no reason not to answer.
  if (is_auto && choice.name == "ane" && otherwise == "cpu") {
    if (const auto tried = open_route(route); !tried) {
      choice.name = otherwise;
      choice.why_not_ane = tried.error().message;
    }
  }
  if (choice.name == "sim") {
    ANEDVD_TRY(sim::Profile profile, sim_profile_of(args));
    if (numerics != SimNumerics::kAsAsked) profile.numerics.table_activations = false;
    if (numerics == SimNumerics::kHalfPrecision) profile.numerics.accumulator = sim::Accumulator::kPlain;
    const DriverMaker open = [profile](int threads) -> Result<std::unique_ptr<Driver>> {
      sim::Profile own = profile;
      own.threads = threads;
      return sim::SimDriver::make(std::move(own));
    };
    choice.compiler = compiler_over("sim", open, options);
    return choice;
  }
  if (choice.name == "ane") {
    if (!has_framework()) return no_neural_engine(otherwise == "cpu");
    AneOptions placed = options;
    placed.measure = is_auto;
    if (const auto cache = ModelCache::find(); placed.measure && cache) {
      placed.times_file = cache->probes() / "times.txt";
      const auto kernels = select_kernels();
      placed.times_conditions =
          fmt::format("{} · {} threads · route {} · {} weights · version {}", kernels ? (*kernels)->words : "",
                      args.integer("--threads").value_or(usable_cores()), route,
                      args.text("--ane-weights").value_or("fp16"), kVersion);
    }
    choice.compiler = compiler_over(
        "ane", [route](int) { return open_route(route); }, placed);
    return choice;
  }
  choice.name = "cpu";
  return choice;
}

NeuralEngine find_neural_engine() {
  NeuralEngine found;
  if (!has_framework()) {
    found.words = "no Neural Engine here";
    return found;
  }
  if (const auto runtime = objc::load_runtime(); !runtime) {
    found.words = runtime.error().message;
    return found;
  }
  const auto inventory = objc::take_inventory();
  found.table = objc::inventory_table(inventory);
  for (const objc::InventoryEntry& entry : inventory) {
    const bool is_found = entry.state == objc::InventoryEntry::State::kFound;
    found.found += is_found ? 1 : 0;
    if (!is_found) found.missing.push_back(entry.class_name + (entry.selector.empty() ? "" : " ") + entry.selector);
  }
  const auto complete = objc::check_inventory(inventory);
  found.is_usable = bool(complete);
  found.words = complete ? "Neural Engine" : complete.error().message;
  return found;
}

AneModel* ane_model_of(Executable& executable) { return dynamic_cast<AneModel*>(&executable); }

std::string device_words(const AneModel& model) {
  const AneStatistics& statistics = model.executable().statistics();
  const AneCounters& counters = model.device().counters();
  std::string words;
  const auto add = [&](std::string_view part) { words += fmt::format("{}{}", words.empty() ? "" : " · ", part); };
  const AneTimes& single = statistics.single;
  if (single.simulated_nanoseconds > 0)
    add(fmt::format(
        "simulated {} tok/s",
        three_digits(1e9 * double(single.columns) / double(single.simulated_nanoseconds + single.host_nanoseconds))));
  if (statistics.placed_on_host > 0)
    add(fmt::format("{}% of the programs' runs on the CPU, which {} faster there",
                    100 * statistics.placed_on_host / (statistics.placed_on_host + statistics.evaluations),
                    counters.measured_shapes > 0 ? "is" : "was"));
  if (counters.coded_matrices + counters.dense_matrices > 0)
    add(fmt::format("{} of {} matrices in fewer bits, error {:.1f}% at most", counters.coded_matrices,
                    counters.coded_matrices + counters.dense_matrices, 100 * counters.worst_weight_error));
  if (counters.host_programs > 0) add(count_words(counters.host_programs, "program") + " refused, on the CPU");
  if (statistics.failures > 0) add(count_words(statistics.failures, "program") + " failed, the CPU went on");
  if (statistics.overflowed > 0) add(count_words(statistics.overflowed, "overflow") + " computed on the CPU");
  if (counters.evaluate_retries > 0)
    add(fmt::format("{} {}", with_commas(counters.evaluate_retries),
                    counters.evaluate_retries == 1 ? "retry" : "retries"));
  return words;
}

namespace {

// Each shape's times with one column and with all, where they were measured.
nlohmann::ordered_json placement_json(const AneModel& model) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  std::set<std::string> seen;
  for (const AnePart& part : model.executable().parts()) {
    if (part.times.host_us[0] <= 0 || !seen.insert(part.times.shape).second) continue;
    list.push_back({{"shape", part.times.shape},
                    {"device_us", {part.times.device_us[0], part.times.device_us[1]}},
                    {"host_us", {part.times.host_us[0], part.times.host_us[1]}}});
  }
  return list;
}

}  // namespace

nlohmann::ordered_json device_json(const AneModel& model) {
  const AneStatistics& statistics = model.executable().statistics();
  const AneCounters& counters = model.device().counters();
  const auto times = [](const AneTimes& t) {
    nlohmann::ordered_json json = {{"steps", t.steps},
                                   {"columns", t.columns},
                                   {"device_ms", double(t.device_nanoseconds) / 1e6},
                                   {"host_ms", double(t.host_nanoseconds) / 1e6}};
    if (t.simulated_nanoseconds > 0) json["simulated_ms"] = double(t.simulated_nanoseconds) / 1e6;
    return json;
  };
  return {{"machine", model.driver().machine()},
          {"programs", counters.loaded},
          {"host_programs", counters.host_programs},
          {"compiles", counters.compiles},
          {"load_retries", counters.load_retries},
          {"splits", counters.splits},
          {"evaluations", statistics.evaluations},
          {"placed_on_host", statistics.placed_on_host},
          {"measured_shapes", counters.measured_shapes},
          {"remembered_shapes", counters.remembered_shapes},
          {"placement", placement_json(model)},
          {"coded_matrices", counters.coded_matrices},
          {"dense_matrices", counters.dense_matrices},
          {"worst_weight_error", counters.worst_weight_error},
          {"evaluate_retries", counters.evaluate_retries},
          {"failures", statistics.failures},
          {"last_failure", statistics.last_failure},
          {"overflowed", statistics.overflowed},
          {"all", times(statistics.all)},
          {"single", times(statistics.single)}};
}

std::vector<OptionSpec> device_options() {
  static const std::string chips = joined(sim::chip_names(), "|"), profiles = joined(sim::profile_names(), "|");
  return {
      {.name = "--device",
       .group = OptionGroup::kDevice,
       .kind = OptionKind::kChoice,
       .value = "NAME",
       .help = "where to compute",
       .fallback = "auto",
       .choices = "auto|ane|cpu|sim",
       .example = "cpu"},
      {.name = "--sim-chip",
       .group = OptionGroup::kDevice,
       .kind = OptionKind::kText,
       .value = "NAME",
       .help = "chip whose times the simulator tells [a18-pro]",
       .choices = chips,
       .example = "m4-pro",
       .is_rare = true},
      {.name = "--sim-profile",
       .group = OptionGroup::kDevice,
       .kind = OptionKind::kFile,
       .value = "NAME|FILE",
       .help = "what the simulator accepts and how it rounds [a18pro-27]",
       .choices = profiles,
       .example = "m4-26",
       .is_rare = true},
      {.name = "--sim-deterministic",
       .group = OptionGroup::kDevice,
       .help = "simulated times without noise",
       .is_rare = true},
      {.name = "--sim-act",
       .group = OptionGroup::kDevice,
       .kind = OptionKind::kChoice,
       .value = "NAME",
       .help = "the simulator's sigmoid and tanh: tables or exact",
       .fallback = "lut33",
       .choices = "lut33|exact",
       .example = "exact",
       .is_rare = true},
      {.name = "--sim-fast",
       .group = OptionGroup::kDevice,
       .help = "the simulator's sums in plain floats",
       .is_rare = true},
      {.name = "--sim-faults",
       .group = OptionGroup::kDevice,
       .kind = OptionKind::kText,
       .value = "LIST",
       .help = "failures to inject: STAGE:KIND*TIMES@AFTER,…",
       .example = "evaluate:timeout@20",
       .is_rare = true},
      {.name = "--sim-pool",
       .group = OptionGroup::kDevice,
       .kind = OptionKind::kFile,
       .value = "FOLDER",
       .help = "places for programs, shared by its simulators",
       .example = "pool",
       .is_rare = true},
      {.name = "--ane-route",
       .group = OptionGroup::kDevice,
       .kind = OptionKind::kChoice,
       .value = "NAME",
       .help = "way to the Neural Engine",
       .fallback = "inmem",
       .choices = "inmem|e5",
       .example = "inmem",
       .is_rare = true},
      {.name = "--ane-weights",
       .group = OptionGroup::kDevice,
       .kind = OptionKind::kChoice,
       .value = "FORM",
       .help = "int8, int8-row, lut6, lut4, auto: in fewer bits",
       .fallback = "fp16",
       .choices = kWeightNames,
       .example = "int8-row",
       .is_rare = true},
      {.name = "--fuse",
       .group = OptionGroup::kDevice,
       .help = "several linears in one program: the default",
       .is_rare = true},
      {.name = "--split", .group = OptionGroup::kDevice, .help = "every linear a program of its own", .is_rare = true},
  };
}

}  // namespace anedvd
