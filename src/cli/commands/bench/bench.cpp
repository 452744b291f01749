// anedvd bench: how fast a model reads a prompt and writes an answer here.
#include <algorithm>
#include <chrono>
#include <numeric>

#include <nlohmann/json.hpp>

#include "base/machine/processor.h"
#include "base/partial_file.h"
#include "base/words.h"
#include "cli/args.h"
#include "cli/commands/all.h"
#include "cli/commands/bench/limits.h"
#include "cli/commands/bench/trace.h"
#include "cli/commands/device/matmul_sweep.h"
#include "cli/commands/machine.h"
#include "cli/commands/run_session.h"
#include "cli/devices.h"
#include "cli/option_groups.h"
#include "cli/terminal/console.h"
#include "cli/terminal/table.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kTracedTokens = 8;  // of an answer: each is like the one before

struct Plan {
  int prompt = 0, gen = 0, depth = 0, reps = 0, parallel = 0;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Ids that differ from their neighbours and are the same in every run.
std::vector<Token> some_ids(int count, int vocab) {
  std::vector<Token> ids(static_cast<size_t>(count));
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = Token((i * 7919 + 13) % size_t(vocab));
  return ids;
}

// One timed repetition: tokens a second of the prompt (0 without one) and of single steps after `depth` tokens.
Result<std::pair<double, double>> repeat(Runtime& runtime, const Plan& plan) {
  const int vocab = runtime.spec().vocab;
  const auto sequence = runtime.new_sequence();
  if (plan.depth > 0) ANEDVD_TRY_VOID(runtime.append(*sequence, some_ids(plan.depth, vocab)));
  std::pair<double, double> rates;
  if (plan.prompt > 0) {
    const std::vector<Token> ids = some_ids(plan.prompt, vocab);
    const auto start = std::chrono::steady_clock::now();
    ANEDVD_TRY_VOID(runtime.append(*sequence, ids));
    rates.first = plan.prompt / seconds_since(start);
    sequence->truncate(plan.depth);
  }
  if (plan.gen > 0) {
    const std::vector<Token> ids = some_ids(plan.gen, vocab);
    const auto start = std::chrono::steady_clock::now();
    for (const Token& id : ids) ANEDVD_TRY_VOID(runtime.append(*sequence, {&id, 1}));
    rates.second = plan.gen / seconds_since(start);
  }
  return rates;
}

// The same through the engine: `parallel` requests that come together, no two with a common beginning. Tokens a second of all prompts until
// each has its first token, and of all answers from there on.
Result<std::pair<double, double>> repeat_together(Engine& engine, const Plan& plan, int round) {
  const int vocab = engine.runtime().spec().vocab;
  std::vector<std::shared_ptr<Ticket>> tickets;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < plan.parallel; ++i) {
    GenerationRequest request;
    request.prompt = some_ids(std::max(plan.prompt, 1), vocab);
    request.prompt[0] = Token((round * plan.parallel + i) % vocab);
    request.reuse = false;
    request.speculate = 0;
    request.ignore_end = true;
    request.sampling.temperature = 0;
    request.max_tokens = std::max(plan.gen, 1);
    ANEDVD_TRY(auto ticket, engine.submit(std::move(request)));
    tickets.push_back(std::move(ticket));
  }
  std::vector<bool> answering(tickets.size());
  size_t without_answer = tickets.size(), running = tickets.size();
  std::pair<double, double> rates;
  std::chrono::steady_clock::time_point all_answer;
  uint64_t tokens_then = 0;
  while (running > 0) {
    engine.step();
    for (size_t i = 0; i < tickets.size(); ++i)
      while (const auto event = tickets[i]->try_next()) {
        if (const auto* failed = std::get_if<Failed>(&*event)) return tl::unexpected(failed->error);
        running -= is_last(*event) ? 1 : 0;
        if (answering[i] || !std::holds_alternative<TextDelta>(*event)) continue;
        answering[i] = true;
        if (--without_answer > 0) continue;
        all_answer = std::chrono::steady_clock::now();
        tokens_then = engine.statistics().generated_tokens;
        rates.first = plan.prompt * plan.parallel / std::chrono::duration<double>(all_answer - start).count();
      }
  }
  const auto tokens = double(engine.statistics().generated_tokens - tokens_then);
  rates.second = plan.gen > 1 ? tokens / seconds_since(all_answer) : 0;
  return rates;
}

template <class Value>
Result<> without_value(const Result<Value>& result) {
  if (!result) return tl::unexpected(result.error());
  return {};
}

