#include <algorithm>

#include <nlohmann/json.hpp>

#include "api/openai/chat.h"
#include "base/json.h"
#include "base/words.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxTopLogprobs = 20;
constexpr size_t kMaxStop = 16;

// A content part of the type that OpenAI gives it.
ApiResult<std::string> part_text(const Json& part, const std::string& where) {
  if (part.is_string()) return part.get<std::string>();
  if (!part.is_object()) return wrong_type(where, "an object with a type");
  const Fields fields(part, where);
  ANEDVD_TRY(const auto type, fields.text("type"));
  if (!type) return missing(fields.path("type"));
  const std::string_view key = *type == "refusal" ? "refusal" : "text";
  if (*type == "text" || *type == "refusal" || *type == "input_text" || *type == "output_text") {
    ANEDVD_TRY(const auto text, fields.text(key));
    if (!text) return missing(fields.path(key));
    return *text;
  }
  if (*type == "image_url" || *type == "input_audio" || *type == "file" || *type == "image" || *type == "audio" ||
      *type == "video_url")
    return not_supported(fields.path("type"), fmt::format("the model reads text only, not \"{}\"", visible(*type, 40)));
  return bad_value(fields.path("type"), "\"text\" is expected");
}

// nullopt: absent.
ApiResult<std::optional<std::string>> content_text(const Fields& message) {
  const Json* content = message.find("content");
  if (!content) return std::nullopt;
  if (content->is_string()) return content->get<std::string>();
  if (!content->is_array()) return wrong_type(message.path("content"), "a string or an array of parts");
  std::string text;
  for (size_t i = 0; i < content->size(); ++i) {
    ANEDVD_TRY(const std::string part, part_text((*content)[i], fmt::format("{}[{}]", message.path("content"), i)));
    text += part;
  }
  return text;
}

// Templates print the arguments as an object; a text that is none is passed on as it is.
Json parsed_arguments(const Json& arguments) {
  if (!arguments.is_string()) return arguments;
  auto parsed = parse_ordered_json(arguments.get<std::string>(), "arguments");
  return parsed && parsed->is_object() ? std::move(*parsed) : arguments;
}

ApiResult<Json> one_tool_call(const Json& call, const std::string& where) {
  if (!call.is_object()) return wrong_type(where, "an object");
  const Fields fields(call, where);
  ANEDVD_TRY(const Json* function, fields.object("function"));
  if (!function) return missing(fields.path("function"));
  const Fields inner(*function, fields.path("function"));
  ANEDVD_TRY(const auto name, inner.text("name"));
  if (!name) return missing(inner.path("name"));
  const Json* arguments = inner.find("arguments");
  if (arguments && !arguments->is_string() && !arguments->is_object())
    return wrong_type(inner.path("arguments"), "a string");
  Json result = Json::object();
  ANEDVD_TRY(const auto id, fields.text("id"));
  if (id) result["id"] = *id;
  result["type"] = "function";
  result["function"] = {{"name", *name}, {"arguments", arguments ? parsed_arguments(*arguments) : Json::object()}};
  return result;
}

ApiResult<Json> tool_calls_of(const Fields& message) {
  Json calls = Json::array();
  ANEDVD_TRY(const Json* given, message.array("tool_calls"));
  for (size_t i = 0; given && i < given->size(); ++i) {
    ANEDVD_TRY(Json call, one_tool_call((*given)[i], fmt::format("{}[{}]", message.path("tool_calls"), i)));
    calls.push_back(std::move(call));
  }
  ANEDVD_TRY(const Json* old, message.object("function_call"));
  if (old) {
    const Json wrapped = {{"function", *old}};
    ANEDVD_TRY(Json call, one_tool_call(wrapped, message.path("function_call")));
    calls.push_back(std::move(call));
  }
  return calls;
}

