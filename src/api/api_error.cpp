#include "api/api_error.h"

#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/words.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

std::string_view anthropic_type(const ApiError& error) {
  if (error.code == "engine_busy") return "overloaded_error";
  switch (error.status) {
    case 401: return "authentication_error";
    case 403: return "permission_error";
    case 404: return "not_found_error";
    case 408: return "timeout_error";
    case 413: return "request_too_large";
    case 429: return "rate_limit_error";
    default: return error.status >= 500 && error.status != 501 ? "api_error" : "invalid_request_error";
  }
}

std::string anthropic_message(const ApiError& error) {
  if (error.code == "context_length_exceeded")
    return fmt::format("prompt is too long: {} tokens > {} maximum", error.prompt_tokens, error.context);
  return error.param.empty() ? error.message : fmt::format("{}: {}", error.param, error.message);
}

}  // namespace

tl::unexpected<ApiError> refuse(ApiError error) { return tl::unexpected<ApiError>(std::move(error)); }

tl::unexpected<ApiError> missing(std::string_view param) {
  return refuse({.code = "missing_required_parameter",
                 .param = std::string(param),
                 .message = fmt::format("Missing required parameter: '{}'.", param)});
}

tl::unexpected<ApiError> wrong_type(std::string_view param, std::string_view wanted) {
  return refuse({.code = "invalid_type",
                 .param = std::string(param),
                 .message = fmt::format("Invalid type for '{}': expected {}.", param, wanted)});
}

tl::unexpected<ApiError> bad_value(std::string_view param, std::string_view what) {
  return refuse({.code = "invalid_value",
                 .param = std::string(param),
                 .message = fmt::format("Invalid value for '{}': {}.", param, what)});
}

tl::unexpected<ApiError> not_supported(std::string_view param, std::string_view what) {
  return refuse({.code = "not_supported",
                 .param = std::string(param),
                 .message = fmt::format("'{}' is not supported: {}.", param, what)});
}

ApiError prompt_too_long(int prompt_tokens, int context, std::string_view param) {
  return {.code = "context_length_exceeded",
          .param = std::string(param),
          .message =
              fmt::format("This model's maximum context length is {} tokens. However, your {} resulted in {} tokens. "
                          "Please reduce the length of the {}.",
                          context, param, prompt_tokens, param),
          .prompt_tokens = prompt_tokens,
          .context = context};
}

ApiError from_engine(const Error& error) {
  switch (error.code) {
    case ErrorCode::kUsage: return {.code = "invalid_value", .message = error.message};
    case ErrorCode::kBusy:
      return {.status = 429,
              .type = "rate_limit_error",
              .code = "queue_full",
              .message = "The queue is full; ask again later.",
              .retry_after = 1};
    case ErrorCode::kNoMemory:
    case ErrorCode::kDevice:
      return {.status = 503,
              .type = "unavailable_error",
              .code = error.code == ErrorCode::kDevice ? "ane_busy" : "out_of_memory",
              .message = error.code == ErrorCode::kDevice ? "The device did not answer; ask again later."
                                                          : "The memory is used up; ask again later.",
              .retry_after = 5};
    case ErrorCode::kCancelled:
      return {.status = 503,
              .type = "unavailable_error",
              .code = "shutting_down",
              .message = "The server is shutting down.",
              .retry_after = 5};
    default:
      warn("request failed: {}", visible(error.message));
      return {.status = 500, .type = "server_error", .message = "The server failed; its log says why."};
  }
}

ApiError refused_by_engine(const Error& error, bool no_queue) {
  if (error.code != ErrorCode::kBusy || !no_queue) return from_engine(error);
  return {.status = 503,
          .type = "overloaded_error",
          .code = "engine_busy",
          .message = "Another request is being answered; ask again later.",
          .retry_after = 1};
}

std::string error_json(const ApiError& error, ApiDialect dialect, std::string_view request_id) {
  if (dialect == ApiDialect::kAnthropic)
    return text_of({{"type", "error"},
                    {"error", {{"type", anthropic_type(error)}, {"message", anthropic_message(error)}}},
                    {"request_id", request_id}});
  Json inner = {
      {"message", error.message}, {"type", error.type}, {"param", or_null(error.param)}, {"code", or_null(error.code)}};
  if (error.context > 0) {
    inner["n_prompt_tokens"] = error.prompt_tokens;
    inner["n_ctx"] = error.context;
  }
  return text_of({{"error", std::move(inner)}});
}

Answer error_answer(const ApiError& error, ApiDialect dialect, std::string_view request_id) {
  Answer answer;
  answer.status = dialect == ApiDialect::kAnthropic && error.code == "engine_busy" ? 529 : error.status;
  answer.headers.push_back({"Content-Type", "application/json"});
  if (error.retry_after > 0) {
    answer.headers.push_back({"Retry-After", std::to_string(error.retry_after)});
    answer.headers.push_back({"retry-after-ms", std::to_string(error.retry_after * 1000)});
  }
  if (error.status == 401) answer.headers.push_back({"WWW-Authenticate", "Bearer"});
  if (!error.allow.empty()) answer.headers.push_back({"Allow", error.allow});
  // Asking again would give the same.
  if (error.status == 500 || error.status == 501) answer.headers.push_back({"x-should-retry", "false"});
  answer.body = error_json(error, dialect, request_id);
  return answer;
}

ApiDialect dialect_of(const Request& request) {
  const bool messages = request.path == "/v1/messages" || request.path.starts_with("/v1/messages/");
  return messages || request.has_header("anthropic-version") ? ApiDialect::kAnthropic : ApiDialect::kOpenAi;
}

}  // namespace anedvd
