// anedvd run and cpu: one prompt, one answer.
#include <limits>
#include <optional>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/machine/processor.h"
#include "base/words.h"
#include "cli/chat/chat_loop.h"
#include "cli/commands/all.h"
#include "cli/commands/machine.h"
#include "cli/commands/model_words.h"
#include "cli/commands/run_session.h"
#include "cli/devices.h"
#include "cli/engine_options.h"
#include "cli/option_groups.h"
#include "cli/terminal/answer_writer.h"
#include "cli/terminal/console.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

// Where the answer goes while it comes; before, how far its prompt is read.
class Stream {
 public:
  Stream(const Console& console, size_t prompt_tokens, bool json)
      : console_(console),
        prompt_tokens_(prompt_tokens),
        writer_(STDOUT_FILENO, console.out_is_terminal),
        json_(json) {}

  // So many of the prompt's tokens are done; the first call tells how many were in the cache.
  void reading(int done) {
    if (!progress_) progress_.emplace(console_, "reading", prompt_tokens_, uint64_t(done), Amount::kTokens);
    progress_->update(uint64_t(done));
  }

  // False: stop.
  bool take(std::string_view text) {
    if (progress_ && !text.empty()) progress_->clear();
    // From here on there is something to keep; before, Ctrl-C simply ends the process.
    if (!soft_stop_) soft_stop_.emplace();
    if (!json_) keep(writer_.write(text));
    return !reader_gone_ && !error_ && !SoftStop::requested();
  }

  Result<> finish() {
    if (progress_) progress_->clear();
    if (!json_ && !reader_gone_ && !error_) keep(writer_.finish());
    if (error_) return tl::unexpected(*error_);
    return {};
  }

  bool reader_gone() const { return reader_gone_; }
  bool interrupted() const { return soft_stop_ && SoftStop::requested(); }

 private:
  void keep(const Result<Written>& written) {
    if (!written) error_ = written.error();
    if (written && *written == Written::kReaderGone) reader_gone_ = true;
  }

  const Console& console_;
  uint64_t prompt_tokens_;
  std::optional<Progress> progress_;
  AnswerWriter writer_;
  bool json_;
  bool reader_gone_ = false;
  std::optional<Error> error_;
  std::optional<SoftStop> soft_stop_;
};

int new_tokens(const GenerateResult& result) { return result.prompt_tokens - result.reused_tokens; }

// Not a number when nothing was read: a request that was stopped before its first step.
double prefill_rate(const GenerateResult& result) {
  return result.prefill_s > 0 ? new_tokens(result) / result.prefill_s : std::numeric_limits<double>::quiet_NaN();
}

// prompt 16 tokens 0.04 s (400 tok/s) · answer 8 tokens 0.06 s (131 tok/s) · cpu
std::string statistics_line(const GenerateResult& result, const RuntimeInfo& info, const AneModel* ane) {
  const auto part = [](std::string_view what, int64_t tokens, double seconds, double speed) {
    return fmt::format("{} {} {} ({} tok/s)", what, count_words(tokens, "token"), duration_words(seconds),
                       three_digits(speed));
  };
  std::string line = part("prompt", new_tokens(result), result.prefill_s, prefill_rate(result)) +
                     (result.reused_tokens > 0 ? fmt::format(" + {} cached", with_commas(result.reused_tokens)) : "") +
                     " · " + part("answer", int64_t(result.ids.size()), result.decode_s, result.decode_rate()) + " · " +
                     info.device;
  if (const std::string words = ane != nullptr ? device_words(*ane) : ""; !words.empty())
    line += fmt::format(" ({})", words);
  if (result.finish == FinishReason::kLength) line += " · length";
  if (result.finish == FinishReason::kCancelled) line += " · stopped";
  return line;
}

Json result_json(const GenerateResult& result, const RuntimeInfo& info) {
  return {{"text", result.text},
          {"prompt_tokens", result.prompt_tokens},
          {"completion_tokens", result.ids.size()},
          {"finish_reason", finish_reason_name(result.finish)},
          {"ids", result.ids},
          {"reused_tokens", result.reused_tokens},
          {"prefill_tok_s", prefill_rate(result)},
          {"decode_tok_s", result.decode_rate()},
          {"prefill_s", result.prefill_s},
          {"decode_s", result.decode_s},
          {"load_s", info.load_seconds},
          {"peak_rss_mb", double(peak_resident_bytes()) / 1e6},
          {"device", info.device},
          {"seed", result.seed},
          {"speculation", {{"drafted", result.drafted}, {"accepted", result.accepted}}}};
}

