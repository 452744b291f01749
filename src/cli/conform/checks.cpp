#include "cli/conform/checks.h"

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/words.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kShown = 160;

struct Asked {
  HttpReply reply;
  Json json;            // null when the body is none
  std::string problem;  // of the connection
};

Asked ask(const ConformTarget& target, const std::string& method, const std::string& path, const std::string& body,
          std::vector<std::string> headers = {}) {
  if (!target.key.empty()) headers.push_back("Authorization: Bearer " + target.key);
  if (method == "POST") headers.push_back("Content-Type: application/json");
  Asked asked;
  auto reply = http_call(target.address, method, path, body, headers);
  if (!reply) {
    asked.problem = reply.error().message;
    return asked;
  }
  asked.reply = std::move(*reply);
  if (auto json = parse_ordered_json(asked.reply.body, "answer")) asked.json = std::move(*json);
  return asked;
}

Json chat_body(const ConformTarget& target, Json more = Json::object()) {
  Json body = {{"model", target.model},
               {"messages", Json::array({{{"role", "user"}, {"content", "Say one word."}}})},
               {"max_tokens", 8},
               {"temperature", 0}};
  for (const auto& [key, value] : more.items()) body[key] = value;
  return body;
}

std::string shown(const Asked& asked) {
  return asked.problem.empty() ? fmt::format("status {}: {}", asked.reply.status, visible(asked.reply.body, kShown))
                               : asked.problem;
}

std::string wants_status(const Asked& asked, int status) {
  return asked.problem.empty() && asked.reply.status == status ? ""
                                                               : fmt::format("{} was due; {}", status, shown(asked));
}

// An OpenAI error: four keys, code a string or null, param as given.
std::string wants_error(const Asked& asked, int status, const std::string& param) {
  if (const std::string wrong = wants_status(asked, status); !wrong.empty()) return wrong;
  if (!asked.json.is_object() || !asked.json.contains("error") || !asked.json["error"].is_object())
    return "the body holds no error object: " + shown(asked);
  const Json& error = asked.json["error"];
  for (const char* key : {"message", "type", "param", "code"})
    if (!error.contains(key)) return fmt::format("error.{} is missing", key);
  if (!error["code"].is_string() && !error["code"].is_null()) return "error.code is neither a string nor null";
  if (!param.empty() && error["param"] != param)
    return fmt::format("error.param is {}, not \"{}\"", error["param"].dump(), param);
  return {};
}

// Follows keys and indices; null when something on the way is missing.
const Json& at(const Json& json, std::initializer_list<std::string_view> path) {
  static const Json kNothing;
  const Json* here = &json;
  for (const std::string_view key : path) {
    const bool is_index = !key.empty() && key.find_first_not_of("0123456789") == std::string_view::npos;
    if (is_index && here->is_array() && here->size() > size_t(std::stoul(std::string(key))))
      here = &(*here)[size_t(std::stoul(std::string(key)))];
    else if (here->is_object() && here->contains(key))
      here = &(*here)[std::string(key)];
    else
      return kNothing;
  }
  return *here;
}

std::vector<std::string> events_of(const std::string& body) {
  std::vector<std::string> events;
  for (size_t from = 0; (from = body.find("data: ", from)) != std::string::npos;) {
    const size_t end = std::min(body.find('\n', from), body.size());
    events.push_back(body.substr(from + 6, end - from - 6));
    from = end;
  }
  return events;
}

std::string text_of_stream(const std::string& body) {
  std::string text;
  for (const std::string& event : events_of(body)) {
    const auto json = parse_ordered_json(event, "event");
    if (!json) continue;
    const Json& piece = at(*json, {"choices", "0", "delta", "content"});
    if (piece.is_string()) text += piece.get<std::string>();
  }
  return text;
}

