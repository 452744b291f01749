#include "cli/chat/chat_export.h"

#include <algorithm>
#include <ctime>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/words.h"
#include "cli/version.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "anedvd-chats";

std::string iso_time(int64_t ms) {
  const std::time_t seconds = std::time_t(ms / 1000);
  std::tm utc = {};
  gmtime_r(&seconds, &utc);
  char text[32];
  const size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return {text, length};
}

Json null_or(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json message_json(const ChatMessage& message) {
  Json json = {{"id", message.id},       {"parent", null_or(message.parent)},
               {"role", message.role},   {"text", message.text},
               {"state", message.state}, {"created", message.created}};
  if (!message.reasoning.empty()) json["reasoning"] = message.reasoning;
  if (!message.model.empty()) json["model"] = message.model;
  if (!message.finish.empty()) json["finish"] = message.finish;
  if (message.completion_tokens > 0 || message.prompt_tokens > 0)
    json["usage"] = {{"prompt_tokens", message.prompt_tokens}, {"completion_tokens", message.completion_tokens}};
  return json;
}

std::string text_at(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

bool flag_at(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_boolean() && it->get<bool>();
}

// A whole number that a double or an integer may hold; 0 for anything else.
int64_t number_at(const Json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end() || !it->is_number()) return 0;
  const double value = it->get<double>();
  return value > -9e15 && value < 9e15 ? int64_t(value) : 0;
}

// "text" of the page, "content" of the APIs: a string, or parts of which the text ones count.
std::optional<std::string> message_text(const Json& message) {
  for (const char* key : {"text", "content"}) {
    const auto it = message.find(key);
    if (it == message.end()) continue;
    if (it->is_string()) return it->get<std::string>();
    if (!it->is_array()) continue;
    std::string text;
    for (const Json& part : *it)
      if (part.is_object()) text += text_at(part, "text");
    return text;
  }
  return std::nullopt;
}

std::string known_state(const std::string& state) {
  for (const char* known : {"complete", "stopped", "length", "interrupted", "error"})
    if (state == known) return state;
  // A tab that closed in the middle of an answer leaves "generating".
  return state == "generating" ? "interrupted" : "complete";
}

struct RawMessage {
  ChatMessage message;
  bool has_parent_key = false;
};

// Parents before children, each message once; what no root leads to (a circle) is cut from its parent.
void order_by_parents(std::vector<RawMessage>& raw, ChatLog& log) {
  std::unordered_map<std::string, size_t> by_id;
  for (size_t i = 0; i < raw.size(); ++i) by_id.emplace(raw[i].message.id, i);
  std::unordered_map<size_t, std::vector<size_t>> children;
  std::vector<size_t> roots;
  for (size_t i = 0; i < raw.size(); ++i) {
    const auto parent = by_id.find(raw[i].message.parent);
    if (raw[i].message.parent.empty() || parent == by_id.end() || parent->second == i) {
      raw[i].message.parent.clear();
      roots.push_back(i);
    } else {
      children[parent->second].push_back(i);
    }
  }
  std::vector<bool> is_placed(raw.size(), false);
  const auto place_from = [&](size_t root) {
    std::vector<size_t> open{root};
    while (!open.empty()) {
      const size_t i = open.back();
      open.pop_back();
      if (is_placed[i]) continue;
      is_placed[i] = true;
      log.messages.push_back(raw[i].message);
      const auto below = children.find(i);
      if (below == children.end()) continue;
      for (auto it = below->second.rbegin(); it != below->second.rend(); ++it) open.push_back(*it);
    }
  };
  for (const size_t root : roots) place_from(root);
  for (size_t i = 0; i < raw.size(); ++i) {
    if (is_placed[i]) continue;
    raw[i].message.parent.clear();
    place_from(i);
  }
}

// The branch that ends at `leaf`, or at the message that came last when there is no such id.
void show_branch(ChatLog& log, const std::string& leaf, const std::string& last_id) {
  std::unordered_map<std::string, size_t> by_id;
  for (size_t i = 0; i < log.messages.size(); ++i) by_id.emplace(log.messages[i].id, i);
  auto at = by_id.find(leaf);
  if (at == by_id.end()) at = by_id.find(last_id);
  while (at != by_id.end()) {
    log.branch.push_back(at->second);
    const std::string& parent = log.messages[at->second].parent;
    at = parent.empty() ? by_id.end() : by_id.find(parent);
  }
  std::reverse(log.branch.begin(), log.branch.end());
}

// The message, nullopt for one that is not part of a chat (a tool's), or what is wrong with it.
tl::expected<std::optional<RawMessage>, std::string> read_message(const Json& json, size_t number, ChatLog& log) {
  if (!json.is_object()) return tl::unexpected(fmt::format("message {} is no object", number));
  const auto text = message_text(json);
  if (!text) return tl::unexpected(fmt::format("message {} has no text", number));
  const std::string role = text_at(json, "role");
  if (role == "system" || role == "developer") {
    if (log.system.empty()) log.system = *text;
    return std::nullopt;
  }
  if (role != "user" && role != "assistant") return std::nullopt;
  RawMessage raw;
  raw.has_parent_key = json.contains("parent");
  ChatMessage& message = raw.message;
  message.id = text_at(json, "id");
  message.parent = text_at(json, "parent");
  message.role = role;
  message.text = *text;
  message.reasoning = text_at(json, "reasoning");
  message.state = known_state(text_at(json, "state"));
  message.finish = text_at(json, "finish");
  message.model = text_at(json, "model");
  message.created = number_at(json, "created");
  if (const auto usage = json.find("usage"); usage != json.end() && usage->is_object()) {
    message.prompt_tokens = number_at(*usage, "prompt_tokens");
    message.completion_tokens = number_at(*usage, "completion_tokens");
  }
  return raw;
}

tl::expected<ChatLog, std::string> read_chat(const Json& json) {
  if (!json.is_object()) return tl::unexpected(std::string("it is no object"));
  const auto messages = json.find("messages");
  if (messages == json.end() || !messages->is_array()) return tl::unexpected(std::string("it has no messages"));
  ChatLog log;
  log.id = text_at(json, "id");
  if (log.id.empty()) log.id = new_chat_id();
  log.title = text_at(json, "title");
  log.is_titled_by_user = text_at(json, "titled") == "user";
  log.is_pinned = flag_at(json, "pinned");
  log.model = text_at(json, "model");
  log.system = text_at(json, "system");
  log.created = number_at(json, "created");
  log.updated = number_at(json, "updated");
  if (const auto settings = json.find("settings"); settings != json.end() && settings->is_object())
    log.settings = settings->dump(-1, ' ', false, Json::error_handler_t::replace);

  std::vector<RawMessage> raw;
  std::unordered_set<std::string> ids;
  bool is_tree = false;
  for (const Json& entry : *messages) {
    auto message = read_message(entry, size_t(&entry - &messages->front()) + 1, log);
    if (!message) return tl::unexpected(message.error());
    if (!*message) continue;
    is_tree = is_tree || (*message)->has_parent_key;
    std::string& id = (*message)->message.id;
    if (id.empty() || !ids.insert(id).second) ids.insert(id = new_chat_id());
    raw.push_back(std::move(**message));
  }
  if (raw.empty()) return tl::unexpected(std::string("it has no messages"));
  // A bare list of messages is one branch.
  for (size_t i = 1; !is_tree && i < raw.size(); ++i) raw[i].message.parent = raw[i - 1].message.id;
  const std::string last_id = raw.back().message.id;
  order_by_parents(raw, log);
  show_branch(log, text_at(json, "leaf"), last_id);
  return log;
}

}  // namespace

