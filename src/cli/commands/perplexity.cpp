// anedvd perplexity: how well a model foretells a text.
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/words.h"
#include "cli/args.h"
#include "cli/commands/all.h"
#include "cli/commands/run_session.h"
#include "cli/option_groups.h"
#include "cli/terminal/answer_writer.h"
#include "cli/terminal/input.h"

namespace anedvd {
namespace {

constexpr int kUsualWindow = 512;

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
Result<Tally> score(Engine& engine, std::span<const Token> ids, int window) {
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
        if (const auto* scored = std::get_if<PromptScored>(&*event))
          for (size_t i = size_t(window / 2) + 1; i < scored->tokens.size(); ++i)
            tally.add(-double(scored->tokens[i].logprob));
        ended = ended || is_last(*event);
      }
  }
  return tally;
}

Result<ExitCode> run_perplexity(const Args& args) {
  ANEDVD_TRY(const std::string text, read_input(*args.text("--file")));
  ANEDVD_TRY(RuntimeOptions options, runtime_options_of(args));
  if (options.max_seq == 0) options.max_seq = kUsualWindow;
  ANEDVD_TRY(auto runtime,
             load_runtime(args.positionals().empty() ? *args.text("--model") : args.positionals()[0], options));
  ANEDVD_TRY(const Tokenizer* tokenizer, runtime->tokenizer());
  std::vector<Token> ids = tokenizer->encode(text, Specials::kAsText);
  if (tokenizer->adds_bos() && tokenizer->bos()) ids.insert(ids.begin(), *tokenizer->bos());
  const int window = runtime->info().max_seq;
  if (ids.size() < size_t(window))
    return fail(ErrorCode::kUsage, "--file: {} tokens, a window takes {}; give a longer text or a smaller --max-seq",
                with_commas(int64_t(ids.size())), with_commas(window));
  EngineOptions engine_options;
  engine_options.manual = true;
  ANEDVD_TRY(const auto engine, Engine::start(std::move(runtime), engine_options));
  ANEDVD_TRY(const Tally tally, score(*engine, ids, window));
  if (args.given("--json")) {
    const nlohmann::ordered_json json = {
        {"ppl", tally.perplexity()}, {"stderr", tally.standard_error()}, {"tokens", tally.tokens}, {"window", window}};
    ANEDVD_TRY_VOID(write_out(json.dump() + "\n"));
  } else {
    ANEDVD_TRY_VOID(
        write_out(fmt::format("perplexity {:.4f} ± {:.4f} over {} tokens, windows of {}\n", tally.perplexity(),
                              tally.standard_error(), with_commas(tally.tokens), with_commas(window))));
  }
  return kDone;
}

}  // namespace

Command perplexity_command() {
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
                           runtime_options()}),
          .run = run_perplexity};
}

}  // namespace anedvd