std::string chat_shape(const ConformTarget& target) {
  const Asked asked = ask(target, "POST", "/v1/chat/completions", chat_body(target).dump());
  if (const std::string wrong = wants_status(asked, 200); !wrong.empty()) return wrong;
  if (asked.json.value("object", "") != "chat.completion") return "object is not chat.completion";
  if (!at(asked.json, {"id"}).is_string() || !at(asked.json, {"created"}).is_number_integer())
    return "id or created is missing";
  if (at(asked.json, {"choices", "0", "message", "role"}) != "assistant")
    return "choices[0].message.role is not assistant";
  if (!at(asked.json, {"choices", "0", "finish_reason"}).is_string()) return "choices[0].finish_reason is missing";
  const Json& usage = at(asked.json, {"usage"});
  for (const char* key : {"prompt_tokens", "completion_tokens", "total_tokens"})
    if (!at(usage, {key}).is_number_integer()) return fmt::format("usage.{} is missing", key);
  return {};
}

std::string chat_stream(const ConformTarget& target) {
  const Json more = {{"stream", true}, {"stream_options", {{"include_usage", true}}}};
  const Asked asked = ask(target, "POST", "/v1/chat/completions", chat_body(target, more).dump());
  if (const std::string wrong = wants_status(asked, 200); !wrong.empty()) return wrong;
  if (!asked.reply.header("content-type").starts_with("text/event-stream"))
    return "Content-Type is not text/event-stream";
  const auto events = events_of(asked.reply.body);
  if (events.size() < 3) return "fewer than three events";
  if (events.back() != "[DONE]") return "the last event is not [DONE]";
  const auto first = parse_ordered_json(events.front(), "event"),
             last = parse_ordered_json(events[events.size() - 2], "event");
  if (!first || at(*first, {"choices", "0", "delta", "role"}) != "assistant") return "the first chunk has no role";
  if (!last || !at(*last, {"usage", "prompt_tokens"}).is_number_integer())
    return "the chunk before [DONE] has no usage";
  return {};
}

std::string chat_streamed_equals_whole(const ConformTarget& target) {
  const Asked whole = ask(target, "POST", "/v1/chat/completions", chat_body(target).dump());
  const Asked streamed = ask(target, "POST", "/v1/chat/completions", chat_body(target, {{"stream", true}}).dump());
  const Json& text = at(whole.json, {"choices", "0", "message", "content"});
  if (!text.is_string()) return "no content: " + shown(whole);
  const std::string joined = text_of_stream(streamed.reply.body);
  return joined == text.get<std::string>() ? ""
                                           : fmt::format("\"{}\" in the stream, \"{}\" whole", visible(joined, 60),
                                                         visible(text.get<std::string>(), 60));
}

std::string chat_choices(const ConformTarget& target) {
  const Asked asked = ask(target, "POST", "/v1/chat/completions", chat_body(target, {{"n", 2}}).dump());
  if (const std::string wrong = wants_status(asked, 200); !wrong.empty()) return wrong;
  return at(asked.json, {"choices"}).size() == 2 ? "" : "n: 2 did not give two choices";
}

std::string chat_logprobs(const ConformTarget& target) {
  const Asked asked =
      ask(target, "POST", "/v1/chat/completions", chat_body(target, {{"logprobs", true}, {"top_logprobs", 2}}).dump());
  if (const std::string wrong = wants_status(asked, 200); !wrong.empty()) return wrong;
  const Json& first = at(asked.json, {"choices", "0", "logprobs", "content", "0"});
  if (!at(first, {"logprob"}).is_number() || !at(first, {"bytes"}).is_array())
    return "logprobs.content[0] lacks logprob or bytes";
  return at(first, {"top_logprobs"}).size() == 2 ? "" : "top_logprobs has not two entries";
}

template <int kCase>
std::string bad_field(const ConformTarget& target) {
  struct Row {
    const char *fields, *param;
  };
  static constexpr Row kRows[] = {{R"({"temperature":-1})", "temperature"},
                                  {R"({"n":0})", "n"},
                                  {R"({"stream":"yes"})", "stream"},
                                  {R"({"max_tokens":1.5})", "max_tokens"},
                                  {R"({"messages":[]})", "messages"}};
  const Row& row = kRows[kCase];
  return wants_error(ask(target, "POST", "/v1/chat/completions", chat_body(target, Json::parse(row.fields)).dump()),
                     400, row.param);
}

