// anedvd serve: the API over HTTP.
#include <atomic>
#include <chrono>
#include <csignal>

#include <sys/resource.h>

#include "base/log.h"
#include "base/machine/processor.h"
#include "base/words.h"
#include "cli/commands/all.h"
#include "cli/commands/run_session.h"
#include "cli/model_path.h"
#include "cli/option_groups.h"
#include "cli/serve/serve_options.h"
#include "cli/terminal/console.h"

namespace anedvd {
namespace {

// A stream is a descriptor: the usual 1,024 are few.
void raise_descriptor_limit() {
  constexpr rlim_t kWanted = 65536;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kWanted) return;
  limit.rlim_cur = std::min(kWanted, limit.rlim_max);
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

std::string address_words(const Server& server, const std::string& host) {
  const bool is_v6 = host.find(':') != std::string::npos;
  return fmt::format("http://{}{}{}:{}", is_v6 ? "[" : "", host == "localhost" ? "127.0.0.1" : host, is_v6 ? "]" : "",
                     server.port());
}

std::string size_of_file(const std::filesystem::path& path) {
  std::error_code error;
  const auto bytes = std::filesystem::is_regular_file(path, error) ? std::filesystem::file_size(path, error) : 0;
  return error || bytes == 0 ? "" : fmt::format(" ({})", size_words(bytes));
}

LogStyle log_style(const Args& args, const Console& console) {
  if (args.given("--json")) return LogStyle::kJson;
  return console.err_is_terminal ? LogStyle::kTerminal : LogStyle::kKeyValue;
}

void tell_address(const Console& console, const Server& server, const std::string& host) {
  const std::string address = address_words(server, host);
  console.note(
      fmt::format("listening on {}/   page: open it · OpenAI base URL: …/v1 · Anthropic: {}", address, address));
}

// A third of a machine's free memory stays for caches and the system.
uint64_t default_model_memory() { return available_memory() / 3 * 2; }

Result<ExitCode> run_serve(const Args& typed) {
  ANEDVD_TRY(const Args args, with_config_file(typed));
  const Console console = Console::from(args);
  ANEDVD_TRY(ServeSettings settings, serve_settings(args));
  ANEDVD_TRY(const RuntimeOptions runtime_options, runtime_options_of(args));
  std::vector<std::filesystem::path> paths;
  for (const std::string& word : settings.models) {
    ANEDVD_TRY(auto path, model_path(word));
    paths.push_back(std::move(path));
  }
  raise_descriptor_limit();
  settings.service.log_style = log_style(args, console);
  settings.service.page = built_in_page();
  if (!console.quiet)
    settings.service.log = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };

  const std::vector<ModelEntry> entries = model_entries(settings.models, paths);
  const auto start = std::chrono::steady_clock::now();
  std::atomic<Server*> serving = nullptr;
  Error failure{};
  bool is_stopping = false;
  RegistryOptions options;
  options.load = [&](const std::filesystem::path& path) -> Result<std::unique_ptr<Engine>> {
    console.note(fmt::format("loading {}{}", visible(path.filename().string(), 80), size_of_file(path)));
    ANEDVD_TRY(auto runtime, Runtime::load(path, runtime_options));
    return Engine::start(std::move(runtime), settings.engine);
  };
  options.chat_template = settings.chat_template;
  options.memory_budget = settings.model_memory > 0 ? settings.model_memory : default_model_memory();
  options.strict = settings.strict_models;
  options.loaded = [&](const std::string& id, const Result<std::shared_ptr<ServedModel>>& model) {
    if (model) {
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      const bool is_first = id == entries.front().id && seconds < 3600;
      console.note(fmt::format("{} {} · {} · context {} · {} at once · Ctrl-C to stop",
                               is_first ? "ready in" : "loaded in",
                               duration_words((*model)->engine().runtime().info().load_seconds), (*model)->device(),
                               with_commas((*model)->context()), settings.service.parallel));
      return;
    }
    if (id != entries.front().id) return warn("{}", model.error().message);
    // A server whose only model is broken helps nobody.
    failure = model.error();
    serving.load()->stop();
  };
  ModelRegistry registry(entries, std::move(options));
  Service service(registry, settings.service);
  ANEDVD_TRY(const auto server, Server::listen(service, settings.server));
  serving = server.get();
  tell_address(console, *server, settings.server.host);
  registry.start();
  server->run([&](int) {
    service.drain();
    const int active = server->active();
    if (!std::exchange(is_stopping, true))
      console.note(active == 0 ? "stopping"
                               : fmt::format("stopping: {} running, up to {:.0f} s (Ctrl-C again: now)",
                                             count_words(active, "answer"), settings.server.drain_seconds));
    server->stop();
  });
  service.close();
  if (!failure.message.empty()) return tl::unexpected(failure);
  return kDone;
}

}  // namespace

Command serve_command() {
  return {.name = "serve",
          .group = CommandGroup::kUse,
          .summary = "Answer programs over HTTP, in OpenAI's and Anthropic's dialects",
          .arguments = "[MODEL…]",
          .max_arguments = 16,
          .examples = {"anedvd serve", "anedvd serve smollm2 --port 8081 --api-key SECRET"},
          .options = serve_flags(),
          .run = run_serve};
}

}  // namespace anedvd
