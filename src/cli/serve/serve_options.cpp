#include "cli/serve/serve_options.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/log.h"
#include "base/words.h"
#include "cli/commands/run_session.h"
#include "cli/devices.h"
#include "cli/engine_options.h"
#include "cli/model_path.h"
#include "cli/option_groups.h"
#include "cli/terminal/input.h"
#include "cli/version.h"

namespace anedvd {
namespace {

// What an API request means that says nothing: OpenAI's defaults, not those of the terminal.
struct ApiDefault {
  std::string_view name, fallback;
};
constexpr ApiDefault kApiDefaults[] = {
    {"--temp", "1"},
    {"--top-k", "0"},
    {"--top-p", "1"},
    {"--min-p", "0"},
    {"--repeat-penalty", "1"},
    {"--presence-penalty", "0"},
    {"--frequency-penalty", "0"},
};

std::vector<OptionSpec> api_sampling_options() {
  std::vector<OptionSpec> kept;
  for (OptionSpec option : sampling_options())
    for (const ApiDefault& row : kApiDefaults) {
      if (option.name != row.name) continue;
      option.fallback = row.fallback;
      option.is_rare = true;
      kept.push_back(option);
    }
  return kept;
}

std::vector<OptionSpec> network_options() {
  return {
      {.name = "--host",
       .group = OptionGroup::kServer,
       .kind = OptionKind::kText,
       .value = "ADDRESS",
       .help = "where to listen",
       .fallback = "127.0.0.1",
       .example = "127.0.0.1"},
      {.name = "--port",
       .group = OptionGroup::kServer,
       .kind = OptionKind::kInteger,
       .value = "N",
       .help = "0 takes any free one",
       .fallback = "8080",
       .low = 0,
       .high = 65535,
       .example = "8080"},
      {.name = "--api-key",
       .group = OptionGroup::kServer,
       .kind = OptionKind::kText,
       .value = "SECRET",
       .help = "asked of clients; also ANEDVD_API_KEY",
       .example = "SECRET",
       .is_repeatable = true},
      {.name = "--api-key-file",
       .group = OptionGroup::kServer,
       .kind = OptionKind::kFile,
       .value = "FILE",
       .help = "a key a line",
       .example = "keys.txt",
       .is_rare = true},
      {.name = "--insecure",
       .group = OptionGroup::kServer,
       .help = "open to the network without a key",
       .is_rare = true},
      {.name = "--cors",
       .group = OptionGroup::kServer,
       .kind = OptionKind::kText,
       .value = "ORIGIN",
       .help = "pages that may ask [local ones]; * is all",
       .example = "https://example.org",
       .is_repeatable = true,
       .is_rare = true},
      {.name = "--allowed-hosts",
       .group = OptionGroup::kServer,
       .kind = OptionKind::kText,
       .value = "NAME",
       .help = "further names of this server",
       .example = "box.local",
       .is_repeatable = true,
       .is_rare = true},
      {.name = "--max-body",
       .group = OptionGroup::kServer,
       .kind = OptionKind::kText,
       .value = "SIZE",
       .help = "largest request",
       .fallback = "32MiB",
       .example = "32MiB",
       .is_rare = true},
      {.name = "--sse-ping",
       .group = OptionGroup::kServer,
       .kind = OptionKind::kNumber,
       .value = "S",
       .help = "seconds of silence in a stream before a sign of life",
       .fallback = "10",
       .low = 0.1,
       .high = 3600,
       .example = "10",
       .is_rare = true},
      {.name = "--drain",
       .group = OptionGroup::kServer,
       .kind = OptionKind::kNumber,
       .value = "S",
       .help = "seconds that running answers have at the end",
       .fallback = "10",
       .low = 0,
       .high = 3600,
       .example = "10",
       .is_rare = true},
      {.name = "--config",
       .group = OptionGroup::kServer,
       .kind = OptionKind::kFile,
       .value = "FILE",
       .help = "these flags, one a line: port = 8080",
       .example = "serve.conf",
       .is_rare = true},
  };
}

std::vector<OptionSpec> answer_options() {
  return {
      {.name = "--parallel",
       .group = OptionGroup::kServer,
       .kind = OptionKind::kInteger,
       .value = "N",
       .help = "answers at once",
       .fallback = "16",
       .low = 1,
       .high = 1024,
       .example = "4"},
      {.name = "--queue",
       .group = OptionGroup::kServer,
       .kind = OptionKind::kInteger,
       .value = "N",
       .help = "requests that may wait",
       .fallback = "512",
       .low = 0,
       .high = 1 << 20,
       .example = "64"},
      {.name = "--no-queue",
       .group = OptionGroup::kServer,
       .help = "one answer at a time, others are told to come again",
       .is_rare = true},
      {.name = "--max-n",
       .group = OptionGroup::kServer,
       .kind = OptionKind::kInteger,
       .value = "N",
       .help = "most answers of one request",
       .fallback = "128",
       .low = 1,
       .high = 128,
       .example = "8",
       .is_rare = true},
      {.name = "--on-overflow",
       .group = OptionGroup::kPrompt,
       .kind = OptionKind::kChoice,
       .value = "WHAT",
       .help = "prompts too long: refuse, or drop the oldest part",
       .fallback = "error",
       .choices = "error|truncate",
       .example = "truncate",
       .is_rare = true},
      {.name = "--reasoning-format",
       .group = OptionGroup::kPrompt,
       .kind = OptionKind::kChoice,
       .value = "WHAT",
       .help = "thinking apart from the answer, or as it comes",
       .fallback = "auto",
       .choices = "auto|none|deepseek",
       .example = "none",
       .is_rare = true},
      {.name = "--strict-models",
       .group = OptionGroup::kModel,
       .help = "unknown claude-… names are errors",
       .is_rare = true},
      {.name = "--model-memory",
       .group = OptionGroup::kModel,
       .kind = OptionKind::kText,
       .value = "SIZE",
       .help = "of models at a time [what is free]",
       .example = "8GB",
       .is_rare = true},
      {.name = "--response-store",
       .group = OptionGroup::kServer,
       .kind = OptionKind::kInteger,
       .value = "N",
       .help = "answers kept for previous_response_id",
       .fallback = "64",
       .low = 0,
       .high = 100000,
       .example = "64",
       .is_rare = true},
      {.name = "--metrics-public", .group = OptionGroup::kServer, .help = "/metrics needs no key", .is_rare = true},
      {.name = "--metrics-compat",
       .group = OptionGroup::kServer,
       .kind = OptionKind::kChoice,
       .value = "WHOSE",
       .help = "/metrics under a peer's names too",
       .choices = "llamacpp|vllm",
       .example = "vllm",
       .is_rare = true},
      {.name = "--json", .help = "log lines as JSON", .is_rare = true},
  };
}

std::vector<OptionSpec> models_option() {
  return {{.name = "--model",
           .alias = "-m",
           .group = OptionGroup::kModel,
           .kind = OptionKind::kFile,
           .value = "MODEL",
           .help = "a file, folder or cached name [smollm2]",
           .example = "smollm2",
           .is_repeatable = true}};
}

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

const OptionSpec* find_option(const std::vector<OptionSpec>& options, std::string_view name) {
  const auto found =
      std::find_if(options.begin(), options.end(), [&](const OptionSpec& option) { return option.name == name; });
  return found == options.end() ? nullptr : &*found;
}

// A key a line; blank lines and those that begin with # do not count.
Result<std::vector<std::string>> keys_of_file(const std::string& path) {
  ANEDVD_TRY(const std::string text, read_input(path));
  std::vector<std::string> keys;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = trimmed(text.substr(at, end - at));
    if (!line.empty() && line[0] != '#') keys.push_back(line);
    at = end + 1;
  }
  if (keys.empty()) return fail(ErrorCode::kUsage, "--api-key-file {}: holds no key; write one a line", visible(path));
  return keys;
}

Result<std::vector<std::string>> all_keys(const Args& args) {
  std::vector<std::string> keys = args.texts("--api-key");
  if (const auto file = args.text("--api-key-file")) {
    ANEDVD_TRY(const auto more, keys_of_file(*file));
    keys.insert(keys.end(), more.begin(), more.end());
  }
  if (const char* key = std::getenv("ANEDVD_API_KEY"); key && *key) keys.emplace_back(key);
  for (const std::string& key : keys)
    if (key.empty()) return fail(ErrorCode::kUsage, "--api-key: is empty; give a secret");
  return keys;
}

// What is wrong with a line of a configuration that begins with no flag of the command's.
std::string no_such_line(const std::string& line, const Command& command, const std::vector<OptionSpec>& options) {
  const auto bare = [](std::string_view name) {
    return name.substr(std::min(name.find_first_not_of('-'), name.size()));
  };
  const std::string name = trimmed(line.substr(0, line.find_first_of("= \t")));
  const std::string value = trimmed(line.substr(std::min(name.size(), line.size())));
  const std::string flag = fmt::format("--{}", bare(name));
  if (flag == "--config" || flag == "--help")
    return fmt::format("{}: has no place in a file; leave it out", bare(name));
  if (find_option(options, flag) && !value.starts_with('='))
    return fmt::format("{}: no = behind it; write {} = {}", bare(name), bare(name), visible(value, 60));
  const std::string like = likely_flag(flag, options);
  return fmt::format("{}: \"{}\" has no such flag; {}", visible(bare(name), 60), command.name,
                     like.empty() ? fmt::format("\"anedvd help {}\" lists them", command.name)
                                  : fmt::format("did you mean {}?", bare(like)));
}

bool is_loopback_word(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace

std::vector<OptionSpec> serve_flags() {
  return join({models_option(), network_options(), answer_options(), api_sampling_options(), chat_template_option(),
               runtime_options(), cache_options()});
}

Result<std::vector<std::string>> config_words(const std::string& text, const Command& command,
                                              const std::string& where) {
  const std::vector<OptionSpec> options = all_options(command);
  std::vector<std::string> words;
  int number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string line = trimmed(text.substr(at, end - at));
    // A comment begins at a line's beginning or behind a blank: "a#b" is a value.
    for (size_t mark = line.find('#'); mark != std::string::npos; mark = line.find('#', mark + 1))
      if (mark == 0 || line[mark - 1] == ' ' || line[mark - 1] == '\t') line = trimmed(line.substr(0, mark));
    at = end + 1;
    ++number;
    if (line.empty()) continue;
    const size_t equals = line.find('=');
    std::string name = trimmed(line.substr(0, equals));
    name.insert(0, name.starts_with("--") ? "" : "--");
    const OptionSpec* option = find_option(options, name);
    if (!option || name == "--config" || name == "--help")
      return fail(ErrorCode::kUsage, "{}: line {}: {}", visible(where), number, no_such_line(line, command, options));
    const std::string value = equals == std::string::npos ? "" : trimmed(line.substr(equals + 1));
    if (option->kind == OptionKind::kFlag) {
      if (!value.empty() && value != "true" && value != "false")
        return fail(ErrorCode::kUsage, "{}: line {}: {} is on or off; write {} = true", visible(where), number, name,
                    name.substr(2));
      if (value != "false") words.push_back(name);
      continue;
    }
    if (equals == std::string::npos)
      return fail(ErrorCode::kUsage, "{}: line {}: {} needs a value; write {} = {}", visible(where), number, name,
                  name.substr(2), option->value);
    words.push_back(name);
    words.push_back(value);
  }
  return words;
}

Result<Args> with_config_file(const Args& typed) {
  const auto file = typed.text("--config");
  if (!file) return typed;
  ANEDVD_TRY(const std::string text, read_input(*file));
  ANEDVD_TRY(std::vector<std::string> words, config_words(text, typed.command(), *file));
  // Checked alone first, so that the line at fault is the file's.
  if (auto alone = Args::parse(typed.command(), words); !alone) return fail_in(visible(*file), alone.error());
  std::vector<std::string> kept;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::vector<OptionSpec> options = all_options(typed.command());
    const OptionSpec* option = find_option(options, words[i]);
    const bool has_value = option->kind != OptionKind::kFlag;
    if (!typed.given(words[i]))
      kept.insert(kept.end(), words.begin() + long(i), words.begin() + long(i + 1 + has_value));
    i += has_value;
  }
  for (const OptionSpec& option : all_options(typed.command())) {
    if (!typed.given(option.name)) continue;
    if (option.kind == OptionKind::kFlag) {
      kept.emplace_back(option.name);
      continue;
    }
    const std::vector<std::string> values =
        option.is_repeatable ? typed.texts(option.name) : std::vector{*typed.text(option.name)};
    for (const std::string& value : values) kept.push_back(fmt::format("{}={}", option.name, value));
  }
  kept.emplace_back("--");
  kept.insert(kept.end(), typed.positionals().begin(), typed.positionals().end());
  return Args::parse(typed.command(), kept);
}

