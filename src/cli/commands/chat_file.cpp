#include "cli/commands/chat_file.h"

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/words.h"
#include "cli/terminal/input.h"

namespace anedvd {

using Json = nlohmann::ordered_json;

struct ChatFile::Parts {
  Json messages, tools, extra = Json::object();
  bool add_generation_prompt = true;
};

ChatFile::ChatFile(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
ChatFile::ChatFile(ChatFile&&) noexcept = default;
ChatFile::~ChatFile() = default;

Result<ChatFile> ChatFile::read(const std::string& path) {
  const std::string where = path == "-" ? "standard input" : visible(path);
  ANEDVD_TRY(const std::string text, read_input(path));
  ANEDVD_TRY(Json json, parse_ordered_json(text, where));
  if (!json.is_object() || !json.contains("messages") || !json["messages"].is_array())
    return fail(
        ErrorCode::kBadFile,
        "{}: no \"messages\" that is an array; write {{\"messages\": [{{\"role\": \"user\", \"content\": \"…\"}}]}}",
        where);
  auto parts = std::make_unique<Parts>();
  for (auto& [key, value] : json.items()) {
    if (key == "messages") {
      parts->messages = std::move(value);
    } else if (key == "tools") {
      if (!value.is_null() && !value.is_array()) return fail(ErrorCode::kBadFile, "{}: \"tools\" is no array", where);
      parts->tools = std::move(value);
    } else if (key == "add_generation_prompt") {
      if (!value.is_boolean())
        return fail(ErrorCode::kBadFile, "{}: \"add_generation_prompt\" is neither true nor false", where);
      parts->add_generation_prompt = value.get<bool>();
    } else {
      parts->extra[key] = std::move(value);
    }
  }
  for (const Json& message : parts->messages)
    if (!message.is_object()) return fail(ErrorCode::kBadFile, "{}: an entry of \"messages\" is no object", where);
  return ChatFile(std::move(parts));
}

ConversationInput ChatFile::input() const {
  ConversationInput input;
  input.messages = &parts_->messages;
  input.tools = parts_->tools.is_null() ? nullptr : &parts_->tools;
  input.extra = &parts_->extra;
  input.add_generation_prompt = parts_->add_generation_prompt;
  return input;
}

}  // namespace anedvd
