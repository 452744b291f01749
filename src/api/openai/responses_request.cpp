#include <algorithm>

#include <nlohmann/json.hpp>

#include "api/fields.h"
#include "api/openai/chat.h"
#include "api/openai/responses.h"
#include "base/json.h"
#include "base/log.h"
#include "base/words.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

tl::unexpected<ApiError> unknown_response(std::string_view param, std::string_view id) {
  return refuse({.status = 404,
                 .type = "not_found_error",
                 .code = "response_not_found",
                 .param = std::string(param),
                 .message = fmt::format("There is no response '{}' here; it was not stored, or it is too old.",
                                        visible(id, 80))});
}

// A message item as a message of chat: the same roles and parts.
ApiResult<Json> message_of(const Json& item, const std::string& where) {
  Json given = Json::object();
  const Fields fields(item, where);
  ANEDVD_TRY(const auto role, fields.text("role"));
  if (!role) return missing(fields.path("role"));
  if (*role != "user" && *role != "assistant" && *role != "system" && *role != "developer")
    return bad_value(fields.path("role"), "user, assistant, system or developer is expected");
  const Json* content = fields.find("content");
  if (!content) return missing(fields.path("content"));
  if (content->is_array())
    for (size_t i = 0; i < content->size(); ++i) {
      const Json& part = (*content)[i];
      const auto type =
          part.is_object() && part.contains("type") && part["type"].is_string() ? part["type"].get<std::string>() : "";
      if (type == "input_image" || type == "input_file" || type == "input_audio")
        return not_supported(fmt::format("{}[{}]", fields.path("content"), i), "the model reads text only");
    }
  given["role"] = *role;
  given["content"] = *content;
  const Json body = {{"messages", Json::array({given})}};
  auto messages = read_messages(Fields(body));
  if (!messages) {
    ApiError error = messages.error();
    // The place as this dialect names it.
    if (error.param.starts_with("messages[0]")) {
      const std::string param = where + error.param.substr(11);
      if (const size_t at = error.message.find(error.param); at != std::string::npos)
        error.message.replace(at, error.param.size(), param);
      error.param = param;
    }
    return refuse(std::move(error));
  }
  return std::move((*messages)[0]);
}

ApiResult<std::string> output_text(const Fields& item) {
  const Json* output = item.find("output");
  if (!output) return missing(item.path("output"));
  if (output->is_string()) return output->get<std::string>();
  if (!output->is_array()) return json_text(*output);
  std::string text;
  for (const Json& part : *output)
    text += part.is_object() && part.contains("text") && part["text"].is_string() ? part["text"].get<std::string>()
                                                                                  : json_text(part);
  return text;
}

std::string reasoning_text(const Json& item) {
  std::string text;
  for (const char* key : {"content", "summary"}) {
    const auto parts = item.find(key);
    if (parts == item.end() || !parts->is_array() || !text.empty()) continue;
    for (const Json& part : *parts)
      if (part.is_object() && part.contains("text") && part["text"].is_string())
        text += part["text"].get<std::string>();
  }
  return text;
}

class ItemReader {
 public:
  ItemReader(Json messages, const ResponseStore& store) : messages_(std::move(messages)), store_(store) {}

  ApiResult<> read(const Json& item, const std::string& where) {
    if (!item.is_object()) return wrong_type(where, "an object");
    const Fields fields(item, where);
    ANEDVD_TRY(const auto type, fields.text("type"));
    if (!type || *type == "message") {
      ANEDVD_TRY(Json message, message_of(item, where));
      if (message["role"] == "assistant" && !reasoning_.empty())
        message["reasoning_content"] = std::exchange(reasoning_, {});
      messages_.push_back(std::move(message));
      return {};
    }
    if (*type == "function_call" || *type == "custom_tool_call")
      return read_call(fields, *type == "function_call" ? "arguments" : "input");
    if (*type == "function_call_output" || *type == "custom_tool_call_output") {
      ANEDVD_TRY(const auto id, fields.text("call_id"));
      if (!id) return missing(fields.path("call_id"));
      ANEDVD_TRY(std::string text, output_text(fields));
      messages_.push_back({{"role", "tool"}, {"content", std::move(text)}, {"tool_call_id", *id}});
      return {};
    }
    if (*type == "reasoning") {
      reasoning_ = reasoning_text(item);
      return {};
    }
    if (*type == "item_reference") {
      ANEDVD_TRY(const auto id, fields.text("id"));
      if (!id) return missing(fields.path("id"));
      return read_reference(*id, fields.path("id"));
    }
    return bad_value(fields.path("type"), "message, function_call, function_call_output or reasoning is expected");
  }

