#include "api/service/service.h"

#include <algorithm>
#include <ctime>

#include "base/log.h"
#include "base/words.h"

namespace anedvd {
namespace {

constexpr int kWorkers = 2;            // long prompts are rare; two of them at once leave the others their turn
constexpr size_t kMostWaiting = 1024;  // requests that wait for a worker
constexpr size_t kStoreBytes = size_t(64) << 20;

}  // namespace

struct Service::Route {
  std::string_view method, path;
  bool is_prefix = false;  // the path goes on behind it
  bool is_public = false;  // needs no key
  Answer (Service::*get)(const Request&) = nullptr;
  void (Service::*post)(std::shared_ptr<const Request>, Done) = nullptr;
  std::string_view suffix = {};  // what a prefix route's path ends with
};

// A prefix route stands behind the exact ones that it would swallow.
const Service::Route Service::kRoutes[] = {
    {"GET", "/", false, true, &Service::page},
    {"GET", "/index.html", false, true, &Service::page},
    {"GET", "/health", false, true, &Service::health},
    {"GET", "/healthz", false, true, &Service::health},
    {"GET", "/v1/health", false, true, &Service::health},
    {"GET", "/v1/models", false, false, &Service::models},
    {"GET", "/models", false, false, &Service::models},
    {"GET", "/v1/models/", true, false, &Service::model},
    {"GET", "/models/", true, false, &Service::model},
    {"GET", "/metrics", false, false, &Service::metrics},
    {"GET", "/props", false, false, &Service::props},
    {"GET", "/slots", false, false, &Service::slots},
    {"POST", "/v1/chat/completions", false, false, nullptr, &Service::chat},
    {"POST", "/chat/completions", false, false, nullptr, &Service::chat},
    {"POST", "/v1/completions", false, false, nullptr, &Service::completions},
    {"POST", "/completions", false, false, nullptr, &Service::completions},
    {"POST", "/v1/messages", false, false, nullptr, &Service::messages},
    {"POST", "/v1/messages/count_tokens", false, false, nullptr, &Service::count_tokens},
    {"POST", "/responses", false, false, nullptr, &Service::responses},
    {"POST", "/responses/input_tokens", false, false, nullptr, &Service::responses_tokens},
    {"POST", "/responses/", true, false, nullptr, &Service::cancel_response, "/cancel"},
    {"GET", "/responses/", true, false, &Service::stored_response},
    {"DELETE", "/responses/", true, false, &Service::deleted_response},
    {"POST", "/v1/responses", false, false, nullptr, &Service::responses},
    {"POST", "/v1/responses/input_tokens", false, false, nullptr, &Service::responses_tokens},
    {"POST", "/v1/responses/", true, false, nullptr, &Service::cancel_response, "/cancel"},
    {"POST", "/v1/requests/", true, false, nullptr, &Service::cancel_request, "/cancel"},
    {"GET", "/v1/responses/", true, false, &Service::stored_response},
    {"DELETE", "/v1/responses/", true, false, &Service::deleted_response},
    {"POST", "/v1/embeddings", false, false, nullptr, &Service::embeddings},
    {"POST", "/embeddings", false, false, nullptr, &Service::embeddings},
    {"POST", "/v1/rerank", false, false, nullptr, &Service::rerank},
    {"POST", "/rerank", false, false, nullptr, &Service::rerank},
    {"POST", "/tokenize", false, false, nullptr, &Service::tokenize},
    {"POST", "/detokenize", false, false, nullptr, &Service::detokenize},
    {"POST", "/apply-template", false, false, nullptr, &Service::apply_template},
};

const Service::Route* Service::find_route(std::string_view path, std::string_view method, std::string* allowed) {
  if (method == "HEAD") method = "GET";
  for (const Route& route : kRoutes) {
    const bool fits = route.is_prefix ? path.size() > route.path.size() + route.suffix.size() &&
                                            path.starts_with(route.path) && path.ends_with(route.suffix)
                                      : path == route.path;
    if (!fits) continue;
    if (route.method == method) return &route;
    if (!allowed) continue;
    const std::string word = route.method == "GET" ? "GET, HEAD" : std::string(route.method);
    if (allowed->find(word) == std::string::npos) *allowed += (allowed->empty() ? "" : ", ") + word;
  }
  return nullptr;
}

Service::Service(ModelRegistry& models, ServiceOptions options)
    : models_(models),
      options_(std::move(options)),
      page_(web_page(options_.page)),
      gate_(options_.gate),
      stored_(options_.response_store, kStoreBytes),
      workers_(kWorkers, kMostWaiting) {}

Service::~Service() { close(); }

void Service::close() {
  // Requests that wait for a model hear of it first; what they do then runs on the workers.
  models_.stop();
  workers_.stop();
}

Answer Service::refused(const Request& request, const ApiError& error) const {
  return error_answer(error, dialect_of(request), request.id);
}

void Service::refuse_with(const Request& request, const ApiError& error, const Done& done) const {
  done(whole_response(refused(request, error), error.code.empty() ? error.type : error.code));
}

std::optional<Answer> Service::admit(const Request& head) {
  if (head.method == "OPTIONS") {
    if (const auto error = gate_.refusal(head, false)) return refused(head, *error);
    return gate_.preflight(head);
  }
  std::string allowed;
  const Route* route = find_route(head.path, head.method, &allowed);
  const bool is_public = route && (route->is_public || (route->get == &Service::metrics && options_.metrics_public));
  if (const auto error = gate_.refusal(head, !is_public)) return refused(head, *error);
  if (!route && !allowed.empty())
    return refused(head, {.status = 405,
                          .code = "method_not_allowed",
                          .message = fmt::format("{} is not allowed here; use {}.", visible(head.method, 20), allowed),
                          .allow = allowed});
  if (!route) {
    const bool is_doubled = head.path.starts_with("/v1/v1/") || head.path.starts_with("/v1/v1");
    return refused(
        head,
        {.status = 404,
         .type = "not_found_error",
         .message = is_doubled
                        ? "There is no such path: /v1 stands there twice. The base URL ends with one /v1, or with none "
                          "for clients that add it."
                        : fmt::format("There is no such path: {}.", visible(head.path, 80))});
  }
  if (route->post)
    if (const auto error = content_refusal(head)) return refused(head, *error);
  if (is_draining_ && !route->is_public)
    return refused(head, {.status = 503,
                          .type = "unavailable_error",
                          .code = "shutting_down",
                          .message = "The server is shutting down.",
                          .retry_after = 5});
  return std::nullopt;
}

void Service::handle(std::shared_ptr<const Request> request, Done done) {
  const Route* route = find_route(request->path, request->method, nullptr);
  ANEDVD_CHECK(route != nullptr, "a request that was not admitted");
  if (route->get) return done(whole_response((this->*route->get)(*request)));
  const bool is_queued = workers_.run([this, route, request, done] {
    // nlohmann's and the library's exceptions are ours to answer for: a client gets its 500, the others go on.
    try {
      (this->*route->post)(request, done);
    } catch (const std::exception& error) {
      refuse_with(*request, from_engine({ErrorCode::kIo, error.what()}), done);
    }
  });
  if (!is_queued) refuse_with(*request, from_engine({ErrorCode::kBusy, {}}), done);
}

Answer Service::fault(const Request& head, HttpFault fault) {
  switch (fault) {
    case HttpFault::kTimeout:
      return refused(head,
                     {.status = 408, .code = "request_timeout", .message = "The request did not arrive in time."});
    case HttpFault::kBodyTooLarge:
      return refused(
          head,
          {.status = 413, .code = "request_too_large", .message = "The body is too large; --max-body sets the limit."});
    case HttpFault::kUriTooLong:
      return refused(head, {.status = 414, .code = "uri_too_long", .message = "The URI is too long."});
    case HttpFault::kHeadersTooLarge:
      return refused(head, {.status = 431, .code = "headers_too_large", .message = "The headers are too large."});
    case HttpFault::kTooMany: return refused(head, from_engine({ErrorCode::kBusy, {}}));
    case HttpFault::kFull:
      return refused(head, {.status = 503,
                            .type = "overloaded_error",
                            .code = "too_many_connections",
                            .message = "Too many connections are open; ask again later.",
                            .retry_after = 1});
    case HttpFault::kBadTarget:
      return refused(head,
                     {.status = 400,
                      .code = "bad_request",
                      .message = "The path is not valid: % is followed by two hexadecimal digits, and not by 00."});
    case HttpFault::kBadHost:
      return refused(head, {.status = 400, .code = "bad_request", .message = "One Host header is expected."});
    case HttpFault::kUnknownCoding:
      return refused(
          head, {.status = 501,
                 .type = "not_supported_error",
                 .code = "not_supported",
                 .message = "This Transfer-Encoding is not supported; send \"chunked\" alone, or a Content-Length."});
    case HttpFault::kInternal:
      return refused(head, {.status = 500, .type = "server_error", .message = "The server failed."});
    case HttpFault::kBadRequest: break;
  }
  return refused(head, {.status = 400, .code = "bad_request", .message = "This is not an HTTP/1.1 request."});
}

std::vector<Header> Service::common_headers(const Request& head, int) {
  std::vector<Header> headers = gate_.cors_headers(head);
  headers.push_back({"Server", "anedvd/" + options_.defaults.version});
  headers.push_back({"x-request-id", head.id});
  if (dialect_of(head) == ApiDialect::kAnthropic)
    headers.push_back({"request-id", head.id});
  else if (head.path.starts_with("/v1/"))
    headers.push_back({"openai-version", "2020-10-01"});
  if (head.received && head.path.starts_with("/v1/")) {
    const auto spent = std::chrono::steady_clock::now() - *head.received;
    headers.push_back(
        {"openai-processing-ms", std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(spent).count())});
  }
  headers.push_back({"X-Content-Type-Options", "nosniff"});
  return headers;
}