Result<ExitCode> answer_once(const Console& console, Engine& engine, Runtime& runtime, const GenerationRequest& request,
                             bool json) {
  Stream stream(console, request.prompt.size(), json);
  ANEDVD_TRY(const GenerateResult result, generate(
                                              engine, request, [&](std::string_view text) { return stream.take(text); },
                                              [&](int done) { stream.reading(done); }));
  ANEDVD_TRY_VOID(stream.finish());
  const RuntimeInfo& info = runtime.info();
  const AneModel* ane = ane_model_of(runtime.executable());
  if (json) {
    Json object = result_json(result, info);
    if (ane != nullptr) object["ane"] = device_json(*ane);
    const std::string text = object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    ANEDVD_TRY_VOID(write_out(text));
  } else {
    console.note(console.err(Tone::kDim, statistics_line(result, info, ane)));
  }
  return stream.interrupted() ? kInterrupted : kDone;
}

// The same request alone, with a cached prompt, in company and with guesses: the tokens may not differ.
Result<ExitCode> compare_ways(const Console& console, Engine& engine, GenerationRequest request, bool json) {
  constexpr size_t kCompany = 4;
  request.sampling.seed = Sampler(request.sampling).seed();
  request.speculate = 0;
  ANEDVD_TRY(const GenerateResult alone, generate(engine, request, {}));
  bool equal = true;
  Json ways = Json::object();
  const auto judge = [&](std::string_view way, const std::vector<Token>& ids) {
    const auto [here, there] = std::mismatch(alone.ids.begin(), alone.ids.end(), ids.begin(), ids.end());
    const bool same = here == alone.ids.end() && there == ids.end();
    equal = equal && same;
    ways[std::string(way)] = same;
    if (!json)
      console.note(same ? fmt::format("{}: equal, {}", way, count_words(int64_t(ids.size()), "token"))
                        : fmt::format("{}: parts at token {}", way, here - alone.ids.begin()));
  };
  ANEDVD_TRY(const GenerateResult cached, generate(engine, request, {}));
  judge("cached prompt", cached.ids);
  request.speculate = -1;
  ANEDVD_TRY(const GenerateResult guessed, generate(engine, request, {}));
  judge("with guesses", guessed.ids);

  std::vector<std::shared_ptr<Ticket>> company;
  for (size_t i = 0; i < kCompany; ++i) {
    GenerationRequest one = request;
    one.reuse = i % 2 == 0;
    ANEDVD_TRY(auto ticket, engine.submit(std::move(one)));
    company.push_back(std::move(ticket));
  }
  std::vector<std::vector<Token>> ids(kCompany);
  for (size_t ended = 0; ended < kCompany;) {
    engine.step();
    for (size_t i = 0; i < kCompany; ++i)
      while (const auto event = company[i]->try_next()) {
        if (const auto* delta = std::get_if<TextDelta>(&*event))
          for (const TokenRecord& record : delta->tokens) ids[i].push_back(record.token);
        if (const auto* failed = std::get_if<Failed>(&*event)) return tl::unexpected(failed->error);
        ended += is_last(*event) ? 1 : 0;
      }
  }
  for (size_t i = 0; i < kCompany; ++i) judge(fmt::format("in company, {} of {}", i + 1, kCompany), ids[i]);
  if (json) ANEDVD_TRY_VOID(write_out(Json{{"ok", equal}, {"ids", alone.ids}, {"ways", ways}}.dump() + "\n"));
  return equal ? kDone : kDifferent;
}

// Nobody gave a prompt and somebody sits at the keyboard.
bool goes_on_as_chat(const Args& args, const ModelWords& words) {
  for (const std::string_view flag : {"--prompt", "--prompt-file", "--json", "--no-chat"})
    if (args.given(flag)) return false;
  return !words.text && isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0;
}