  Json take() && { return std::move(messages_); }

 private:
  // An item of a stored answer stands as if it had been sent itself.
  ApiResult<> read_reference(const std::string& id, const std::string& where) {
    const auto body = store_.body_with_item(id);
    if (!body) return unknown_response(where, id);
    const Json response = Json::parse(*body, nullptr, false);
    for (const Json& item : response["output"])
      if (item["id"] == id) return read(item, where);
    return unknown_response(where, id);
  }

  ApiResult<> read_call(const Fields& fields, std::string_view key) {
    ANEDVD_TRY(const auto id, fields.text("call_id"));
    ANEDVD_TRY(const auto name, fields.text("name"));
    ANEDVD_TRY(const auto arguments, fields.text(key));
    if (!name) return missing(fields.path("name"));
    auto parsed = parse_ordered_json(arguments.value_or("{}"), "arguments");
    Json call = {
        {"id", id.value_or("")},
        {"type", "function"},
        {"function",
         {{"name", *name}, {"arguments", parsed && parsed->is_object() ? *parsed : Json(arguments.value_or("{}"))}}}};
    // Calls that follow each other are one turn of the assistant.
    const bool joins = !messages_.empty() && messages_.back()["role"] == "assistant";
    if (!joins) messages_.push_back({{"role", "assistant"}, {"content", ""}});
    messages_.back()["tool_calls"].push_back(std::move(call));
    return {};
  }

  Json messages_;
  const ResponseStore& store_;
  std::string reasoning_;
};

ApiResult<Json> read_input(const Fields& fields, Json earlier, const ResponseStore& store) {
  const Json* input = fields.find("input");
  if (!input) return missing("input");
  ItemReader reader(std::move(earlier), store);
  if (input->is_string()) {
    ANEDVD_TRY_VOID(reader.read({{"role", "user"}, {"content", *input}}, "input"));
    return std::move(reader).take();
  }
  if (!input->is_array()) return wrong_type("input", "a string or an array of items");
  if (input->empty()) return bad_value("input", "at least one item is expected");
  for (size_t i = 0; i < input->size(); ++i) ANEDVD_TRY_VOID(reader.read((*input)[i], fmt::format("input[{}]", i)));
  return std::move(reader).take();
}

ApiResult<> refuse_tools(const Fields& fields) {
  ANEDVD_TRY(const Json* tools, fields.array("tools"));
  const Json* choice = fields.find("tool_choice");
  if (choice && !choice->is_string() && !choice->is_object()) return wrong_type("tool_choice", "a string or an object");
  const bool is_none = choice && choice->is_string() && *choice == "none";
  bool has_own = false;
  for (size_t i = 0; tools && i < tools->size(); ++i) {
    const std::string where = fmt::format("tools[{}]", i);
    if (!(*tools)[i].is_object()) return wrong_type(where, "an object");
    ANEDVD_TRY(const auto type, Fields((*tools)[i], where).text("type"));
    if (!type) return missing(where + ".type");
    if (*type == "function" || *type == "custom" || *type == "namespace")
      has_own = true;
    else
      tell_verbose("tools: {} is a tool of OpenAI's servers; passed over", visible(*type, 60));
  }
  if (has_own && !is_none) return not_supported("tools", "this version cannot call tools");
  if (!has_own && choice && !is_none && !(choice->is_string() && *choice == "auto"))
    return bad_value("tool_choice", "there are no tools to choose from");
  return {};
}

ApiResult<> refuse_others(const Fields& fields) {
  ANEDVD_TRY_VOID(refuse_tools(fields));
  for (const std::string_view name : {"prompt", "conversation"})
    if (fields.has(name)) return not_supported(name, "send the input itself");
  ANEDVD_TRY(const auto background, fields.boolean("background"));
  if (background.value_or(false)) return not_supported("background", "ask with stream: true instead");
  ANEDVD_TRY(const Json* text, fields.object("text"));
  if (!text) return {};
  ANEDVD_TRY(const Json* format, Fields(*text, "text").object("format"));
  if (!format) return {};
  ANEDVD_TRY(const auto type, Fields(*format, "text.format").text("type"));
  if (type && (*type == "json_object" || *type == "json_schema"))
    return not_supported("text.format", "this version cannot constrain answers to JSON");
  if (type && *type != "text") return bad_value("text.format.type", "text, json_object or json_schema is expected");
  return {};
}

Json or_null(const Fields& fields, std::string_view name) {
  const Json* value = fields.find(name);
  return value ? *value : Json();
}

