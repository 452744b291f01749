// anedvd perplexity: how well a model foretells a text.
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/words.h"
#include "cli/args.h"
#include "cli/commands/all.h"
#include "cli/commands/run_session.h"
#include "cli/option_groups.h"
#include "cli/terminal/answer_writer.h"
#include "cli/terminal/console.h"
#include "cli/terminal/input.h"
#include "cli/terminal/progress.h"

namespace anedvd {
namespace {

constexpr int kSmallestWindow = 3;  // the first half is not scored: of two tokens none would be

// Sums of −ln p of the tokens that were foretold.
struct Tally {
  double sum = 0, squares = 0;
  int64_t tokens = 0;

  void add(double loss) {
    sum += loss;
    squares += loss * loss;
    ++tokens;
  }
  double mean() const { return sum / double(tokens); }
  double perplexity() const { return std::exp(mean()); }
  // Of the perplexity, from the spread of the losses.
  double standard_error() const {
    const double variance = std::max(0.0, squares / double(tokens) - mean() * mean());
    return perplexity() * std::sqrt(variance / double(std::max<int64_t>(1, tokens - 1)));
  }
};

// The text in windows of `window` tokens; in each the second half is scored, so that every token has at least half a window before it (the rule of
// llama.cpp's llama-perplexity, with which the figures can be compared).
Result<Tally> score(Engine& engine, std::span<const Token> ids, int window, Progress& progress) {
  const Tokenizer& tokenizer = engine.tokenizer();
  Tally tally;
  for (size_t start = 0; start + size_t(window) <= ids.size(); start += size_t(window)) {
    GenerationRequest request;
    request.prompt.assign(ids.begin() + int64_t(start), ids.begin() + int64_t(start) + window);
    if (tokenizer.adds_bos() && tokenizer.bos()) request.prompt[0] = *tokenizer.bos();
    request.max_tokens = 0;
    request.prompt_logprobs = 0;
    ANEDVD_TRY(const auto ticket, engine.submit(std::move(request)));
    for (bool ended = false; !ended; engine.step())
      while (const auto event = ticket->try_next()) {
        if (const auto* failed = std::get_if<Failed>(&*event)) return tl::unexpected(failed->error);
        if (const auto* prefilled = std::get_if<Prefilled>(&*event)) progress.update(start + size_t(prefilled->done));
        if (const auto* scored = std::get_if<PromptScored>(&*event))
          for (size_t i = size_t(window / 2) + 1; i < scored->tokens.size(); ++i)
            tally.add(-double(scored->tokens[i].logprob));
        ended = ended || is_last(*event);
      }
    progress.update(start + size_t(window));
  }
  return tally;
}

Result<ExitCode> run_perplexity(const Args& args) {
  const std::string file = *args.text("--file");
  ANEDVD_TRY(const std::string text, read_input(file));
  if (text.empty())
    return fail(ErrorCode::kUsage, "{}: empty; give a text to foretell",
                file == "-" ? "standard input" : visible(file));
  ANEDVD_TRY(RuntimeOptions options, runtime_options_of(args));
  ANEDVD_TRY(auto runtime,
             load_runtime(args.positionals().empty() ? *args.text("--model") : args.positionals()[0], options));
  ANEDVD_TRY(const Tokenizer* tokenizer, runtime->tokenizer());
  std::vector<Token> ids = tokenizer->encode(text, Specials::kAsText);
  add_bos(*tokenizer, ids);
  const int window = runtime->info().max_seq;
  if (ids.size() < size_t(window))
    return fail(ErrorCode::kUsage, "--file: {} tokens, a window takes {}; give a longer text or a smaller --max-seq",
                with_commas(int64_t(ids.size())), with_commas(window));
  EngineOptions engine_options;
  engine_options.manual = true;
  ANEDVD_TRY(const auto engine, Engine::start(std::move(runtime), engine_options));
  const uint64_t scored = ids.size() / size_t(window) * size_t(window);
  const Console console = Console::from(args);
  if (!console.err_is_terminal)
    console.note(
        fmt::format("reading {} in windows of {}", count_words(int64_t(scored), "token"), with_commas(window)));
  Progress progress(console, "perplexity", scored, 0, Amount::kTokens);
  ANEDVD_TRY(const Tally tally, score(*engine, ids, window, progress));
  progress.clear();
  if (args.given("--json")) {
    const nlohmann::ordered_json json = {
        {"ppl", tally.perplexity()}, {"stderr", tally.standard_error()}, {"tokens", tally.tokens}, {"window", window}};
    ANEDVD_TRY_VOID(write_out(json.dump() + "\n"));
  } else {
    ANEDVD_TRY_VOID(write_out(fmt::format(
        "perplexity {} ± {} over {}, windows of {}\n", perplexity_words(tally.perplexity()),
        perplexity_words(tally.standard_error()), count_words(tally.tokens, "token"), with_commas(window))));
  }
  return kDone;
}

}  // namespace

Command perplexity_command() {
  std::vector<OptionSpec> runtime = runtime_options();
  for (OptionSpec& option : runtime) {
    if (option.name != "--max-seq") continue;
    option.help = "tokens of a window";
    option.fallback = "512";
    option.low = kSmallestWindow;
  }
  return {.name = "perplexity",
          .group = CommandGroup::kMeasure,
          .summary = "Measure how well a model foretells a text",
          .arguments = "[MODEL]",
          .max_arguments = 1,
          .examples = {"anedvd perplexity smollm2 --file book.txt",
                       "anedvd perplexity smollm2 --file book.txt --max-seq 1024 --json"},
          .options = join({model_option(),
                           {{.name = "--file",
                             .group = OptionGroup::kInput,
                             .kind = OptionKind::kFile,
                             .value = "FILE",
                             .help = "the text; - is standard input",
                             .fallback = "-",
                             .example = "book.txt"}},
                           json_option(),
                           runtime}),
          .run = run_perplexity};
}

}  // namespace anedvd
