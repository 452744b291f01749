// anedvd kernels: the programs that a model was cut into, how long each takes and how fast it reads its weights.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>

#include <nlohmann/json.hpp>

#include "base/words.h"
#include "cli/commands/all.h"
#include "cli/commands/device/middle.h"
#include "cli/commands/device/side_by_side.h"
#include "cli/commands/run_session.h"
#include "cli/devices.h"
#include "cli/option_groups.h"
#include "cli/terminal/console.h"
#include "cli/terminal/table.h"

namespace anedvd {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// What the compiler saw of the model.
struct Seen {
  Plan plan;
  TensorFinder find;
};

struct Timing {
  double milliseconds = 0;
  bool is_simulated = false;
};

// The median of some runs with zeros in one column.
Result<Timing> time_program(AneProgram& program, const Plan& plan, const AneOptions& options, int repetitions) {
  std::vector<std::vector<float>> rows;
  std::vector<float*> values(plan.values.size(), nullptr);
  for (const auto* ports : {&program.mil().inputs, &program.mil().outputs})
    for (const Port& port : *ports)
      for (const PortPart& part : port.parts) {
        if (values[size_t(part.value)] != nullptr) continue;
        rows.emplace_back(size_t(column_floats(plan.values[size_t(part.value)].dim)));
        values[size_t(part.value)] = rows.back().data();
      }
  std::vector<double> times;
  Timing timing;
  for (int i = 0; i < repetitions; ++i) {
    int64_t retries = 0;
    const auto start = std::chrono::steady_clock::now();
    if (auto done = program.run(values, 1, plan, options.patience, retries); !done)
      return fail_device("program", done.error());
    const double real = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    timing.is_simulated = program.simulated_nanoseconds() > 0;
    times.push_back(timing.is_simulated ? double(program.simulated_nanoseconds()) / 1e6 : real);
  }
  timing.milliseconds = middle_of(std::move(times));
  return timing;
}

// What the host computes in a part that is no program.
std::vector<std::string> host_ops(const Plan& plan, const AnePart& part) {
  std::vector<std::string> names;
  for (const int op : part.host_op >= 0 ? std::vector<int>{part.host_op} : part.spec.ops)
    names.emplace_back(op_name(plan.ops[size_t(op)].kind));
  return names;
}

// The layer of a part's first step; -1 outside of layers.
int layer_of(const Plan& plan, const AnePart& part) {
  return plan.ops[size_t(part.program == nullptr && part.host_op >= 0 ? part.host_op : part.spec.ops[0])].layer;
}

// One line a part, equal neighbours' names short: how layers were cut.
std::string plan_words(const Plan& plan, const AneExecutable& executable) {
  std::string text, host;
  const auto flush = [&] {
    if (!host.empty()) text += "  host     " + host + "\n";
    host.clear();
  };
  int layer = -2;
  for (const AnePart& part : executable.parts()) {
    if (const int own = layer_of(plan, part); own != layer) {
      flush();
      text += own < 0 ? "outside of layers\n" : fmt::format("layer {}\n", own);
      layer = own;
    }
    if (part.program == nullptr) {
      for (const std::string& name : host_ops(plan, part)) host += (host.empty() ? "" : " ") + name;
      continue;
    }
    flush();
    std::string ops;
    for (const std::string& name : part.program->mil().ops) ops += (ops.empty() ? "" : " ") + name;
    text += fmt::format("  program  {} · {} · {}\n", program_name(plan, part.spec), ops,
                        size_words(uint64_t(part.program->mil().weight_bytes)));
  }
  flush();
  return text;
}

// The same as plan_words, a part an entry.
Json plan_json(const Plan& plan, const AneModel& ane, const std::string& device) {
  Json parts = Json::array();
  for (const AnePart& part : ane.executable().parts()) {
    const int layer = layer_of(plan, part);
    Json entry = {{"layer", layer < 0 ? Json() : Json(layer)}};
    if (part.program == nullptr) {
      entry["host"] = host_ops(plan, part);
    } else {
      entry["program"] = program_name(plan, part.spec);
      entry["ops"] = part.program->mil().ops;
      entry["bytes"] = part.program->mil().weight_bytes;
    }
    parts.push_back(std::move(entry));
  }
  return {{"device", device}, {"machine", ane.driver().machine()}, {"parts", std::move(parts)}};
}

// DIR/NNN-NAME/{model.mil, weights/w.bin}: what the compiler is given.
Result<int> dump(const fs::path& folder, const Seen& seen, const AneExecutable& executable) {
  int count = 0;
  for (const AnePart& part : executable.parts()) {
    if (part.program == nullptr) continue;
    std::string name = program_name(seen.plan, part.spec);
    for (char& c : name)
      if (std::string_view("/\\[]: ").find(c) != std::string_view::npos) c = '_';
    const fs::path own = folder / fmt::format("{:03}-{}", count++, name.substr(0, 80));
    std::error_code error;
    fs::create_directories(own / "weights", error);
    if (error)
      return fail(ErrorCode::kIo, "--dump {}: {}; give a folder that can be written", own.string(), error.message());
    std::ofstream text(own / "model.mil", std::ios::binary);
    text << part.program->mil().text;
    if (!text.flush()) return fail(ErrorCode::kIo, "--dump {}: cannot be written", (own / "model.mil").string());
    ANEDVD_TRY(WeightFile weights, write_weights(part.program->mil(), seen.find, own / "weights"));
    // The file is kept: copied under its name, and the temporary one goes with `weights`.
    if (weights.exists())
      fs::copy_file(weights.path(), own / "weights" / "w.bin", fs::copy_options::overwrite_existing, error);
    if (error) return fail(ErrorCode::kIo, "--dump {}: {}", own.string(), error.message());
  }
  return count;
}

Result<ExitCode> run_kernels(const Args& args) {
  const Console console = Console::from(args);
  ANEDVD_TRY(RuntimeOptions options, runtime_options_of(args));
  ANEDVD_TRY(DeviceChoice device, choose_device(args, "sim"));
  if (!device.compiler)
    return fail(ErrorCode::kUsage,
                "--device cpu: runs a model as one program; use --device sim, or attnbench and bench");
  Seen seen;
  options.device = [&](const Plan& plan, const KvLayout& layout, const TensorFinder& find,
                       const DeviceRequest& request) {
    seen = {plan, find};
    return device.compiler(plan, layout, find, request);
  };
  const std::string model = args.positionals().empty() ? *args.text("--model") : args.positionals()[0];
  ANEDVD_TRY(const auto runtime, load_runtime(model, options));
  AneModel& ane = *ane_model_of(runtime->executable());
  if (args.given("--plan")) {
    ANEDVD_TRY_VOID(write_out(args.given("--json") ? plan_json(seen.plan, ane, runtime->info().device).dump() + "\n"
                                                   : plan_words(seen.plan, ane.executable())));
    return kDone;
  }
  if (const auto folder = args.text("--dump")) {
    ANEDVD_TRY(const int count, dump(*folder, seen, ane.executable()));
    console.note(fmt::format("{} in {}", count_words(count, "program"), visible(*folder)));
    if (args.given("--json"))
      ANEDVD_TRY_VOID(write_out(
          Json{{"folder", *folder}, {"programs", count}}.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"));
    return kDone;
  }
  Json json = {
      {"device", runtime->info().device}, {"machine", ane.driver().machine()}, {"kernels", nlohmann::json::array()}};
  Table table({{"program", Align::kLeft}, {"ms"}, {"GB/s"}, {"weights"}});
  double total = 0;
  bool is_simulated = false;
  for (const AnePart& part : ane.executable().parts()) {
    if (part.program == nullptr) continue;
    ANEDVD_TRY(const Timing timing,
               time_program(*part.program, seen.plan, ane.device().options(), int(*args.integer("--reps"))));
    const double bytes = double(part.program->mil().weight_bytes), rate = bytes / timing.milliseconds / 1e6;
    const std::string name = program_name(seen.plan, part.spec);
    table.add({name, fmt::format("{:.3f}", timing.milliseconds), three_digits(rate), size_words(uint64_t(bytes))});
    json["kernels"].push_back({{"name", name},
                               {"ms", timing.milliseconds},
                               {"gb_s", rate},
                               {"bytes", bytes},
                               {"device", runtime->info().device},
                               {"simulated", timing.is_simulated}});
    total += timing.milliseconds;
    is_simulated = timing.is_simulated;
  }
  json["total_ms"] = total;
  json["simulated"] = is_simulated;
  const std::string text =
      table.render(console.out_columns) +
      fmt::format("all {:.2f} ms a token{} · {}\n", total, is_simulated ? ", simulated" : "", ane.driver().machine());
  ANEDVD_TRY_VOID(write_out(args.given("--json") ? json.dump() + "\n" : text));
  return kDone;
}

}  // namespace

Command kernels_command() {
  return {
      .name = "kernels",
      .group = CommandGroup::kMeasure,
      .summary = "List the programs that a model is cut into and time each",
      .arguments = "[MODEL]",
      .max_arguments = 1,
      .examples = {"anedvd kernels smollm2", "anedvd kernels smollm2 --plan", "anedvd kernels smollm2 --dump programs"},
      .options = join({model_option(),
                       {{.name = "--plan", .group = OptionGroup::kOutput, .help = "how layers were cut, without times"},
                        {.name = "--dump",
                         .group = OptionGroup::kOutput,
                         .kind = OptionKind::kFile,
                         .value = "FOLDER",
                         .help = "write every program's text and weights there",
                         .example = "programs"},
                        reps_option()},
                       json_option(),
                       runtime_options()}),
      .run = run_kernels};
}

}  // namespace anedvd