std::string null_is_absent(const ConformTarget& target) {
  const Json more = {
      {"stop", nullptr}, {"seed", nullptr}, {"tools", Json::array()}, {"user", "x"}, {"an_unknown_field", 1}};
  return wants_status(ask(target, "POST", "/v1/chat/completions", chat_body(target, more).dump()), 200);
}

std::string own_message_back(const ConformTarget& target) {
  const Json messages = Json::parse(
      R"([{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function",)"
      R"("function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"r"},{"role":"user","content":"b"}])");
  return wants_status(ask(target, "POST", "/v1/chat/completions", chat_body(target, {{"messages", messages}}).dump()),
                      200);
}

std::string later_system_message(const ConformTarget& target) {
  const Json messages = Json::parse(
      R"([{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"system","content":"c"},{"role":"user","content":"d"}])");
  return wants_status(ask(target, "POST", "/v1/chat/completions", chat_body(target, {{"messages", messages}}).dump()),
                      200);
}

std::string unknown_model(const ConformTarget& target) {
  return wants_error(
      ask(target, "POST", "/v1/chat/completions", chat_body(target, {{"model", "no-such-model"}}).dump()), 404, "");
}

std::string broken_json(const ConformTarget& target) {
  return wants_error(ask(target, "POST", "/v1/chat/completions", "{"), 400, "");
}

std::string nested_json(const ConformTarget& target) {
  const std::string wrong = wants_error(ask(target, "POST", "/v1/chat/completions", std::string(100000, '[')), 400, "");
  return wrong.empty() ? wants_status(ask(target, "GET", "/v1/models", ""), 200) : wrong;
}

std::string too_long(const ConformTarget& target) {
  std::string text;
  for (int i = 0; i < 400000; ++i) text += "a b ";
  const Json messages = Json::array({{{"role", "user"}, {"content", text}}});
  const Asked asked = ask(target, "POST", "/v1/chat/completions", chat_body(target, {{"messages", messages}}).dump());
  if (const std::string wrong = wants_error(asked, 400, ""); !wrong.empty()) return wrong;
  return at(asked.json, {"error", "code"}) == "context_length_exceeded" ? ""
                                                                        : "error.code is not context_length_exceeded";
}

std::string models(const ConformTarget& target) {
  const Asked asked = ask(target, "GET", "/v1/models", "");
  if (const std::string wrong = wants_status(asked, 200); !wrong.empty()) return wrong;
  const Json& first = at(asked.json, {"data", "0"});
  return at(first, {"id"}).is_string() && at(first, {"created"}).is_number_integer() &&
                 at(first, {"owned_by"}).is_string()
             ? ""
             : "data[0] lacks id, created or owned_by";
}

std::string unknown_path(const ConformTarget& target) {
  return wants_error(ask(target, "GET", "/v1/no-such-path", ""), 404, "");
}

std::string wrong_method(const ConformTarget& target) {
  const Asked asked = ask(target, "GET", "/v1/chat/completions", "");
  if (const std::string wrong = wants_status(asked, 405); !wrong.empty()) return wrong;
  return asked.reply.header("allow").empty() ? "there is no Allow header" : "";
}

std::string form_refused(const ConformTarget& target) {
  std::vector<std::string> headers = {"Content-Type: text/plain"};
  if (!target.key.empty()) headers.push_back("Authorization: Bearer " + target.key);
  const auto reply = http_call(target.address, "POST", "/v1/chat/completions", chat_body(target).dump(), headers);
  if (!reply) return reply.error().message;
  return reply->status == 415 ? "" : fmt::format("text/plain got {}: any web page could ask", reply->status);
}

std::string preflight(const ConformTarget& target) {
  const Asked asked = ask({target.address, "", target.model}, "OPTIONS", "/v1/chat/completions", "",
                          {"Origin: http://localhost:3000", "Access-Control-Request-Method: POST",
                           "Access-Control-Request-Headers: authorization"});
  if (!asked.problem.empty() || asked.reply.status >= 300) return shown(asked);
  const std::string allowed = asked.reply.header("access-control-allow-headers");
  return allowed.find("uthorization") != std::string::npos ? ""
                                                           : "Access-Control-Allow-Headers does not name authorization";
}

