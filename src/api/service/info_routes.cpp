// GET routes: each from a snapshot, so that they answer while models load and generate.
#include <ctime>

#include <nlohmann/json.hpp>

#include "api/fields.h"
#include "api/service/service.h"
#include "base/ascii.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

Answer json_answer(const Json& json, int status = 200) {
  return {status, {{"Content-Type", "application/json"}}, json_text(json)};
}

std::string rfc3339(int64_t seconds) {
  const std::time_t time = std::time_t(seconds);
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  return fmt::format("{}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string_view state_name(ModelState state) {
  switch (state) {
    case ModelState::kLoaded: return "loaded";
    case ModelState::kLoading: return "loading";
    case ModelState::kFailed: return "failed";
    case ModelState::kAbsent: break;
  }
  return "unloaded";
}

// Both dialects' fields in one object: clients of either find theirs.
Json model_json(const ModelStatus& status, int max_seq) {
  const ModelFacts& facts = status.facts;
  const int context = status.model ? status.model->context() : std::min(facts.context, max_seq);
  return {{"id", facts.id},
          {"object", "model"},
          {"type", "model"},
          {"created", facts.created},
          {"created_at", rfc3339(facts.created)},
          {"owned_by", "anedvd"},
          {"display_name", facts.id},
          {"lifecycle", "active"},
          {"context_length", context},
          {"max_model_len", context},
          {"context_window", context},
          {"max_output_tokens", context},
          {"max_input_tokens", context},
          {"max_tokens", context},
          {"deprecated_at", nullptr},
          {"retires_at", nullptr},
          {"line", nullptr},
          {"status", state_name(status.state)},
          {"capabilities", Json::array({"completion", "embedding"})},
          {"meta",
           {{"n_ctx", context},
            {"n_ctx_train", facts.context},
            {"n_params", facts.parameters},
            {"size", facts.file_bytes},
            {"n_vocab", facts.vocab},
            {"n_embd", facts.hidden},
            {"vocab_type", facts.vocab_type}}}};
}

bool asks_as_anthropic(const Request& request) {
  if (request.has_header("anthropic-version")) return true;
  for (const std::string_view name : {"limit=", "after_id=", "before_id="})
    if (request.query.starts_with(name) || request.query.find("&" + std::string(name)) != std::string::npos)
      return true;
  return false;
}

Json model_for(const Request& request, const ModelStatus& status, int max_seq) {
  Json json = model_json(status, max_seq);
  if (asks_as_anthropic(request)) json["capabilities"] = nullptr;  // those clients take an object or nothing here
  return json;
}

// ":8080" or "" where the page was asked for as localhost though the server listens on 127.0.0.1.
std::optional<std::string> localhost_port(const Request& request) {
  if (!request.loopback_v4 || !request.target.starts_with('/') || request.target.starts_with("//")) return std::nullopt;
  for (const std::string_view name : {"forwarded", "x-forwarded-host", "x-forwarded-for"})
    if (request.has_header(name)) return std::nullopt;
  constexpr std::string_view kName = "localhost";
  const std::string lower = lower_ascii(request.header("host"));
  if (lower != kName && !lower.starts_with("localhost:")) return std::nullopt;
  const std::string port = lower.substr(kName.size());
  if (port.find_first_not_of("0123456789", 1) != std::string::npos) return std::nullopt;
  return port;
}

}  // namespace

Answer Service::page(const Request& request) {
  if (options_.page.empty())
    return refused(request, {.status = 404,
                             .type = "not_found_error",
                             .message = "This server has no page. The API is at /v1 (OpenAI) and / (Anthropic)."});
  // Browsers keep chats by origin: under two names of one server half of them would seem lost. A proxy's names are its own.
  if (const auto port = localhost_port(request))
    return {307,
            {{"Location", fmt::format("http://127.0.0.1{}{}", *port, request.target)}, {"Cache-Control", "no-store"}},
            {}};
  return page_answer(page_, request);
}

