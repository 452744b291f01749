#include "text/chat_template.h"

#include <algorithm>
#include <array>
#include <limits>

#include <nlohmann/json.hpp>

#include "text/jinja/evaluator.h"
#include "text/jinja/parser.h"
#include "text/jinja/refusal.h"

namespace anedvd {
namespace {

using jinja::Trust;
using jinja::Value;
using Json = nlohmann::ordered_json;

// Names a caller can't abuse: a template that writes '<|' + role + '|>' means its own token.
constexpr std::array<std::string_view, 9> kRoles = {"system",   "user",    "assistant",   "tool", "developer",
                                                    "function", "ipython", "observation", "model"};

Result<Value> convert(jinja::Evaluator& evaluator, const Json& json, int depth) {
  if (depth > jinja::kMaxValueDepth - 20) return fail(ErrorCode::kUnsupported, "the messages nest too deep");
  switch (json.type()) {
    case Json::value_t::null: return Value::none();
    case Json::value_t::boolean: return Value::boolean(json.get<bool>());
    case Json::value_t::number_integer: return Value::integer(json.get<int64_t>());
    case Json::value_t::number_unsigned:
      if (json.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        return fail(ErrorCode::kUnsupported, "the number {} does not fit 64 bits", json.get<uint64_t>());
      }
      return Value::integer(json.get<int64_t>());
    case Json::value_t::number_float: return Value::real(json.get<double>());
    case Json::value_t::string: return evaluator.make_text(json.get_ref<const std::string&>(), Trust::kUser);
    case Json::value_t::array: {
      std::vector<Value> items;
      items.reserve(json.size());
      for (const Json& item : json) {
        ANEDVD_TRY(auto value, convert(evaluator, item, depth + 1));
        items.push_back(std::move(value));
      }
      return evaluator.make_list(std::move(items));
    }
    case Json::value_t::object: {
      auto dict = std::make_shared<jinja::Dict>();
      for (const auto& [name, item] : json.items()) {
        ANEDVD_TRY(auto key, evaluator.make_text(name, Trust::kUser));
        ANEDVD_TRY(auto value, convert(evaluator, item, depth + 1));
        dict->put(std::move(key), std::move(value));
      }
      return evaluator.make_dict(std::move(dict));
    }
    default: return fail(ErrorCode::kUnsupported, "a value that is no JSON");
  }
}

// One message: a usual role is trusted, and reasoning goes by both names that templates ask for.
Result<Value> convert_message(jinja::Evaluator& evaluator, const Json& json) {
  if (!json.is_object()) return convert(evaluator, json, 1);
  auto dict = std::make_shared<jinja::Dict>();
  for (const auto& [name, item] : json.items()) {
    ANEDVD_TRY(auto key, evaluator.make_text(name, Trust::kUser));
    ANEDVD_TRY(auto value, convert(evaluator, item, 2));
    if (name == "role" && value.is_string() && std::find(kRoles.begin(), kRoles.end(), value.bytes()) != kRoles.end()) {
      ANEDVD_TRY(value, evaluator.make_text(value.bytes(), Trust::kTemplate));
    }
    dict->put(std::move(key), std::move(value));
  }
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {{"reasoning_content", "thinking"},
                                                                      {"thinking", "reasoning_content"}};
  for (const auto& [from, to] : kNames) {
    const Value* reasoning = dict->find(from);
    if (!reasoning || !reasoning->is_string() || dict->find(to)) continue;
    const Value copy = *reasoning;
    ANEDVD_TRY(auto key, evaluator.make_text(to, Trust::kUser));
    dict->put(std::move(key), copy);
  }
  return evaluator.make_dict(std::move(dict));
}

Result<> define_input(jinja::Evaluator& evaluator, const ChatInput& input) {
  std::vector<Value> messages;
  if (input.messages) {
    if (!input.messages->is_array()) return fail(ErrorCode::kUsage, "messages must be a list");
    for (const Json& message : *input.messages) {
      ANEDVD_TRY(auto value, convert_message(evaluator, message));
      messages.push_back(std::move(value));
    }
  }
  ANEDVD_TRY(auto list, evaluator.make_list(std::move(messages)));
  evaluator.define("messages", std::move(list));
  for (const auto& [name, json] : {std::pair("tools", input.tools), std::pair("documents", input.documents)}) {
    Value value = Value::none();
    if (json) {
      ANEDVD_TRY(value, convert(evaluator, *json, 0));
    }
    evaluator.define(name, std::move(value));
  }
  evaluator.define("add_generation_prompt", Value::boolean(input.add_generation_prompt));
  for (const auto& [name, token] : input.special_tokens) {
    ANEDVD_TRY(auto value, evaluator.make_text(token, Trust::kTemplate));
    evaluator.define(name, std::move(value));
  }
  if (!input.extra) return {};
  if (!input.extra->is_object()) return fail(ErrorCode::kUsage, "the template's extra variables must be an object");
  for (const auto& [name, json] : input.extra->items()) {
    ANEDVD_TRY(auto value, convert(evaluator, json, 0));
    evaluator.define(name, std::move(value));
  }
  return {};
}

Result<jinja::Text> render_text(const jinja::Tree& tree, const ChatInput& input) {
  jinja::Limits limits;
  if (input.max_steps > 0) limits.steps = input.max_steps;
  jinja::Evaluator evaluator(tree, limits, input.now);
  ANEDVD_TRY_VOID(define_input(evaluator, input));
  return evaluator.run();
}

}  // namespace

Result<ChatTemplate> ChatTemplate::parse(std::string_view source, std::string_view name) {
  auto tree = jinja::parse_template(source);
  if (!tree) return fail_in(name, std::move(tree).error());
  return ChatTemplate(std::string(name), std::make_shared<const jinja::Tree>(std::move(*tree)));
}

Result<std::string> ChatTemplate::render(const ChatInput& input) const {
  auto text = render_text(*tree_, input);
  if (!text) return fail_in(name_, std::move(text).error());
  return std::move(text->bytes);
}

Result<RenderedText> ChatTemplate::render_marked(const ChatInput& input) const {
  auto text = render_text(*tree_, input);
  if (!text) return fail_in(name_, std::move(text).error());
  RenderedText rendered;
  const size_t size = text->bytes.size();
  rendered.text = std::move(text->bytes);
  if (text->runs.empty() && size > 0) rendered.spans.push_back({0, size, text->trust == Trust::kTemplate});
  size_t begin = 0;
  for (const jinja::Run& run : text->runs) {
    rendered.spans.push_back({begin, run.end, run.trust == Trust::kTemplate});
    begin = run.end;
  }
  return rendered;
}

std::string_view template_refusal(const Error& error) {
  const size_t at = error.code == ErrorCode::kBadFile ? error.message.find(jinja::kRefusalPrefix) : std::string::npos;
  return at == std::string::npos ? std::string_view()
                                 : std::string_view(error.message).substr(at + jinja::kRefusalPrefix.size());
}

}  // namespace anedvd
