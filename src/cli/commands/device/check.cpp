// anedvd check: every program of one layer against the CPU, from the inputs that the device itself had.
#include <nlohmann/json.hpp>

#include "base/words.h"
#include "cli/commands/all.h"
#include "cli/commands/device/comparison.h"
#include "cli/devices.h"
#include "cli/option_groups.h"
#include "cli/terminal/console.h"
#include "cli/terminal/table.h"

namespace anedvd {
namespace {

// The seed's bounds: half a unit of fp16 and what sums add to it; programs with a sigmoid or tanh have the chip's table of 33 knots in them.
constexpr double kLinear = 2e-3, kActivated = 2e-2;
constexpr size_t kPrompts = 4;

struct Checked {
  std::vector<ProgramDifference> programs;
  std::string device, label, machine;
};

Result<Checked> check_programs(const Args& args, int layer, SimNumerics numerics) {
  ANEDVD_TRY(Comparison comparison, load_comparison(args, 0, numerics));
  if (layer >= comparison.both->layers())
    return fail(ErrorCode::kUsage, "--layer {}: the model's layers are 0 to {}; use a smaller one", layer,
                comparison.both->layers() - 1);
  comparison.both->compare_programs_of(layer);
  ANEDVD_TRY(auto prompts, comparison_prompts(args, *comparison.runtime));
  if (prompts.size() > kPrompts) prompts.resize(kPrompts);
  for (const auto& prompt : prompts) {
    const auto sequence = comparison.runtime->new_sequence();
    ANEDVD_TRY_VOID(comparison.runtime->append_all_logits(*sequence, prompt, [](int, std::span<const float>) {}));
  }
  return Checked{comparison.both->programs(), comparison.device, comparison.both->device().device,
                 comparison.both->ane()->driver().machine()};
}

Result<ExitCode> run_check(const Args& args) {
  const Console console = Console::from(args);
  const int layer = int(*args.integer("--layer"));
  ANEDVD_TRY(const Checked checked, check_programs(args, layer, SimNumerics::kAsAsked));
  std::vector<ProgramDifference> without_tables, half_precision;
  const bool tells_share = has_simulated_tables(args, checked.device);
  if (tells_share) {
    ANEDVD_TRY(Checked again, check_programs(args, layer, SimNumerics::kWithoutTables));
    without_tables = std::move(again.programs);
    ANEDVD_TRY(Checked rounded, check_programs(args, layer, SimNumerics::kHalfPrecision));
    half_precision = std::move(rounded.programs);
  }
  bool all_ok = !checked.programs.empty();
  std::vector<Column> columns = {{"program", Align::kLeft}, {"max abs"}, {"relative"}, {"worst column"}};
  if (tells_share) columns.insert(columns.end(), {{"without tables"}, {"fp16 alone"}});
  columns.insert(columns.end(), {{"not finite"}, {"", Align::kLeft}});
  Table table(columns);
  nlohmann::ordered_json json = {
      {"device", checked.label}, {"machine", checked.machine}, {"layer", layer}, {"kernels", nlohmann::json::array()}};
  for (size_t i = 0; i < checked.programs.size(); ++i) {
    const ProgramDifference& program = checked.programs[i];
    const Difference& difference = program.difference;
    const bool is_activated =
        program.name.find('+') != std::string::npos && program.name.find("down") != std::string::npos;
    const bool ok = difference.not_finite == 0 && difference.relative() <= (is_activated ? kActivated : kLinear);
    all_ok = all_ok && ok;
    std::vector<std::string> cells = {program.name};
    for (const double value : {difference.max_abs, difference.relative(), difference.worst_row})
      cells.push_back(error_words(value));
    const double exact = i < without_tables.size() ? without_tables[i].difference.relative() : 0;
    const double rounded = i < half_precision.size() ? half_precision[i].difference.relative() : 0;
    if (tells_share) cells.insert(cells.end(), {error_words(exact), error_words(rounded)});
    cells.push_back(with_commas(difference.not_finite));
    cells.push_back(ok ? "ok" : "WRONG");
    table.add(cells);
    json["kernels"].push_back({{"name", program.name},
                               {"max_abs", difference.max_abs},
                               {"rel", difference.relative()},
                               {"worst_column", difference.worst_row},
                               {"nan", difference.not_finite},
                               {"ok", ok}});
    if (tells_share) {
      json["kernels"].back()["rel_without_tables"] = exact;
      json["kernels"].back()["rel_half_precision"] = rounded;
      json["kernels"].back()["table_share"] = std::max(0.0, difference.relative() - exact);
    }
  }
  json["ok"] = all_ok;
  ANEDVD_TRY_VOID(write_out(args.given("--json") ? json.dump() + "\n" : table.render(console.out_columns)));
  return all_ok ? kDone : kDifferent;
}

}  // namespace

Command check_command() {
  return {.name = "check",
          .group = CommandGroup::kCheck,
          .summary = "Compare each program of a layer with the CPU",
          .arguments = "[MODEL]",
          .max_arguments = 1,
          .examples = {"anedvd check smollm2", "anedvd check smollm2 --device sim --split --json"},
          .options = join({comparison_options(),
                           {{.name = "--layer",
                             .group = OptionGroup::kMeasure,
                             .kind = OptionKind::kInteger,
                             .value = "N",
                             .help = "which layer",
                             .fallback = "0",
                             .low = 0,
                             .high = 10000,
                             .example = "0"}}}),
          .run = run_check};
}

}  // namespace anedvd
