// anedvd verify: a whole model on a device against the exact reference; --json is a certificate.
#include <algorithm>
#include <cmath>
#include <functional>

#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "base/words.h"
#include "cli/commands/all.h"
#include "cli/commands/device/comparison.h"
#include "cli/option_groups.h"
#include "cli/terminal/console.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/table.h"
#include "cli/version.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kLargestError = 0.02;  // docs/ane.md#numerics: whole models differ by 1–2 %
constexpr double kNearTie = 0.01;       // margin of two tokens, over the largest logit

struct NearTie {
  size_t prompt = 0;
  Token wanted = 0, given = 0;
  double margin = 0;  // by which the reference prefers its own, over the largest logit
};

struct Verdict {
  Difference logits;
  int64_t positions = 0, equal = 0;
  size_t prompts = 0, prompts_equal = 0;  // by the last position's choice
  std::vector<NearTie> ties;              // last positions whose choice differs
  int64_t routed_otherwise = 0;           // positions behind a choice of other experts: not compared
  double loss_device = 0, loss_reference = 0;
  int64_t foretold = 0;
};

Token best(std::span<const float> logits) {
  return Token(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

double loss(std::span<const float> logits, Token next) {
  double largest = -INFINITY, total = 0;
  for (const float logit : logits) largest = std::max(largest, double(logit));
  for (const float logit : logits) total += std::exp(double(logit) - largest);
  return largest + std::log(total) - double(logits[size_t(next)]);
}

std::vector<float> uncapped(const SideBySide& both, std::span<const float> logits) {
  std::vector<float> values(logits.begin(), logits.end());
  for (float& value : values) value = float(both.uncapped(double(value)));
  return values;
}

Result<> verify_prompt(Comparison& comparison, size_t prompt, const std::vector<Token>& ids, Verdict& verdict,
                       const std::function<void()>& on_position) {
  const SideBySide& both = *comparison.both;
  const auto sequence = comparison.runtime->new_sequence();
  const int step = both.max_columns();
  return comparison.runtime->append_all_logits(*sequence, ids, [&](int index, std::span<const float> given) {
    on_position();
    const auto wanted = both.reference_logits(index % step);
    if (both.is_routed_otherwise(index)) {
      ++verdict.routed_otherwise;
      return;
    }
    const bool is_last = index + 1 == int(ids.size());
    verdict.prompts += is_last ? 1 : 0;
    verdict.logits.add(uncapped(both, given), uncapped(both, wanted));
    ++verdict.positions;
    const Token choice = best(given), right = best(wanted);
    verdict.equal += choice == right ? 1 : 0;
    if (!is_last) {
      verdict.loss_device += loss(given, ids[size_t(index) + 1]);
      verdict.loss_reference += loss(wanted, ids[size_t(index) + 1]);
      ++verdict.foretold;
      return;
    }
    if (choice == right) {
      ++verdict.prompts_equal;
      return;
    }
    float largest = 1e-30f;
    for (const float logit : wanted) largest = std::max(largest, std::abs(logit));
    verdict.ties.push_back(
        {prompt, right, choice, double(wanted[size_t(right)] - wanted[size_t(choice)]) / double(largest)});
  });
}

Json certificate(const Comparison& comparison, const Verdict& verdict, const std::string& digest, bool ok) {
  const SideBySide& both = *comparison.both;
  const auto perplexity = [&](double sum) { return std::exp(sum / double(std::max<int64_t>(1, verdict.foretold))); };
  Json layers = Json::array(), ties = Json::array();
  for (const auto& [layer, difference] : both.entering())
    if (layer > 0)
      layers.push_back({{"i", layer - 1}, {"rel_err", difference.relative()}, {"worst_row", difference.worst_row}});
  for (const NearTie& tie : verdict.ties)
    ties.push_back({{"prompt", tie.prompt}, {"reference", tie.wanted}, {"device", tie.given}, {"margin", tie.margin}});
  return {{"rel_err", verdict.logits.relative()},
          {"worst_position_rel_err", verdict.logits.worst_row},
          {"argmax_equal", verdict.prompts_equal == verdict.prompts},
          {"ok", ok},
          {"prompts", verdict.prompts},
          {"prompts_equal", verdict.prompts_equal},
          {"positions", verdict.positions},
          {"positions_equal", verdict.equal},
          {"differences", ties},
          {"routed_otherwise", verdict.routed_otherwise},
          {"expert_flips", both.flips()},
          {"expert_flip_margin", both.flip_margin()},
          {"not_finite", verdict.logits.not_finite},
          {"ppl_device", perplexity(verdict.loss_device)},
          {"ppl_reference", perplexity(verdict.loss_reference)},
          {"ppl_delta", perplexity(verdict.loss_device) - perplexity(verdict.loss_reference)},
          {"layers", layers},
          {"device", both.device().device},
          {"machine", both.ane()->driver().machine()},
          {"programs", both.ane()->device().counters().loaded},
          {"host_programs", both.ane()->device().counters().host_programs},
          {"overflows", both.ane()->executable().statistics().overflowed},
          {"model", comparison.runtime->source().path().string()},
          {"sha256", digest},
          {"version", kVersion}};
}

Result<ExitCode> run_verify(const Args& args) {
  ANEDVD_TRY(Comparison comparison, load_comparison(args, int(args.integer("--layers").value_or(0))));
  ANEDVD_TRY(const auto prompts, comparison_prompts(args, *comparison.runtime));
  uint64_t positions = 0, done = 0;
  for (const auto& ids : prompts) positions += ids.size();
  const Console console = Console::from(args);
  Progress progress(console, "verify", positions, 0, Amount::kTokens);
  const auto on_position = [&] {
    if (console.err_is_terminal) progress.update(++done);
  };
  Verdict verdict;
  for (size_t i = 0; i < prompts.size(); ++i)
    ANEDVD_TRY_VOID(verify_prompt(comparison, i, prompts[i], verdict, on_position));
  progress.clear();
  // Where the reference itself hardly prefers its choice, the other one is no fault.
  const bool only_ties =
      std::all_of(verdict.ties.begin(), verdict.ties.end(), [](const NearTie& tie) { return tie.margin <= kNearTie; });
  const bool ok = verdict.logits.relative() <= kLargestError && verdict.logits.not_finite == 0 && only_ties &&
                  verdict.prompts > 0 && comparison.both->flip_margin() <= kLargestError;
  if (args.given("--json")) {
    // Of a folder: nothing that one digest could stand for.
    const auto digest = sha256_of_file(comparison.runtime->source().path());
    ANEDVD_TRY_VOID(write_out(certificate(comparison, verdict, digest.value_or(""), ok).dump() + "\n"));
    return ok ? kDone : kDifferent;
  }
  const double foretold = double(std::max<int64_t>(1, verdict.foretold));
  std::vector<std::pair<std::string, std::string>> rows = {
      {"device", fmt::format("{} ({})", comparison.both->device().device, comparison.both->ane()->driver().machine())},
      {"logits",
       fmt::format("relative error {}{}, of the worst position alone {}", error_words(verdict.logits.relative()),
                   verdict.logits.relative() <= kLargestError ? "" : ", too much",
                   error_words(verdict.logits.worst_row))},
      {"choices", fmt::format("{} of {} prompts equal, {} of {} positions", verdict.prompts_equal, verdict.prompts,
                              with_commas(verdict.equal), with_commas(verdict.positions))},
      {"perplexity", fmt::format("{}, the reference {}", perplexity_words(std::exp(verdict.loss_device / foretold)),
                                 perplexity_words(std::exp(verdict.loss_reference / foretold)))},
      {"verdict", ok ? "ok" : "DIFFERENT"}};
  std::string layers;
  for (const auto& [layer, difference] : comparison.both->entering())
    if (layer > 0) layers += (layers.empty() ? "" : " ") + error_words(difference.relative());
  rows.insert(rows.begin() + 2, {"layers", layers.empty() ? "none" : layers});
  if (verdict.routed_otherwise > 0)
    rows.insert(rows.end() - 1, {"experts", fmt::format("{} chosen otherwise, {} apart; {} behind them not compared",
                                                        with_commas(comparison.both->flips()),
                                                        error_words(comparison.both->flip_margin()),
                                                        count_words(verdict.routed_otherwise, "position"))});
  for (const NearTie& tie : verdict.ties)
    rows.insert(rows.end() - 1, {"", fmt::format("prompt {}: {} in place of {}, {} apart", tie.prompt, tie.given,
                                                 tie.wanted, error_words(tie.margin))});
  ANEDVD_TRY_VOID(write_out(labelled(rows)));
  return ok ? kDone : kDifferent;
}

}  // namespace

Command verify_command() {
  return {.name = "verify",
          .group = CommandGroup::kCheck,
          .summary = "Compare a whole model on a device with the exact reference",
          .arguments = "[MODEL]",
          .max_arguments = 1,
          .examples = {"anedvd verify smollm2", "anedvd verify smollm2 --device sim --json > certificate.json"},
          .options = join({comparison_options(), {first_layers_option("--layers")}}),
          .run = run_verify};
}

}  // namespace anedvd