void Service::finished(const Request& request, int status, const RequestRecord& record, double seconds) {
  std::string allowed;
  const Route* route = find_route(request.path, request.method, &allowed);
  // Only known paths are labels: others would make as many series as a scanner has ideas.
  metrics_.finished(route ? route->path : "other", status, record, seconds);
  if (!options_.log) return;
  const bool is_quiet = route && route->get && status < 400;
  if (is_quiet && !options_.log_all) return;
  const int64_t now = std::time(nullptr);
  const LoggedRequest logged{request.id, request.path.empty() ? "-" : request.path, status, record, seconds};
  options_.log(log_line_of(logged, options_.log_style, now));
  if (record.dropped > 0)
    for (const ModelStatus& model : models_.list())
      if (model.facts.id == record.model && model.model)
        options_.log(dropped_line_of(logged, options_.log_style, now, model.model->context()));
}

void Service::with_model(std::shared_ptr<const Request> request, std::string_view name, ApiDialect dialect,
                         ModelWork work, Done done) {
  const auto id = models_.resolve(name, dialect);
  if (!id) return refuse_with(*request, id.error(), done);
  models_.get(*id, [this, request, work, done](ApiResult<std::shared_ptr<ServedModel>> model) {
    if (!model) return refuse_with(*request, model.error(), done);
    const bool is_queued = workers_.run([this, request, work, done, model] {
      try {
        auto response = work(*model);
        if (!response) return refuse_with(*request, response.error(), done);
        done(std::move(*response));
      } catch (const std::exception& error) {
        refuse_with(*request, from_engine({ErrorCode::kIo, error.what()}), done);
      }
    });
    if (!is_queued) refuse_with(*request, from_engine({ErrorCode::kBusy, {}}), done);
  });
}

void Service::generate(std::shared_ptr<const Request> request, ApiResult<GenerationJob> job, Done done) {
  if (!job) return refuse_with(*request, job.error(), done);
  const bool with_trace = request->header("x-anedvd-trace") == "1";
  const auto shared = std::make_shared<const GenerationJob>(std::move(*job));
  with_model(
      request, shared->model, shared->dialect,
      [this, request, shared, with_trace](std::shared_ptr<ServedModel> model) {
        return start_generation(std::move(model), *shared, {with_trace, options_.no_queue, request->id, running_});
      },
      std::move(done));
}

}  // namespace anedvd