// The part of a response object that repeats the request.
Json echo_of(const Fields& fields, const GenerationJob& job, bool is_stored) {
  const Json* tools = fields.find("tools");
  const Json* choice = fields.find("tool_choice");
  const Json* metadata = fields.find("metadata");
  Json reasoning = {{"effort", nullptr}, {"summary", nullptr}};
  if (const Json* given = fields.find("reasoning"); given && given->is_object()) reasoning.update(*given);
  return {
      {"instructions", or_null(fields, "instructions")},
      {"max_output_tokens", or_null(fields, "max_output_tokens")},
      {"metadata", metadata && metadata->is_object() ? *metadata : Json::object()},
      {"parallel_tool_calls", fields.has("parallel_tool_calls") ? or_null(fields, "parallel_tool_calls") : Json(true)},
      {"previous_response_id", or_null(fields, "previous_response_id")},
      {"reasoning", std::move(reasoning)},
      {"store", is_stored},
      {"temperature", job.request.sampling.temperature},
      {"text", {{"format", {{"type", "text"}}}}},
      {"tool_choice", choice ? *choice : Json("auto")},
      {"tools", tools ? *tools : Json::array()},
      {"top_p", job.request.sampling.top_p},
      {"truncation", job.truncate ? "auto" : "disabled"},
      {"user", or_null(fields, "user")}};
}

ApiResult<> read_logprobs(const Fields& fields, GenerationJob& job) {
  ANEDVD_TRY(const auto top, fields.integer("top_logprobs", 0, 20));
  ANEDVD_TRY(const Json* include, fields.array("include"));
  bool is_asked = top && *top > 0;
  for (size_t i = 0; include && i < include->size(); ++i) is_asked |= (*include)[i] == "message.output_text.logprobs";
  if (!is_asked) return {};
  job.with_logprobs = true;
  job.top_logprobs = job.request.top_logprobs = int(top.value_or(0));
  return {};
}

}  // namespace

ApiResult<GenerationJob> read_responses_request(const Json& body, const RequestDefaults& defaults, ResponseStore& store,
                                                bool counts_only) {
  const Fields fields(body);
  GenerationJob job;
  job.kind = "response";
  job.version = defaults.version;
  job.split_reasoning = defaults.split_reasoning;
  job.id_prefix = "resp_";
  job.prompt_param = "input";
  ANEDVD_TRY(const auto model, fields.text("model"));
  job.model = model.value_or("");
  ANEDVD_TRY(const auto previous, fields.text("previous_response_id"));
  Json earlier = Json::array();
  if (previous) {
    const auto found = store.get(*previous);
    if (!found) return unknown_response("previous_response_id", *previous);
    earlier = *found->conversation;
  }
  ANEDVD_TRY(Json messages, read_input(fields, std::move(earlier), store));
  ANEDVD_TRY(const auto instructions, fields.text("instructions"));
  Json prompt = Json::array();
  if (instructions && !instructions->empty()) prompt.push_back({{"role", "system"}, {"content", *instructions}});
  for (const Json& message : messages) prompt.push_back(message);
  // Several system messages are one turn at the front, in their order.
  std::stable_partition(prompt.begin(), prompt.end(), [](const Json& message) { return message["role"] == "system"; });
  job.messages = std::make_shared<const Json>(std::move(prompt));
  ANEDVD_TRY_VOID(read_sampling(fields, defaults, job.request));
  ANEDVD_TRY(const auto max_tokens, read_max_tokens(fields, "max_output_tokens", false));
  job.request.max_tokens = max_tokens.value_or(-1);
  ANEDVD_TRY(job.request.stop, read_stop(fields, "stop", 16));
  ANEDVD_TRY_VOID(refuse_others(fields));
  ANEDVD_TRY_VOID(read_logprobs(fields, job));
  ANEDVD_TRY(job.truncate, read_truncation(fields, defaults));
  ANEDVD_TRY(const auto stream, fields.boolean("stream"));
  job.stream = stream.value_or(false);
  ANEDVD_TRY(const auto is_stored, fields.boolean("store"));
  std::optional<std::string> effort;
  ANEDVD_TRY(const Json* reasoning, fields.object("reasoning"));
  if (reasoning) {
    ANEDVD_TRY(effort, read_effort(Fields(*reasoning, "reasoning"), "effort"));
  }
  ANEDVD_TRY(job.extra, read_template_extra(fields, effort));
  if (counts_only) return job;
  ResponsesShape shape;
  shape.is_stored = is_stored.value_or(true);
  shape.echo = std::make_shared<const Json>(echo_of(fields, job, shape.is_stored));
  shape.messages = std::make_shared<const Json>(std::move(messages));
  shape.store = &store;
  job.shaper = [shape] { return responses_shaper(shape); };
  return job;
}

}  // namespace anedvd