Answer Service::health(const Request& request) {
  if (is_draining_) {
    const ApiError error{.status = 503,
                         .type = "unavailable_error",
                         .code = "shutting_down",
                         .message = "The server is shutting down.",
                         .retry_after = 5};
    return refused(request, error);
  }
  const bool has_failed = models_.failure().has_value();
  Json models = Json::object();
  for (const ModelStatus& status : models_.list()) models[status.facts.id] = state_name(status.state);
  if (models_.is_ready()) return json_answer({{"status", "ok"}, {"models", std::move(models)}});
  const ApiError error{
      .status = 503,
      .type = "unavailable_error",
      .code = has_failed ? "model_failed" : "model_loading",
      .message = has_failed ? "The model could not be loaded; the server's log says why." : "The model is loading.",
      .retry_after = 1};
  Answer answer = refused(request, error);
  Json body = {{"status", has_failed ? "failed" : "loading"}, {"models", std::move(models)}};
  body.update(Json::parse(answer.body, nullptr, false));
  answer.body = json_text(body);
  return answer;
}

Answer Service::models(const Request& request) {
  Json data = Json::array();
  for (const ModelStatus& status : models_.list()) data.push_back(model_for(request, status, options_.max_seq));
  if (!asks_as_anthropic(request)) return json_answer({{"object", "list"}, {"data", std::move(data)}});
  Json first = data.front()["id"], last = data.back()["id"];
  return json_answer(
      {{"data", std::move(data)}, {"has_more", false}, {"first_id", std::move(first)}, {"last_id", std::move(last)}});
}

Answer Service::model(const Request& request) {
  const std::string_view id = std::string_view(request.path).substr(request.path.find("/models/") + 8);
  const auto known = models_.resolve(id, ApiDialect::kOpenAi);
  if (!known) return refused(request, known.error());
  for (const ModelStatus& status : models_.list())
    if (status.facts.id == *known) return json_answer(model_for(request, status, options_.max_seq));
  return refused(request, {.status = 404, .type = "not_found_error", .code = "model_not_found"});
}

Answer Service::metrics(const Request&) {
  std::vector<ModelMetrics> models;
  for (const ModelStatus& status : models_.list())
    models.push_back({status.facts.id, status.model != nullptr,
                      status.model ? status.model->engine().statistics() : EngineStatistics{}});
  return {200,
          {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}},
          metrics_.text(models, options_.metric_names)};
}

Answer Service::props(const Request&) {
  const ModelStatus status = models_.list().front();
  const SamplingParams& sampling = options_.defaults.sampling;
  const int context = status.model ? status.model->context() : 0;
  return json_answer({{"default_generation_settings",
                       {{"n_ctx", context},
                        {"params",
                         {{"temperature", sampling.temperature},
                          {"top_k", sampling.top_k},
                          {"top_p", sampling.top_p},
                          {"min_p", sampling.min_p},
                          {"repeat_penalty", sampling.repeat_penalty},
                          {"repeat_last_n", sampling.repeat_last_n},
                          {"presence_penalty", sampling.presence_penalty},
                          {"frequency_penalty", sampling.frequency_penalty}}}}},
                      {"total_slots", options_.parallel},
                      {"model_alias", status.facts.id},
                      {"model_path", status.facts.path.filename().string()},
                      {"chat_template", status.model ? status.model->template_text() : std::string()},
                      {"modalities", {{"vision", false}, {"audio", false}}},
                      {"device", status.model ? std::string(status.model->device()) : std::string()},
                      {"build_info", "anedvd " + options_.defaults.version}});
}

// The engine hands places out anew at every step: a slot is one of the answers that it can run, not a numbered seat.
Answer Service::slots(const Request&) {
  const ModelStatus status = models_.list().front();
  const int running = status.model ? status.model->engine().statistics().running : 0;
  Json slots = Json::array();
  for (int i = 0; i < options_.parallel; ++i)
    slots.push_back({{"id", i}, {"n_ctx", status.model ? status.model->context() : 0}, {"is_processing", i < running}});
  return json_answer(slots);
}

}  // namespace anedvd
