// anedvd layers: where in a model a device goes astray.
#include <nlohmann/json.hpp>

#include "base/words.h"
#include "cli/commands/all.h"
#include "cli/commands/device/comparison.h"
#include "cli/option_groups.h"
#include "cli/terminal/console.h"
#include "cli/terminal/table.h"

namespace anedvd {
namespace {

constexpr size_t kPrompts = 4;

Result<ExitCode> run_layers(const Args& args) {
  const Console console = Console::from(args);
  ANEDVD_TRY(Comparison comparison, load_comparison(args, int(args.integer("--upto").value_or(0))));
  ANEDVD_TRY(auto prompts, comparison_prompts(args, *comparison.runtime));
  if (prompts.size() > kPrompts) prompts.resize(kPrompts);
  Difference logits;
  for (const auto& prompt : prompts) {
    const auto sequence = comparison.runtime->new_sequence();
    ANEDVD_TRY_VOID(comparison.runtime->append_all_logits(*sequence, prompt, [](int, std::span<const float>) {}));
    // The last step's rows are still there.
    logits.add(comparison.both->logits(0), comparison.both->reference_logits(0));
  }
  Table table({{"behind layer"}, {"relative"}});
  nlohmann::ordered_json json = {{"device", comparison.both->device().device},
                                 {"machine", comparison.both->ane()->driver().machine()},
                                 {"layers", nlohmann::json::array()}};
  // What enters a layer is what the one before it left.
  for (const auto& [layer, difference] : comparison.both->entering()) {
    if (layer == 0) continue;
    table.add({std::to_string(layer - 1), error_words(difference.relative())});
    json["layers"].push_back({{"i", layer - 1}, {"rel_err", difference.relative()}});
  }
  json["logits_rel_err"] = logits.relative();
  const std::string text =
      table.render(console.out_columns) + fmt::format("logits {}\n", error_words(logits.relative()));
  ANEDVD_TRY_VOID(write_out(args.given("--json") ? json.dump() + "\n" : text));
  return kDone;
}

}  // namespace

Command layers_command() {
  return {.name = "layers",
          .group = CommandGroup::kCheck,
          .summary = "Tell how far the device is from the reference behind each layer",
          .arguments = "[MODEL]",
          .max_arguments = 1,
          .examples = {"anedvd layers smollm2", "anedvd layers smollm2 --upto 4 --device sim"},
          .options = join({comparison_options(), {first_layers_option("--upto")}}),
          .run = run_layers};
}

}  // namespace anedvd