std::string completions_echo(const ConformTarget& target) {
  const Json body = {
      {"model", target.model}, {"prompt", "one two three"}, {"echo", true}, {"logprobs", 1}, {"max_tokens", 0}};
  const Asked asked = ask(target, "POST", "/v1/completions", body.dump());
  if (const std::string wrong = wants_status(asked, 200); !wrong.empty()) return wrong;
  const Json& values = at(asked.json, {"choices", "0", "logprobs", "token_logprobs"});
  if (!values.is_array() || values.size() < 2)
    return "no log-probabilities of the prompt: harnesses would score chance";
  return values[0].is_null() && values[1].is_number() ? "" : "the first is not null, or the second no number";
}

std::string completions_batch(const ConformTarget& target) {
  const Json body = {{"model", target.model}, {"prompt", Json::array({"a", "b"})}, {"max_tokens", 1}};
  const Asked asked = ask(target, "POST", "/v1/completions", body.dump());
  if (const std::string wrong = wants_status(asked, 200); !wrong.empty()) return wrong;
  return at(asked.json, {"choices", "1", "index"}) == 1 ? "" : "the second prompt has no choice with index 1";
}

Json messages_body(const ConformTarget& target) {
  return {{"model", target.model},
          {"max_tokens", 8},
          {"messages", Json::array({{{"role", "user"}, {"content", "Say one word."}}})}};
}

std::string messages_shape(const ConformTarget& target) {
  const Asked asked =
      ask(target, "POST", "/v1/messages?beta=true", messages_body(target).dump(), {"anthropic-version: 2023-06-01"});
  if (const std::string wrong = wants_status(asked, 200); !wrong.empty()) return wrong;
  if (asked.json.value("type", "") != "message" || at(asked.json, {"content", "0", "type"}) != "text")
    return "no message with a text block";
  return at(asked.json, {"usage", "input_tokens"}).is_number_integer() ? "" : "usage.input_tokens is missing";
}

std::string messages_stream(const ConformTarget& target) {
  Json body = messages_body(target);
  body["stream"] = true;
  const Asked asked = ask(target, "POST", "/v1/messages", body.dump(), {"anthropic-version: 2023-06-01"});
  if (const std::string wrong = wants_status(asked, 200); !wrong.empty()) return wrong;
  size_t from = 0;
  for (const char* name : {"message_start", "content_block_start", "content_block_delta", "content_block_stop",
                           "message_delta", "message_stop"}) {
    from = asked.reply.body.find(fmt::format("event: {}\n", name), from);
    if (from == std::string::npos) return fmt::format("{} is missing or out of order", name);
  }
  return {};
}

std::string messages_needs_max_tokens(const ConformTarget& target) {
  Json body = messages_body(target);
  body.erase("max_tokens");
  const Asked asked = ask(target, "POST", "/v1/messages", body.dump(), {"anthropic-version: 2023-06-01"});
  if (const std::string wrong = wants_status(asked, 400); !wrong.empty()) return wrong;
  return at(asked.json, {"type"}) == "error" && at(asked.json, {"error", "type"}) == "invalid_request_error"
             ? ""
             : "not Anthropic's error shape";
}

std::string count_tokens(const ConformTarget& target) {
  Json body = messages_body(target);
  body.erase("max_tokens");
  const Asked asked = ask(target, "POST", "/v1/messages/count_tokens", body.dump(), {"anthropic-version: 2023-06-01"});
  if (const std::string wrong = wants_status(asked, 200); !wrong.empty()) return wrong;
  return at(asked.json, {"input_tokens"}).is_number_integer() ? "" : "input_tokens is missing";
}

