// POST routes whose answers a model writes: a dialect's parser, then the way that all of them take.
#include <nlohmann/json.hpp>

#include "api/anthropic/messages.h"
#include "api/fields.h"
#include "api/generation/chat_prompt.h"
#include "api/openai/chat.h"
#include "api/openai/completions.h"
#include "api/openai/embeddings.h"
#include "api/openai/responses.h"
#include "api/service/service.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

std::unique_ptr<Response> json_response(const Json& json) {
  return whole_response({200, {{"Content-Type", "application/json"}}, json_text(json)});
}

// Tokens of a job's prompt, whether it fits or not.
ApiResult<size_t> count_of(const ServedModel& model, const GenerationJob& job) {
  ChatPromptInput input;
  input.messages = job.messages.get();
  input.extra = job.extra.get();
  ANEDVD_TRY(const ChatPrompt prompt, render_chat(model, input));
  return prompt.ids.size();
}

}  // namespace

void Service::chat(std::shared_ptr<const Request> request, Done done) {
  const auto body = parse_body(request->body);
  if (!body) return refuse_with(*request, body.error(), done);
  generate(std::move(request), read_chat_request(*body, options_.defaults), std::move(done));
}

void Service::completions(std::shared_ptr<const Request> request, Done done) {
  const auto body = parse_body(request->body);
  if (!body) return refuse_with(*request, body.error(), done);
  generate(std::move(request), read_completions_request(*body, options_.defaults), std::move(done));
}

void Service::messages(std::shared_ptr<const Request> request, Done done) {
  const auto body = parse_body(request->body);
  if (!body) return refuse_with(*request, body.error(), done);
  auto job = read_messages_request(*body, options_.defaults, false);
  if (job) job->shaper = [model = job->model, id = request->id] { return messages_shaper(model, id); };
  generate(std::move(request), std::move(job), std::move(done));
}

void Service::responses(std::shared_ptr<const Request> request, Done done) {
  const auto body = parse_body(request->body);
  if (!body) return refuse_with(*request, body.error(), done);
  generate(std::move(request), read_responses_request(*body, options_.defaults, stored_, false), std::move(done));
}

// Counting takes no place of an answer: it works while all of them are taken.
void Service::count(std::shared_ptr<const Request> request, ApiResult<GenerationJob> job, bool as_response, Done done) {
  if (!job) return refuse_with(*request, job.error(), done);
  const auto shared = std::make_shared<const GenerationJob>(std::move(*job));
  with_model(
      std::move(request), shared->model, shared->dialect,
      [shared, as_response](std::shared_ptr<ServedModel> model) -> ApiResult<std::unique_ptr<Response>> {
        ANEDVD_TRY(const size_t tokens, count_of(*model, *shared));
        Json body = Json::object();
        if (as_response) body["object"] = "response.input_tokens";
        body["input_tokens"] = tokens;
        return json_response(body);
      },
      std::move(done));
}

void Service::count_tokens(std::shared_ptr<const Request> request, Done done) {
  const auto body = parse_body(request->body);
  if (!body) return refuse_with(*request, body.error(), done);
  count(std::move(request), read_messages_request(*body, options_.defaults, true), false, std::move(done));
}

void Service::responses_tokens(std::shared_ptr<const Request> request, Done done) {
  const auto body = parse_body(request->body);
  if (!body) return refuse_with(*request, body.error(), done);
  count(std::move(request), read_responses_request(*body, options_.defaults, stored_, true), true, std::move(done));
}

namespace {

// "/v1/responses/ID" or "/v1/responses/ID/cancel", or either without "/v1".
std::string response_id(const Request& request) {
  constexpr std::string_view kRoute = "/responses/";
  std::string_view rest = std::string_view(request.path).substr(request.path.find(kRoute) + kRoute.size());
  constexpr std::string_view kCancel = "/cancel";
  if (rest.ends_with(kCancel)) rest.remove_suffix(kCancel.size());
  return std::string(rest);
}

ApiError no_such_response() {
  return {.status = 404,
          .type = "not_found_error",
          .code = "response_not_found",
          .message = "There is no such response here; it was not stored, or it is too old."};
}

}  // namespace

Answer Service::stored_response(const Request& request) {
  const std::string id = response_id(request);
  if (auto running = stored_.running(id)) return {200, {{"Content-Type", "application/json"}}, std::move(*running)};
  const auto stored = stored_.get(id);
  if (!stored) return refused(request, no_such_response());
  return {200, {{"Content-Type", "application/json"}}, stored->body};
}

Answer Service::deleted_response(const Request& request) {
  const std::string id = response_id(request);
  if (!stored_.erase(id)) return refused(request, no_such_response());
  return {
      200, {{"Content-Type", "application/json"}}, json_text({{"id", id}, {"object", "response"}, {"deleted", true}})};
}

void Service::cancel_response(std::shared_ptr<const Request> request, Done done) {
  const std::string id = response_id(*request);
  if (const auto running = stored_.cancel(id)) {
    Json body = Json::parse(*running, nullptr, false);
    body["status"] = "cancelled";
    return done(json_response(body));
  }
  const auto stored = stored_.get(id);
  if (!stored) return refuse_with(*request, no_such_response(), done);
  // It has ended already: what it is.
  done(whole_response({200, {{"Content-Type", "application/json"}}, stored->body}));
}

void Service::cancel_request(std::shared_ptr<const Request> request, Done done) {
  std::string_view id = std::string_view(request->path).substr(std::string_view("/v1/requests/").size());
  id.remove_suffix(std::string_view("/cancel").size());
  if (running_->cancel(std::string(id)))
    return done(json_response({{"id", id}, {"object", "request"}, {"status", "cancelled"}}));
  refuse_with(*request,
              {.status = 404,
               .type = "not_found_error",
               .code = "request_not_found",
               .message = "No answer to such a request is under way; the header x-request-id names each."},
              done);
}

void Service::embeddings(std::shared_ptr<const Request> request, Done done) {
  const auto body = parse_body(request->body);
  if (!body) return refuse_with(*request, body.error(), done);
  auto job = read_embeddings_request(*body);
  if (!job) return refuse_with(*request, job.error(), done);
  const auto shared = std::make_shared<const EmbeddingsJob>(std::move(*job));
  with_model(
      request, shared->model, ApiDialect::kOpenAi,
      [this, request, shared](std::shared_ptr<ServedModel> model) {
        return start_embeddings(std::move(model), *shared, options_.no_queue, request->id);
      },
      std::move(done));
}

}  // namespace anedvd
