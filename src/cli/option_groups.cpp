#include "cli/option_groups.h"

#include "cli/devices.h"

namespace anedvd {
namespace {

constexpr double kNoLimit = 9e18;           // what a 64-bit number holds
constexpr double kLargestInteger = 0x1p63;  // just above the largest one

}  // namespace

std::vector<OptionSpec> join(const std::vector<std::vector<OptionSpec>>& lists) {
  std::vector<OptionSpec> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

std::vector<OptionSpec> model_option() {
  return {{.name = "--model",
           .alias = "-m",
           .group = OptionGroup::kModel,
           .kind = OptionKind::kFile,
           .value = "MODEL",
           .help = "a .gguf file, a folder or a name",
           .fallback = "smollm2",
           .example = "smollm2"}};
}

std::vector<OptionSpec> runtime_options() {
  std::vector<OptionSpec> own = {
      {.name = "--max-seq",
       .alias = "-c",
       .group = OptionGroup::kModel,
       .kind = OptionKind::kInteger,
       .value = "N",
       .help = "tokens of context [the model's, at most 4096]",
       .low = 1,
       .high = 1 << 30,
       .example = "2048"},
      {.name = "--kv-type",
       .group = OptionGroup::kModel,
       .kind = OptionKind::kChoice,
       .value = "TYPE",
       .help = "numbers of the cache",
       .fallback = "f16",
       .choices = "f16",
       .later_choices = "q8_0",
       .is_rare = true},
      threads_option("worker threads, fewer on busy cores [physical cores]"),
      {.name = "--exact",
       .group = OptionGroup::kDevice,
       .help = "fp32 activations, plain loops: slow, the reference",
       .is_rare = true},
      {.name = "--deterministic",
       .group = OptionGroup::kDevice,
       .help = "same bits whatever was cached; the CPU always does",
       .is_rare = true},
      {.name = "--chunk",
       .group = OptionGroup::kDevice,
       .kind = OptionKind::kInteger,
       .value = "N",
       .help = "prompt tokens computed at once [the device's choice]",
       .low = 1,
       .high = 128,
       .example = "64",
       .is_rare = true},
      {.name = "--rope-hf",
       .group = OptionGroup::kModel,
       .help = "q and k rows hold half-split pairs",
       .is_rare = true},
      {.name = "--rope-adjacent",
       .group = OptionGroup::kModel,
       .help = "q and k rows hold adjacent pairs",
       .is_rare = true},
  };
  return join({own, quant_option(), device_options()});
}

std::vector<OptionSpec> sampling_options() {
  const auto number = [](std::string_view name, std::string_view value, std::string_view help,
                         std::string_view fallback, double low, double high, std::string_view example,
                         bool is_rare = true) {
    return OptionSpec{.name = name,
                      .group = OptionGroup::kSampling,
                      .kind = OptionKind::kNumber,
                      .value = value,
                      .help = help,
                      .fallback = fallback,
                      .low = low,
                      .high = high,
                      .example = example,
                      .is_rare = is_rare};
  };
  return {
      {.name = "--max-tokens",
       .alias = "-n",
       .group = OptionGroup::kSampling,
       .kind = OptionKind::kInteger,
       .value = "N",
       .help = "longest answer in tokens [the context]",
       .low = 0,
       .high = kNoLimit,
       .example = "256"},
      number("--temp", "T", "0 takes the likeliest, higher is freer", "0.8", 0, 2, "0.7", false),
      {.name = "--top-k",
       .group = OptionGroup::kSampling,
       .kind = OptionKind::kInteger,
       .value = "N",
       .help = "only the N likeliest tokens; 0: all",
       .fallback = "40",
       .low = 0,
       .high = 1 << 30,
       .example = "40"},
      number("--top-p", "P", "only the likeliest tokens that share P", "0.95", 0.001, 1, "0.9", false),
      number("--min-p", "P", "drop tokens below P times the likeliest", "0", 0, 1, "0.05"),
      number("--repeat-penalty", "X", "above 1 discourages repeats", "1", 0.01, 10, "1.1"),
      number("--presence-penalty", "X", "subtracted once from tokens already used", "0", -2, 2, "0.5"),
      number("--frequency-penalty", "X", "subtracted for each time a token was used", "0", -2, 2, "0.5"),
      {.name = "--logit-bias",
       .group = OptionGroup::kSampling,
       .kind = OptionKind::kText,
       .value = "ID=X",
       .help = "added to the logit of token ID, -inf bans it",
       .example = "2=-inf",
       .is_repeatable = true,
       .is_rare = true},
      {.name = "--stop",
       .group = OptionGroup::kSampling,
       .kind = OptionKind::kText,
       .value = "TEXT",
       .help = "end the answer before TEXT",
       .example = "\"###\"",
       .is_repeatable = true},
      {.name = "--seed",
       .group = OptionGroup::kSampling,
       .kind = OptionKind::kInteger,
       .value = "N",
       .help = "same seed, same answer [a new one each time]",
       .low = 0,
       .high = kLargestInteger,
       .example = "42"},
  };
}

std::vector<OptionSpec> quant_option() {
  return {{.name = "--quant",
           .group = OptionGroup::kModel,
           .kind = OptionKind::kText,
           .value = "TYPE",
           .help = "quantise plain floats at load: q8_0, q4_0, q4_k …",
           .choices = "q8_0|q4_0|q4_1|q5_0|q5_1|q4_k|q5_k|q6_k",
           .example = "q8_0"}};
}

OptionSpec threads_option(std::string_view help) {
  return {.name = "--threads",
          .alias = "-t",
          .group = OptionGroup::kDevice,
          .kind = OptionKind::kInteger,
          .value = "N",
          .help = help,
          .low = 1,
          .high = 1024,
          .example = "4"};
}

OptionSpec reps_option() {
  return {.name = "--reps",
          .group = OptionGroup::kMeasure,
          .kind = OptionKind::kInteger,
          .value = "N",
          .help = "repetitions; the median counts",
          .fallback = "5",
          .low = 1,
          .high = 10000,
          .example = "5"};
}

std::vector<OptionSpec> json_option() {
  return {{.name = "--json", .help = "one JSON object on stdout instead of text"}};
}

std::vector<OptionSpec> chat_options() {
  return {
      {.name = "--multiline",
       .group = OptionGroup::kInput,
       .help = "piped input is one message; at a terminal Alt-Enter sends",
       .is_rare = true},
      {.name = "--plain", .group = OptionGroup::kOutput, .help = "answers without styles", .is_rare = true},
      {.name = "--no-history",
       .group = OptionGroup::kInput,
       .help = "neither read nor write the history of typed lines",
       .is_rare = true},
  };
}

std::vector<OptionSpec> chat_template_option() {
  return {{.name = "--chat-template",
           .group = OptionGroup::kPrompt,
           .kind = OptionKind::kFile,
           .value = "FILE|NAME",
           .help = "a template file, chatml, plain, or one the model names",
           .example = "chatml",
           .is_rare = true}};
}

}  // namespace anedvd
