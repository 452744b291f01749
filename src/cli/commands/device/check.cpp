// anedvd check: every program of one layer against the CPU, from the inputs that the device itself had.
#include <nlohmann/json.hpp>

#include "base/words.h"
#include "cli/commands/all.h"
#include "cli/commands/device/comparison.h"
#include "cli/option_groups.h"
#include "cli/terminal/console.h"
#include "cli/terminal/table.h"

namespace anedvd {
namespace {

// The seed's bounds: half a unit of fp16 and what sums add to it; programs with a sigmoid or tanh have the chip's table of 33 knots in them.
constexpr double kLinear = 2e-3, kActivated = 2e-2;
constexpr size_t kPrompts = 4;

Result<ExitCode> run_check(const Args& args) {
  const Console console = Console::from(args);
  const int layer = int(*args.integer("--layer"));
  ANEDVD_TRY(Comparison comparison, load_comparison(args, 0));
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
  bool all_ok = !comparison.both->programs().empty();
  Table table({{"program", Align::kLeft}, {"max abs"}, {"relative"}, {"not finite"}, {"", Align::kLeft}});
  nlohmann::ordered_json json = {{"device", comparison.both->device().device},
                                 {"machine", comparison.both->ane()->driver().machine()},
                                 {"layer", layer},
                                 {"kernels", nlohmann::json::array()}};
  for (const ProgramDifference& program : comparison.both->programs()) {
    const Difference& difference = program.difference;
    const bool is_activated =
        program.name.find('+') != std::string::npos && program.name.find("down") != std::string::npos;
    const bool ok = difference.not_finite == 0 && difference.relative() <= (is_activated ? kActivated : kLinear);
    all_ok = all_ok && ok;
    table.add({program.name, fmt::format("{:.2e}", difference.max_abs), fmt::format("{:.2e}", difference.relative()),
               with_commas(difference.not_finite), ok ? "ok" : "WRONG"});
    json["kernels"].push_back({{"name", program.name},
                               {"max_abs", difference.max_abs},
                               {"rel", difference.relative()},
                               {"nan", difference.not_finite},
                               {"ok", ok}});
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