std::string responses_stream(const ConformTarget& target) {
  const Json body = {{"model", target.model}, {"input", "Say one word."}, {"max_output_tokens", 16}, {"stream", true}};
  const Asked asked = ask(target, "POST", "/v1/responses", body.dump());
  if (const std::string wrong = wants_status(asked, 200); !wrong.empty()) return wrong;
  size_t from = 0;
  for (const char* name :
       {"response.created", "response.output_item.added", "response.output_text.done", "response.output_item.done"}) {
    from = asked.reply.body.find(fmt::format("event: {}\n", name), from);
    if (from == std::string::npos) return fmt::format("{} is missing or out of order", name);
  }
  return {};
}

std::string unknown_previous_response(const ConformTarget& target) {
  const Json body = {{"model", target.model}, {"input", "x"}, {"previous_response_id", "resp_none"}};
  return wants_error(ask(target, "POST", "/v1/responses", body.dump()), 404, "previous_response_id");
}

std::string embeddings_base64(const ConformTarget& target) {
  const Json body = {{"model", target.model}, {"input", "x"}, {"encoding_format", "base64"}};
  const Asked asked = ask(target, "POST", "/v1/embeddings", body.dump());
  if (const std::string wrong = wants_status(asked, 200); !wrong.empty()) return wrong;
  return at(asked.json, {"data", "0", "embedding"}).is_string()
             ? ""
             : "encoding_format base64 is ignored: SDKs would misread the vector";
}

template <int kCase>
std::string wrong_bytes(const ConformTarget& target) {
  const std::string rows[] = {std::string("\x16\x03\x01\x02\x00\x01\x00", 7),
                              "GET / HTTP/1.1\r\nX: " + std::string(300000, 'a') + "\r\n\r\n",
                              "POST /v1/chat/completions HTTP/1.1\r\nContent-Length: -1\r\n\r\n"};
  const auto heard = exchange_bytes(target.address, rows[kCase]);
  if (!heard) return heard.error().message;
  if (!heard->empty() && heard->starts_with("HTTP/1.1 2")) return "such bytes got a 2xx";
  return wants_status(ask(target, "GET", "/v1/models", ""), 200);
}

}  // namespace

const std::vector<ConformCheck>& conform_checks() {
  static const std::vector<ConformCheck> checks = {
      {"models list", models},
      {"chat: required fields", chat_shape},
      {"chat: stream, role first, usage, [DONE]", chat_stream},
      {"chat: streamed text equals the whole", chat_streamed_equals_whole},
      {"chat: n", chat_choices},
      {"chat: log-probabilities with bytes", chat_logprobs},
      {"chat: negative temperature is refused", bad_field<0>},
      {"chat: n 0 is refused", bad_field<1>},
      {"chat: stream \"yes\" is refused", bad_field<2>},
      {"chat: max_tokens 1.5 is refused", bad_field<3>},
      {"chat: empty messages are refused", bad_field<4>},
      {"chat: null is absent, unknown is ignored", null_is_absent},
      {"chat: its own tool call comes back", own_message_back},
      {"chat: a later system message", later_system_message},
      {"chat: unknown model is 404", unknown_model},
      {"chat: broken JSON is 400", broken_json},
      {"chat: 100,000 brackets are 400", nested_json},
      {"chat: too long a prompt says so", too_long},
      {"completions: prompt is scored", completions_echo},
      {"completions: batch", completions_batch},
      {"messages: required fields", messages_shape},
      {"messages: events in order", messages_stream},
      {"messages: max_tokens is required", messages_needs_max_tokens},
      {"messages: count_tokens", count_tokens},
      {"responses: events in order", responses_stream},
      {"responses: unknown previous id is 404", unknown_previous_response},
      {"embeddings: base64", embeddings_base64},
      {"http: unknown path is 404", unknown_path},
      {"http: wrong method is 405 with Allow", wrong_method},
      {"http: text/plain is 415", form_refused},
      {"http: preflight without key", preflight},
      {"http: a TLS hello harms nobody", wrong_bytes<0>},
      {"http: a header of 300 kB harms nobody", wrong_bytes<1>},
      {"http: a negative length harms nobody", wrong_bytes<2>},
  };
  return checks;
}

}  // namespace anedvd