// Runs `work` with everything it does recorded, and writes that to the file of --trace. Nothing without the flag.
template <class Work>
Result<> trace(const Args& args, Runtime& runtime, Work&& work) {
  const auto path = args.text("--trace");
  if (!path) return {};
  Executable& executable = runtime.executable();
  Trace recorded(executable.trace_threads());
  executable.record(&recorded);
  const Result<> done = work();
  executable.record(nullptr);
  if (!done) return done;
  const std::string json = chrome_trace(recorded);
  ANEDVD_TRY(PartialFile file, PartialFile::create(*path));
  ANEDVD_TRY_VOID(file.write(std::as_bytes(std::span(json))));
  return file.publish(false);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

void add_row(Table& table, std::string_view test, int tokens, const std::vector<double>& rates) {
  if (tokens == 0) return;
  const auto [low, high] = std::minmax_element(rates.begin(), rates.end());
  table.add({std::string(test), with_commas(tokens), three_digits(median(rates)),
             fmt::format("{}–{}", three_digits(*low), three_digits(*high))});
}

void add_rates(Json& json, std::string_view name, int tokens, const std::vector<double>& rates) {
  const std::string key = fmt::format("{}_tok_s", name);
  if (tokens == 0) {
    json[key] = nullptr;
    json[key + "_all"] = Json::array();
    return;
  }
  json[key] = median(rates);
  json[key + "_min"] = *std::min_element(rates.begin(), rates.end());
  json[key + "_max"] = *std::max_element(rates.begin(), rates.end());
  json[key + "_all"] = rates;
}

Result<ExitCode> report(const Args& args, const Console& console, Runtime& runtime, const Plan& plan,
                        const std::vector<double>& prompt_rates, const std::vector<double>& gen_rates) {
  const RuntimeInfo& info = runtime.info();
  const uint64_t peak = peak_resident_bytes();
  std::optional<LimitShares> shares;
  if (args.given("--limits")) {
    ANEDVD_TRY(shares, measure_shares(runtime, plan.prompt > 0 ? median(prompt_rates) : 0,
                                      plan.gen > 0 && plan.parallel == 0 ? median(gen_rates) : 0));
  }
  if (args.given("--json")) {
    Json json = {{"prompt_tokens", plan.prompt}, {"gen_tokens", plan.gen}, {"depth", plan.depth}, {"reps", plan.reps}};
    if (plan.parallel > 0) json["parallel"] = plan.parallel;
    add_rates(json, "pp", plan.prompt, prompt_rates);
    add_rates(json, "tg", plan.gen, gen_rates);
    json["load_s"] = info.load_seconds;
    json["peak_rss_mb"] = double(peak) / 1e6;
    json["device"] = info.device;
    json["simd"] = info.simd;
    json["threads"] = info.threads;
    json["model"] = runtime.source().path().string();
    if (const AneModel* ane = ane_model_of(runtime.executable())) json["ane"] = device_json(*ane);
    if (shares) json["limits"] = json_of(*shares);
    ANEDVD_TRY_VOID(write_out(json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"));
    return kDone;
  }
  Table table({{"test", Align::kLeft}, {"tokens"}, {"tok/s"}, {"min–max"}});
  add_row(table, "prompt", plan.prompt, prompt_rates);
  add_row(table, "answer", plan.gen, gen_rates);
  std::string text = table.render(console.out_columns);
  text += fmt::format("load {} · peak {} · {} {} · {}\n", duration_words(info.load_seconds), size_words(peak),
                      info.device, info.simd, count_words(info.threads, "thread"));
  if (shares) text += words_of(*shares);
  if (plan.parallel > 0) text += fmt::format("{} at the same time\n", plan.parallel);
  if (plan.depth > 0) text += fmt::format("after {} tokens of context\n", with_commas(plan.depth));
  text += fmt::format("median of {}; nothing else should run meanwhile\n", plan.reps);
  ANEDVD_TRY_VOID(write_out(text));
  return kDone;
}

Result<ExitCode> bench_together(const Args& args, const Console& console, std::unique_ptr<Runtime> loaded,
                                const Plan& plan) {
  Runtime* const runtime = loaded.get();
  EngineOptions options;
  options.manual = true;
  options.parallel = options.queue = plan.parallel;
  options.unread_events = size_t(plan.gen) + 64;
  options.kv_memory =
      uint64_t(plan.parallel + 1) * uint64_t(runtime->info().max_seq + kPageTokens) * runtime->info().kv_token_bytes;
  ANEDVD_TRY(const auto engine, Engine::start(std::move(loaded), options));
  Plan warm = plan;
  warm.prompt = std::min(plan.prompt, 64);
  warm.gen = std::min(plan.gen, 8);
  ANEDVD_TRY_VOID(repeat_together(*engine, warm, plan.reps));
  std::vector<double> prompt_rates, gen_rates;
  for (int i = 0; i < plan.reps; ++i) {
    ANEDVD_TRY(const auto rates, repeat_together(*engine, plan, i));
    prompt_rates.push_back(rates.first);
    gen_rates.push_back(rates.second);
  }
  const Result<> traced =
      trace(args, *runtime, [&] { return without_value(repeat_together(*engine, warm, plan.reps + 1)); });
  ANEDVD_TRY_VOID(traced);
  return report(args, console, *runtime, plan, prompt_rates, gen_rates);
}

Result<ExitCode> run_bench(const Args& args) {
  const Console console = Console::from(args);
  if (args.positionals().empty() && !args.given("--model")) {
    for (const std::string_view flag :
         {"--prompt-tokens", "--gen-tokens", "--depth", "--parallel", "--limits", "--trace"})
      if (args.given(flag)) return fail(ErrorCode::kUsage, "{}: is measured with a model; name one", flag);
    return run_matmul_sweep(args);
  }
  const Plan plan{int(*args.integer("--prompt-tokens")), int(*args.integer("--gen-tokens")),
                  int(*args.integer("--depth")), int(*args.integer("--reps")),
                  int(args.integer("--parallel").value_or(0))};
  if (plan.prompt == 0 && plan.gen == 0)
    return fail(ErrorCode::kUsage, "--gen-tokens: nothing to measure; give --prompt-tokens or --gen-tokens above 0");
  if (plan.parallel > 0 && plan.depth > 0)
    return fail(ErrorCode::kUsage, "--depth: not together with --parallel; give a longer --prompt-tokens");
  ANEDVD_TRY(RuntimeOptions options, runtime_options_of(args));
  if (options.max_seq == 0)
    options.max_seq = plan.parallel > 0 ? plan.prompt + plan.gen + 1 : plan.depth + std::max(plan.prompt, plan.gen);
  const std::string model = args.positionals().empty() ? *args.text("--model") : args.positionals()[0];
  ANEDVD_TRY(auto runtime, load_runtime(model, options));
  if (plan.parallel > 0) return bench_together(args, console, std::move(runtime), plan);

  // One run that does not count: pages are touched and clocks come up.
  ANEDVD_TRY_VOID(repeat(*runtime, {std::min(plan.prompt, 64), std::min(plan.gen, 8), 0, 1}));
  std::vector<double> prompt_rates, gen_rates;
  for (int i = 0; i < plan.reps; ++i) {
    ANEDVD_TRY(const auto rates, repeat(*runtime, plan));
    prompt_rates.push_back(rates.first);
    gen_rates.push_back(rates.second);
  }
  const Plan shorter{plan.prompt, std::min(plan.gen, kTracedTokens), plan.depth, 1};
  const Result<> traced = trace(args, *runtime, [&] { return without_value(repeat(*runtime, shorter)); });
  ANEDVD_TRY_VOID(traced);
  return report(args, console, *runtime, plan, prompt_rates, gen_rates);
}

OptionSpec count_option(std::string_view name, std::string_view help, std::string_view fallback, double low,
                        double high) {
  return {.name = name,
          .group = OptionGroup::kMeasure,
          .kind = OptionKind::kInteger,
          .value = "N",
          .help = help,
          .fallback = fallback,
          .low = low,
          .high = high,
          .example = fallback};
}

}  // namespace

Command bench_command() {
  std::vector<OptionSpec> model = model_option();
  model[0].fallback = {};  // without a model another thing is measured
  return {.name = "bench",
          .group = CommandGroup::kMeasure,
          .summary = "Measure how fast a model reads prompts and writes answers here",
          .arguments = "[MODEL]",
          .max_arguments = 1,
          .examples = {"anedvd bench", "anedvd bench smollm2", "anedvd bench smollm2 --reps 9 --threads 1 --json"},
          .options = join({model,
                           {count_option("--prompt-tokens", "length of the prompt; 0: none", "512", 0, 1 << 24),
                            count_option("--gen-tokens", "length of the answer; 0: none", "128", 0, 1 << 24),
                            count_option("--depth", "tokens already in the context", "0", 0, 1 << 24),
                            {.name = "--parallel",
                             .group = OptionGroup::kMeasure,
                             .kind = OptionKind::kInteger,
                             .value = "N",
                             .help = "so many prompts and answers at the same time, as a server has them",
                             .low = 1,
                             .high = 1024,
                             .example = "8"},
                            reps_option(),
                            {.name = "--limits",
                             .group = OptionGroup::kMeasure,
                             .help = "also what this machine could do at best, and the share of it"},
                            {.name = "--trace",
                             .group = OptionGroup::kMeasure,
                             .kind = OptionKind::kFile,
                             .value = "FILE",
                             .help = "one more repetition as a Chrome trace, for ui.perfetto.dev",
                             .example = "trace.json"}},
                           json_option(),
                           runtime_options()}),
          .run = run_bench};
}

}  // namespace anedvd