Result<ServeSettings> serve_settings(const Args& args) {
  ServeSettings settings;
  ServerOptions& server = settings.server;
  server.host = *args.text("--host");
  server.port = int(*args.integer("--port"));
  ANEDVD_TRY(const uint64_t max_body, parse_bytes(*args.text("--max-body"), "--max-body"));
  server.max_body = max_body;
  server.max_bodies = std::max<size_t>(size_t(256) << 20, 2 * max_body);
  server.ping_seconds = *args.number("--sse-ping");
  server.drain_seconds = *args.number("--drain");

  ServiceOptions& service = settings.service;
  ANEDVD_TRY(service.gate.keys, all_keys(args));
  service.gate.cors_origins = args.texts("--cors");
  service.gate.allowed_hosts = args.texts("--allowed-hosts");
  if (service.gate.keys.empty() && !args.given("--insecure") && !is_loopback_word(server.host))
    return fail(
        ErrorCode::kUsage,
        "--host {}: everyone on the network could use the model; add --api-key SECRET, or --insecure if that is meant",
        visible(server.host, 80));
  service.metrics_public = args.given("--metrics-public");
  if (const auto names = args.text("--metrics-compat"))
    service.metric_names = *names == "vllm" ? MetricNames::kVllm : MetricNames::kLlamaCpp;
  service.no_queue = args.given("--no-queue");
  service.parallel = service.no_queue ? 1 : int(*args.integer("--parallel"));
  service.response_store = size_t(*args.integer("--response-store"));
  service.log_all = args.given("--verbose");
  if (const auto context = args.integer("--max-seq")) service.max_seq = int(*context);

  RequestDefaults& defaults = service.defaults;
  defaults.version = std::string(kVersion);
  defaults.max_n = int(*args.integer("--max-n"));
  defaults.truncate = *args.text("--on-overflow") == "truncate";
  defaults.split_reasoning = *args.text("--reasoning-format") != "none";
  defaults.sampling = sampling_of(args);

  settings.engine.parallel = service.parallel;
  settings.engine.queue = service.no_queue ? 0 : int(*args.integer("--queue"));
  ANEDVD_TRY_VOID(read_cache_options(args, settings.engine));
  if (const auto size = args.text("--model-memory")) {
    ANEDVD_TRY(settings.model_memory, parse_bytes(*size, "--model-memory"));
  }
  settings.strict_models = args.given("--strict-models");
  settings.chat_template = args.text("--chat-template").value_or("");
  settings.models = args.texts("--model");
  settings.models.insert(settings.models.end(), args.positionals().begin(), args.positionals().end());
  if (settings.models.empty()) settings.models.emplace_back("smollm2");
  return settings;
}

std::vector<ModelEntry> model_entries(const std::vector<std::string>& words,
                                      const std::vector<std::filesystem::path>& paths) {
  std::vector<ModelEntry> entries;
  for (size_t i = 0; i < paths.size(); ++i) {
    const std::string title = model_title(paths[i]);
    std::string id = title;
    const auto is_taken = [&](const std::string& wanted) {
      return std::any_of(entries.begin(), entries.end(), [&](const ModelEntry& entry) { return entry.id == wanted; });
    };
    for (int number = 2; is_taken(id); ++number) id = fmt::format("{}-{}", title, number);
    ModelEntry entry{id, paths[i]};
    if (words[i] != id && words[i].find('/') == std::string::npos) entry.aliases.push_back(words[i]);
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace anedvd