ApiResult<Json> one_message(const Json& given, const std::string& where) {
  if (!given.is_object()) return wrong_type(where, "an object");
  const Fields fields(given, where);
  ANEDVD_TRY(const auto role, fields.text("role"));
  if (!role) return missing(fields.path("role"));
  constexpr std::string_view kRoles[] = {"system", "developer", "user", "assistant", "tool", "function"};
  if (std::find(std::begin(kRoles), std::end(kRoles), *role) == std::end(kRoles))
    return bad_value(fields.path("role"), "system, developer, user, assistant or tool is expected");
  ANEDVD_TRY(const auto content, content_text(fields));
  ANEDVD_TRY(Json calls, tool_calls_of(fields));
  ANEDVD_TRY(const auto reasoning, fields.text("reasoning_content"));
  ANEDVD_TRY(const auto reasoning_too, fields.text("reasoning"));
  const bool is_assistant = *role == "assistant";
  if (!content && !(is_assistant && (!calls.empty() || reasoning || reasoning_too)))
    return fields.has("content") || given.contains("content")
               ? wrong_type(fields.path("content"), "a string or an array of parts")
               : missing(fields.path("content"));
  Json message = Json::object();
  message["role"] = *role == "developer" ? "system" : *role == "function" ? "tool" : *role;
  message["content"] = content.value_or("");
  if (is_assistant && !calls.empty()) message["tool_calls"] = std::move(calls);
  if (is_assistant && (reasoning || reasoning_too))
    message["reasoning_content"] = reasoning ? *reasoning : *reasoning_too;
  if (*role == "tool" || *role == "function") {
    ANEDVD_TRY(const auto call, fields.text("tool_call_id"));
    if (call) message["tool_call_id"] = *call;
    ANEDVD_TRY(const auto name, fields.text("name"));
    if (name) message["name"] = *name;
  }
  return message;
}

// A number, to the nearest whole number of choices.
ApiResult<> read_choices(const Fields& fields, const RequestDefaults& defaults, GenerationJob& job) {
  ANEDVD_TRY(const auto n, fields.integer("n", 1, defaults.max_n));
  job.n = int(n.value_or(1));
  ANEDVD_TRY(const auto logprobs, fields.boolean("logprobs"));
  ANEDVD_TRY(const auto top, fields.integer("top_logprobs", 0, kMaxTopLogprobs));
  if (top && *top > 0 && !logprobs.value_or(false)) return bad_value("top_logprobs", "it needs logprobs: true");
  job.with_logprobs = logprobs.value_or(false);
  job.top_logprobs = int(top.value_or(0));
  if (job.with_logprobs) job.request.top_logprobs = job.top_logprobs;
  return {};
}

// What changes an answer and is not there yet: refused rather than ignored.
ApiResult<> refuse_tools(const Fields& fields) {
  ANEDVD_TRY(const Json* tools, fields.array("tools"));
  ANEDVD_TRY(const Json* functions, fields.array("functions"));
  const Json* choice = fields.find("tool_choice");
  const bool has_tools = (tools && !tools->empty()) || (functions && !functions->empty());
  const bool is_none = choice && choice->is_string() && choice->get<std::string>() == "none";
  if (choice && !choice->is_string() && !choice->is_object()) return wrong_type("tool_choice", "a string or an object");
  if (has_tools && !is_none)
    return not_supported(tools && !tools->empty() ? "tools" : "functions", "this version cannot call tools");
  if (!has_tools && choice && !is_none && !(choice->is_string() && choice->get<std::string>() == "auto"))
    return bad_value("tool_choice", "there are no tools to choose from");
  const Json* old_choice = fields.find("function_call");
  if (old_choice && *old_choice != "none" && *old_choice != "auto")
    return bad_value("function_call", "there are no functions to choose from");
  return {};
}

ApiResult<> refuse_formats(const Fields& fields) {
  ANEDVD_TRY(const Json* format, fields.object("response_format"));
  if (format) {
    const Fields inner(*format, "response_format");
    ANEDVD_TRY(const auto type, inner.text("type"));
    if (!type) return missing("response_format.type");
    if (*type == "json_object" || *type == "json_schema")
      return not_supported("response_format", "this version cannot constrain answers to JSON");
    if (*type != "text") return bad_value("response_format.type", "text, json_object or json_schema is expected");
  }
  ANEDVD_TRY(const Json* modalities, fields.array("modalities"));
  for (size_t i = 0; modalities && i < modalities->size(); ++i)
    if ((*modalities)[i] != "text") return not_supported("modalities", "the model writes text only");
  if (fields.has("audio")) return not_supported("audio", "the model writes text only");
  return {};
}

}  // namespace