std::string export_chat(const ChatLog& log, int64_t now) {
  Json messages = Json::array();
  for (const ChatMessage& message : log.messages) messages.push_back(message_json(message));
  Json chat = {{"id", log.id},
               {"title", log.title},
               {"titled", log.is_titled_by_user ? "user" : "auto"},
               {"created", log.created},
               {"updated", log.updated},
               {"model", log.model},
               {"system", log.system},
               {"leaf", log.last() ? Json(log.last()->id) : Json(nullptr)},
               {"pinned", log.is_pinned},
               {"settings", parse_ordered_json(log.settings, "settings").value_or(Json::object())},
               {"messages", std::move(messages)}};
  Json file = {{"format", kFormat},
               {"version", kChatFileVersion},
               {"exported", iso_time(now)},
               {"app", fmt::format("anedvd {}", kVersion)},
               {"conversations", Json::array({std::move(chat)})},
               {"settings", Json::object()}};
  return file.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<ChatImport> import_chats(std::string_view text, std::string_view where) {
  if (text.size() > kMaxChatFileBytes)
    return fail(ErrorCode::kBadFile, "{}: {}, a chat file has at most {}", where, size_words(text.size()),
                size_words(kMaxChatFileBytes));
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  ANEDVD_TRY(const Json json, parse_ordered_json(text, where));
  const auto no_chat = [&] {
    return fail(ErrorCode::kBadFile, "{}: no chat in it; give a file of /save or of the page's Export", where);
  };
  if (!json.is_object()) return no_chat();
  ChatImport import;
  import.format = text_at(json, "format");
  const auto take = [&](const Json& chat, const std::string& name) {
    auto log = read_chat(chat);
    if (log)
      import.chats.push_back(std::move(*log));
    else
      import.problems.push_back(name + log.error());
  };
  if (import.format == kFormat) {
    if (number_at(json, "version") > kChatFileVersion)
      return fail(ErrorCode::kUnsupported, "{}: version {} of the chat format; this anedvd reads {}", where,
                  number_at(json, "version"), kChatFileVersion);
    const auto chats = json.find("conversations");
    if (chats == json.end() || !chats->is_array()) return no_chat();
    for (size_t i = 0; i < chats->size(); ++i) take((*chats)[i], fmt::format("chat {}: ", i + 1));
  } else if (json.contains("messages")) {
    import.format.clear();
    take(json, "");
  }
  if (import.chats.empty() && import.problems.empty()) return no_chat();
  if (import.chats.empty()) return fail(ErrorCode::kBadFile, "{}: {}", where, import.problems.front());
  return import;
}

}  // namespace anedvd
