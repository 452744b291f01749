#include <nlohmann/json.hpp>

#include "api/anthropic/messages.h"
#include "api/fields.h"
#include "base/log.h"
#include "base/words.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

// Agents put a line there that changes with every request: it would keep the whole prompt from being found in the cache.
constexpr std::string_view kBillingHeader = "x-anthropic-billing-header:";

// A turn of the conversation, as far as its blocks have been read.
struct Turn {
  std::string text, reasoning;
  Json calls = Json::array();
  Json results = Json::array();  // tool messages: they stand before the turn's own text
};

ApiResult<std::string> text_block(const Fields& block) {
  ANEDVD_TRY(const auto text, block.text("text"));
  if (!text) return missing(block.path("text"));
  return *text;
}

ApiResult<std::string> source_text(const Fields& block) {
  ANEDVD_TRY(const Json* source, block.object("source"));
  if (!source) return missing(block.path("source"));
  const Fields fields(*source, block.path("source"));
  ANEDVD_TRY(const auto type, fields.text("type"));
  if (type != "text") return not_supported(block.path("source"), "the model reads text only");
  ANEDVD_TRY(const auto data, fields.text("data"));
  if (!data) return missing(fields.path("data"));
  return *data;
}

// The text of a tool's result: a string, text blocks, or nothing.
ApiResult<std::string> result_text(const Fields& block) {
  const Json* content = block.find("content");
  if (!content) return std::string();
  if (content->is_string()) return content->get<std::string>();
  if (!content->is_array()) return wrong_type(block.path("content"), "a string or an array of blocks");
  std::string text;
  for (size_t i = 0; i < content->size(); ++i) {
    const std::string where = fmt::format("{}.{}", block.path("content"), i);
    if (!(*content)[i].is_object()) return wrong_type(where, "an object");
    const Fields part((*content)[i], where);
    ANEDVD_TRY(const auto type, part.text("type"));
    if (type == "image") return not_supported(where, "the model reads text only");
    if (type == "document") {
      ANEDVD_TRY(const std::string document, source_text(part));
      text += document;
    } else if (part.has("text")) {
      ANEDVD_TRY(const std::string piece, text_block(part));
      text += piece;
    } else {
      text += json_text((*content)[i]);
    }
  }
  return text;
}

ApiResult<> read_block(const Json& given, const std::string& where, Turn& turn) {
  if (!given.is_object()) return wrong_type(where, "an object");
  const Fields block(given, where);
  ANEDVD_TRY(const auto type, block.text("type"));
  if (!type) return missing(block.path("type"));
  if (*type == "text") {
    ANEDVD_TRY(const std::string text, text_block(block));
    turn.text += text;
    return {};
  }
  if (*type == "thinking") {
    ANEDVD_TRY(const auto thinking, block.text("thinking"));
    turn.reasoning += thinking.value_or("");
    return {};
  }
  if (*type == "redacted_thinking") return {};
  if (*type == "tool_use") {
    ANEDVD_TRY(const auto id, block.text("id"));
    ANEDVD_TRY(const auto name, block.text("name"));
    ANEDVD_TRY(const Json* input, block.object("input"));
    if (!name) return missing(block.path("name"));
    turn.calls.push_back({{"id", id.value_or("")},
                          {"type", "function"},
                          {"function", {{"name", *name}, {"arguments", input ? *input : Json::object()}}}});
    return {};
  }
  if (*type == "tool_result") {
    ANEDVD_TRY(const auto id, block.text("tool_use_id"));
    if (!id) return missing(block.path("tool_use_id"));
    ANEDVD_TRY(const std::string text, result_text(block));
    turn.results.push_back({{"role", "tool"}, {"content", text}, {"tool_call_id", *id}});
    return {};
  }
  if (*type == "document") {
    ANEDVD_TRY(const std::string text, source_text(block));
    turn.text += text;
    return {};
  }
  if (*type == "image") return not_supported(where, "the model reads text only");
  // What Anthropic's own servers did in earlier turns: told as it is.
  if (*type == "server_tool_use" || type->ends_with("_tool_result") || *type == "mcp_tool_use" ||
      *type == "search_result") {
    turn.text += json_text(given);
    return {};
  }
  return bad_value(block.path("type"), "text, thinking, tool_use or tool_result is expected");
}

void append_turn(Json& messages, const std::string& role, Turn turn) {
  for (Json& result : turn.results) messages.push_back(std::move(result));
  const bool has_only_results =
      !turn.results.empty() && turn.text.empty() && turn.calls.empty() && turn.reasoning.empty();
  if (has_only_results) return;
  Json message = {{"role", role}, {"content", std::move(turn.text)}};
  if (!turn.calls.empty()) message["tool_calls"] = std::move(turn.calls);
  if (!turn.reasoning.empty()) message["reasoning_content"] = std::move(turn.reasoning);
  messages.push_back(std::move(message));
}

ApiResult<std::string> system_text(const Fields& fields) {
  const Json* system = fields.find("system");
  if (!system) return std::string();
  if (system->is_string()) return system->get<std::string>();
  if (!system->is_array()) return wrong_type("system", "a string or an array of text blocks");
  std::string text;
  for (size_t i = 0; i < system->size(); ++i) {
    const std::string where = fmt::format("system.{}", i);
    if (!(*system)[i].is_object()) return wrong_type(where, "an object");
    ANEDVD_TRY(const std::string piece, text_block(Fields((*system)[i], where)));
    if (piece.starts_with(kBillingHeader)) continue;
    text += (text.empty() ? "" : "\n") + piece;
  }
  return text;
}