ApiResult<Json> read_messages(const Fields& fields) {
  ANEDVD_TRY(const Json* given, fields.array("messages"));
  if (!given) return missing("messages");
  if (given->empty()) return bad_value("messages", "at least one message is expected");
  Json messages = Json::array();
  for (size_t i = 0; i < given->size(); ++i) {
    ANEDVD_TRY(Json message, one_message((*given)[i], fmt::format("messages[{}]", i)));
    messages.push_back(std::move(message));
  }
  return messages;
}

ApiResult<std::optional<std::string>> read_effort(const Fields& fields, std::string_view name) {
  ANEDVD_TRY(auto effort, fields.text(name));
  constexpr std::string_view kEfforts[] = {"none", "minimal", "low", "medium", "high", "xhigh"};
  if (effort && std::find(std::begin(kEfforts), std::end(kEfforts), *effort) == std::end(kEfforts))
    return bad_value(fields.path(name), "none, minimal, low, medium, high or xhigh is expected");
  return effort;
}

ApiResult<std::shared_ptr<const Json>> read_template_extra(const Fields& fields, std::optional<std::string> effort) {
  ANEDVD_TRY(const Json* given, fields.object("chat_template_kwargs"));
  Json extra = given ? *given : Json::object();
  if (effort) {
    extra["reasoning_effort"] = *effort;
    if (!extra.contains("enable_thinking")) extra["enable_thinking"] = *effort != "none";
  }
  // The conversation itself is not a variable to be replaced.
  for (const char* name : {"messages", "tools", "add_generation_prompt"}) extra.erase(name);
  if (extra.empty()) return std::shared_ptr<const Json>();
  return std::make_shared<const Json>(std::move(extra));
}

ApiResult<GenerationJob> read_chat_request(const Json& body, const RequestDefaults& defaults) {
  const Fields fields(body);
  GenerationJob job;
  job.kind = "chat";
  job.version = defaults.version;
  job.split_reasoning = defaults.split_reasoning;
  ANEDVD_TRY(const auto model, fields.text("model"));
  job.model = model.value_or("");
  ANEDVD_TRY(Json messages, read_messages(fields));
  job.messages = std::make_shared<const Json>(std::move(messages));
  ANEDVD_TRY_VOID(read_sampling(fields, defaults, job.request));
  ANEDVD_TRY(const auto completion, read_max_tokens(fields, "max_completion_tokens", false));
  ANEDVD_TRY(const auto tokens, read_max_tokens(fields, "max_tokens", false));
  job.request.max_tokens = completion.value_or(tokens.value_or(-1));
  ANEDVD_TRY(job.request.stop, read_stop(fields, "stop", kMaxStop));
  ANEDVD_TRY_VOID(read_choices(fields, defaults, job));
  ANEDVD_TRY_VOID(refuse_tools(fields));
  ANEDVD_TRY_VOID(refuse_formats(fields));
  ANEDVD_TRY(const auto stream, fields.boolean("stream"));
  job.stream = stream.value_or(false);
  ANEDVD_TRY(job.truncate, read_truncation(fields, defaults));
  ANEDVD_TRY(const auto effort, read_effort(fields, "reasoning_effort"));
  ANEDVD_TRY(job.extra, read_template_extra(fields, effort));

  ChatShape shape;
  ANEDVD_TRY(const Json* options, fields.object("stream_options"));
  if (options) {
    ANEDVD_TRY(const auto usage, Fields(*options, "stream_options").boolean("include_usage"));
    shape.include_usage = usage.value_or(false);
  }
  ANEDVD_TRY(const auto progress, fields.boolean("return_progress"));
  shape.return_progress = progress.value_or(false);
  ANEDVD_TRY(const auto timings, fields.boolean("timings_per_token"));
  shape.timings_per_token = timings.value_or(false);
  job.shaper = [shape] { return chat_shaper(shape); };
  return job;
}

}  // namespace anedvd
