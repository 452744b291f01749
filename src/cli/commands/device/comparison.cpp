#include "cli/commands/device/comparison.h"

#include "cli/commands/run_session.h"
#include "cli/devices.h"
#include "cli/option_groups.h"

namespace anedvd {
namespace {

constexpr const char* kTexts[] = {
    "The capital of France is",
    "Once upon a time there was a small village by the sea, and",
    "def fibonacci(n):\n    if n < 2:\n        return",
    "Water boils at a temperature of",
    "The quick brown fox jumps over the lazy",
    "In 1969, the first humans landed on the",
    "A recipe for pancakes: mix flour, milk and",
    "To be, or not to be, that is the",
    "The three primary colours are red, blue and",
    "Photosynthesis is the process by which plants",
    "Dear Sir or Madam, I am writing to",
    "import numpy as np\nx = np.array([1, 2, 3])\nprint(x.",
    "The largest planet in our solar system is",
    "She opened the door and saw that",
    "The square root of 144 is",
    "Berlin is the capital of Germany, and Madrid is the capital of",
    "An apple a day keeps the",
    "The main cause of the First World War was",
    "If it rains tomorrow, we will",
    "SELECT name FROM users WHERE age >",
    "The opposite of hot is",
    "Shakespeare wrote many plays, among them",
    "Machine learning is a field of",
    "The train leaves at nine o'clock and arrives at",
    "1, 2, 3, 4, 5, 6,",
    "The Pacific is the largest of the world's",
    "Bonjour, je m'appelle Marie et je",
    "A triangle with three equal sides is called",
    "The doctor told him to drink more",
    "Gold has the chemical symbol",
    "Yesterday I went to the market and bought",
    "The meaning of life is",
};

}  // namespace

Result<Comparison> load_comparison(const Args& args, int layers, SimNumerics numerics) {
  ANEDVD_TRY(RuntimeOptions options, runtime_options_of(args));
  ANEDVD_TRY(DeviceChoice device, choose_device(args, "sim", numerics));
  if (!device.compiler)
    return fail(ErrorCode::kUsage, "--device cpu: has no programs to compare; use --device sim, or perplexity --exact");
  Comparison comparison;
  comparison.device = device.name;
  options.device = SideBySide::compiler(std::move(device.compiler), layers, &comparison.both);
  const std::string model = args.positionals().empty() ? *args.text("--model") : args.positionals()[0];
  ANEDVD_TRY(comparison.runtime, load_runtime(model, options));
  return comparison;
}

Result<std::vector<std::vector<Token>>> comparison_prompts(const Args& args, Runtime& runtime) {
  std::vector<std::vector<Token>> prompts;
  const auto tokenizer = runtime.tokenizer();
  if (!tokenizer) {
    if (args.given("--prompt")) return tl::unexpected(tokenizer.error());
    for (size_t p = 0; p < std::size(kTexts); ++p) {
      std::vector<Token> ids(4 + p % 9);
      for (size_t i = 0; i < ids.size(); ++i) ids[i] = Token((p * 131 + i * 7919 + 13) % size_t(runtime.spec().vocab));
      prompts.push_back(std::move(ids));
    }
    return prompts;
  }
  std::vector<std::string> texts(std::begin(kTexts), std::end(kTexts));
  if (args.given("--prompt")) texts = {*args.text("--prompt")};
  for (const std::string& text : texts) {
    std::vector<Token> ids = (*tokenizer)->encode(text, Specials::kAsText);
    add_bos(**tokenizer, ids);
    if (ids.empty()) return fail(ErrorCode::kUsage, "--prompt: no token in it; give some text");
    if (ids.size() > size_t(runtime.info().max_seq)) ids.resize(size_t(runtime.info().max_seq));
    prompts.push_back(std::move(ids));
  }
  return prompts;
}

OptionSpec first_layers_option(std::string_view name) {
  return {.name = name,
          .group = OptionGroup::kMeasure,
          .kind = OptionKind::kInteger,
          .value = "N",
          .help = "only the first N layers, then the head [all]",
          .low = 1,
          .high = 10000,
          .example = "4"};
}

std::vector<OptionSpec> comparison_options() {
  return join({model_option(),
               {{.name = "--prompt",
                 .alias = "-p",
                 .group = OptionGroup::kPrompt,
                 .kind = OptionKind::kText,
                 .value = "TEXT",
                 .help = "the text to compare [32 short ones]",
                 .example = "\"Why is the sky blue?\""}},
               json_option(),
               runtime_options()});
}

}  // namespace anedvd