// Tools of a type are Anthropic's own, which no other server has: passed over, as clients expect. Others would have to be called.
ApiResult<> refuse_tools(const Fields& fields) {
  ANEDVD_TRY(const Json* tools, fields.array("tools"));
  ANEDVD_TRY(const Json* choice, fields.object("tool_choice"));
  std::optional<std::string> kind;
  if (choice) {
    ANEDVD_TRY(kind, Fields(*choice, "tool_choice").text("type"));
    if (!kind) return missing("tool_choice.type");
    if (kind != "auto" && kind != "any" && kind != "tool" && kind != "none")
      return bad_value("tool_choice.type", "auto, any, tool or none is expected");
  }
  bool has_own = false;
  for (size_t i = 0; tools && i < tools->size(); ++i) {
    const std::string where = fmt::format("tools.{}", i);
    if (!(*tools)[i].is_object()) return wrong_type(where, "an object");
    ANEDVD_TRY(const auto type, Fields((*tools)[i], where).text("type"));
    if (type && *type != "custom")
      tell_verbose("tools: {} is a tool of Anthropic's servers; passed over", visible(*type, 60));
    else
      has_own = true;
  }
  if (has_own && kind != "none") return not_supported("tools", "this version cannot call tools");
  if (!has_own && (kind == "any" || kind == "tool"))
    return bad_value("tool_choice", "there are no tools to choose from");
  return {};
}

// thinking and output_config, as far as templates know them.
ApiResult<std::shared_ptr<const Json>> template_extra(const Fields& fields) {
  Json extra = Json::object();
  ANEDVD_TRY(const Json* thinking, fields.object("thinking"));
  if (thinking) {
    ANEDVD_TRY(const auto type, Fields(*thinking, "thinking").text("type"));
    if (!type) return missing("thinking.type");
    if (*type != "enabled" && *type != "disabled" && *type != "adaptive")
      return bad_value("thinking.type", "enabled, disabled or adaptive is expected");
    ANEDVD_TRY_VOID(Fields(*thinking, "thinking").integer("budget_tokens", 1, Fields::kAny));
    extra["enable_thinking"] = *type != "disabled";
  }
  ANEDVD_TRY(const Json* output, fields.object("output_config"));
  if (output) {
    const Fields config(*output, "output_config");
    if (config.has("format"))
      return not_supported("output_config.format", "this version cannot constrain answers to JSON");
    ANEDVD_TRY(const auto effort, config.text("effort"));
    if (effort) extra["reasoning_effort"] = *effort;
  }
  if (fields.has("output_format"))
    return not_supported("output_format", "this version cannot constrain answers to JSON");
  if (extra.empty()) return std::shared_ptr<const Json>();
  return std::make_shared<const Json>(std::move(extra));
}

}  // namespace

ApiResult<Json> read_anthropic_messages(const Json& body) {
  const Fields fields(body);
  ANEDVD_TRY(const Json* given, fields.array("messages"));
  if (!given) return missing("messages");
  if (given->empty()) return bad_value("messages", "at least one message is expected");
  Json messages = Json::array();
  ANEDVD_TRY(const std::string system, system_text(fields));
  if (!system.empty()) messages.push_back({{"role", "system"}, {"content", system}});
  for (size_t i = 0; i < given->size(); ++i) {
    const std::string where = fmt::format("messages.{}", i);
    if (!(*given)[i].is_object()) return wrong_type(where, "an object");
    const Fields message((*given)[i], where);
    ANEDVD_TRY(const auto role, message.text("role"));
    if (!role) return missing(message.path("role"));
    if (*role != "user" && *role != "assistant" && *role != "system")
      return bad_value(message.path("role"), "user, assistant or system is expected");
    const Json* content = message.find("content");
    if (!content) return missing(message.path("content"));
    Turn turn;
    if (content->is_string()) {
      turn.text = content->get<std::string>();
    } else if (content->is_array()) {
      for (size_t j = 0; j < content->size(); ++j)
        ANEDVD_TRY_VOID(read_block((*content)[j], fmt::format("{}.{}", message.path("content"), j), turn));
    } else {
      return wrong_type(message.path("content"), "a string or an array of blocks");
    }
    append_turn(messages, *role, std::move(turn));
  }
  if (messages.empty()) return bad_value("messages", "they hold no text");
  return messages;
}

ApiResult<GenerationJob> read_messages_request(const Json& body, const RequestDefaults& defaults, bool counts_only) {
  const Fields fields(body);
  GenerationJob job;
  job.kind = "messages";
  job.dialect = ApiDialect::kAnthropic;
  job.version = defaults.version;
  job.split_reasoning = defaults.split_reasoning;
  job.id_prefix = "msg_";
  ANEDVD_TRY(const auto model, fields.text("model"));
  job.model = model.value_or("");
  ANEDVD_TRY(const auto max_tokens, fields.integer("max_tokens", 1, Fields::kAny));
  if (!max_tokens && !counts_only) return missing("max_tokens");
  job.request.max_tokens = int(std::min<int64_t>(max_tokens.value_or(1), 1 << 30));
  ANEDVD_TRY(Json messages, read_anthropic_messages(body));
  job.messages = std::make_shared<const Json>(std::move(messages));
  const int limit = job.request.max_tokens;
  ANEDVD_TRY_VOID(read_sampling(fields, defaults, job.request));
  job.request.max_tokens = limit;
  ANEDVD_TRY(const Json* stop, fields.array("stop_sequences"));
  if (stop) {
    ANEDVD_TRY(job.request.stop, read_stop(fields, "stop_sequences", 64));
  }
  ANEDVD_TRY_VOID(refuse_tools(fields));
  ANEDVD_TRY(job.extra, template_extra(fields));
  ANEDVD_TRY(const auto stream, fields.boolean("stream"));
  job.stream = stream.value_or(false);
  ANEDVD_TRY(job.truncate, read_truncation(fields, defaults));
  return job;
}

}  // namespace anedvd