Result<ExitCode> run_prompt(const Args& args, bool exact) {
  const Console console = Console::from(args);
  if (const auto words = split_words(args, false); words && goes_on_as_chat(args, *words)) {
    console.note(fmt::format("{}: no prompt, going on as chat", args.command().name));
    return run_chat(args, words->model, exact);
  }
  ANEDVD_TRY(const RunWords words, read_run_words(args));
  ANEDVD_TRY(RuntimeOptions options, runtime_options_of(args));
  options.exact = options.exact || exact;
  if (exact) options.device = {};
  ANEDVD_TRY(GenerationRequest request, request_of(args));
  ANEDVD_TRY(EngineOptions engine_options, engine_options_of(args, options));
  ANEDVD_TRY(auto loaded, load_runtime(words.model, options));
  Runtime* const runtime = loaded.get();
  ANEDVD_TRY_VOID(set_prompt(*runtime, args, words.prompt, request));
  ANEDVD_TRY_VOID(check_bias(*runtime, request));
  if (console.verbose) tell_settings(console, *runtime, request, !args.given("--no-chat"));

  const bool json = args.given("--json");
  engine_options.manual = true;
  ANEDVD_TRY(const auto engine, Engine::start(std::move(loaded), engine_options));
  if (args.given("--ab")) return compare_ways(console, *engine, request, json);
  const int times = int(args.integer("--repeat").value_or(1));
  for (int i = 0; i < times; ++i) {
    ANEDVD_TRY(const ExitCode code, answer_once(console, *engine, *runtime, request, json));
    if (code != kDone) return code;
  }
  return kDone;
}

Result<ExitCode> run_cpu(const Args& args) {
  if (!args.given("--chat")) return run_prompt(args, true);
  ANEDVD_TRY(const ModelWords words, split_words(args, true));
  return run_chat(args, words.model, true);
}

std::vector<OptionSpec> prompt_options() {
  return {{.name = "--prompt",
           .alias = "-p",
           .group = OptionGroup::kPrompt,
           .kind = OptionKind::kText,
           .value = "TEXT",
           .help = "the same as a last word [standard input]",
           .example = "\"Why is the sky blue?\""},
          {.name = "--prompt-file",
           .alias = "-f",
           .group = OptionGroup::kPrompt,
           .kind = OptionKind::kFile,
           .value = "FILE",
           .help = "after --prompt; - is standard input",
           .example = "question.txt"},
          {.name = "--system",
           .group = OptionGroup::kPrompt,
           .kind = OptionKind::kText,
           .value = "TEXT",
           .help = "what the model should be",
           .example = "\"Answer in one word.\""},
          {.name = "--no-chat", .group = OptionGroup::kPrompt, .help = "complete the text as it is"}};
}

std::vector<OptionSpec> repeat_options() {
  return {{.name = "--repeat",
           .group = OptionGroup::kMeasure,
           .kind = OptionKind::kInteger,
           .value = "N",
           .help = "answers in a row; later ones find the prompt in the cache",
           .low = 1,
           .high = 1 << 20,
           .example = "3",
           .is_rare = true},
          {.name = "--ab",
           .group = OptionGroup::kMeasure,
           .help = "answer alone, cached, guessed, in company; 3 if they differ",
           .is_rare = true}};
}

std::vector<OptionSpec> run_options() {
  return join({model_option(), prompt_options(), sampling_options(), repeat_options(), speculation_options(),
               json_option(), chat_options(), chat_template_option(), runtime_options(), cache_options()});
}

}  // namespace

Command run_command() {
  return {.name = "run",
          .group = CommandGroup::kUse,
          .summary = "Answer one prompt",
          .arguments = "[MODEL] [PROMPT]",
          .max_arguments = 2,
          .examples = {"anedvd run \"What is the capital of France?\"",
                       "anedvd run smollm2 --prompt-file question.txt --temp 0 --max-tokens 64"},
          .options = run_options(),
          .run = [](const Args& args) { return run_prompt(args, false); }};
}

Command cpu_command() {
  std::vector<OptionSpec> options =
      join({run_options(), {{.name = "--chat", .help = "a conversation, no single answer", .is_rare = true}}});
  for (OptionSpec& option : options)
    if (option.name == "--device") option.choices = "auto|cpu";  // what is exact is computed nowhere else
  return {.name = "cpu",
          .group = CommandGroup::kPieces,
          .summary = "Answer one prompt by the exact reference: fp32 activations, plain loops",
          .arguments = "[MODEL] [PROMPT]",
          .max_arguments = 2,
          .examples = {"anedvd cpu \"What is the capital of France?\"", "anedvd cpu smollm2 \"Why?\" --temp 0 --json"},
          .options = std::move(options),
          .run = run_cpu};
}

}  // namespace anedvd
