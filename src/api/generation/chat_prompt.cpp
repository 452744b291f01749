#include "api/generation/chat_prompt.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "api/fields.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kBetween = "\n\n";

std::string text_of(const Json& message, const char* key) {
  const auto value = message.find(key);
  return value != message.end() && value->is_string() ? value->get<std::string>() : std::string();
}

bool is_role(const Json& message, std::string_view role) { return text_of(message, "role") == role; }

std::string joined(const std::string& first, const std::string& second) {
  if (first.empty() || second.empty()) return first + second;
  return first + std::string(kBetween) + second;
}

// A failed template is the client's fault if the template says so, and never a reason to ask again.
tl::unexpected<ApiError> template_fault(const Error& error) {
  const std::string_view refusal = template_refusal(error);
  return refuse({.code = "template_error",
                 .param = "messages",
                 .message = refusal.empty()
                                ? fmt::format("The chat template cannot take these messages: {}",
                                              error.message.substr(error.message.find("line ") == std::string::npos
                                                                       ? 0
                                                                       : error.message.find("line ")))
                                : std::string(refusal)});
}

bool continues_last(const Json& messages) {
  return !messages.empty() && is_role(messages.back(), "assistant") && !text_of(messages.back(), "content").empty() &&
         !messages.back().contains("tool_calls");
}

Result<RenderedText> render_once(const Conversation& conversation, const ChatPromptInput& input, const Json& messages,
                                 bool may_fold_system) {
  ConversationInput chat;
  chat.messages = &messages;
  chat.may_fold_system = may_fold_system;
  chat.tools = input.tools;
  chat.extra = input.extra;
  chat.continue_last = input.add_generation_prompt && continues_last(messages);
  chat.add_generation_prompt = input.add_generation_prompt;
  return conversation.render(chat);
}

// An assistant turn without words at the end says only that it is the assistant's turn.
Json without_empty_end(const Json& messages) {
  Json copy = messages;
  if (!copy.empty() && is_role(copy.back(), "assistant") && text_of(copy.back(), "content").empty() &&
      !copy.back().contains("tool_calls"))
    copy.erase(copy.size() - 1);
  return copy;
}

// Index of the oldest message that may go, or npos: system messages and the last one stay.
size_t oldest_to_drop(const Json& messages) {
  for (size_t i = 0; i + 1 < messages.size(); ++i)
    if (!is_role(messages[i], "system")) return i;
  return std::string::npos;
}

// Cuts the beginning of a text by about `tokens`.
std::string without_beginning(const Tokenizer& tokenizer, const std::string& text, size_t tokens) {
  const std::vector<Token> ids = tokenizer.encode(text, Specials::kAsText);
  if (tokens >= ids.size()) return {};
  std::string bytes;
  for (size_t i = tokens; i < ids.size(); ++i) tokenizer.append_bytes(ids[i], bytes);
  size_t start = 0;
  while (start < bytes.size() && (uint8_t(bytes[start]) & 0xc0) == 0x80) ++start;  // not in the middle of a character
  return bytes.substr(start);
}

// Drops the oldest messages that hold `tokens` together, less the one that would be too many: the rest is cut exactly.
void drop_about(const Tokenizer& tokenizer, Json& messages, int tokens) {
  while (true) {
    const size_t index = oldest_to_drop(messages);
    if (index == std::string::npos) return;
    tokens -= int(tokenizer.encode(text_of(messages[index], "content"), Specials::kAsText).size());
    if (tokens < 0) return;
    messages.erase(index);
  }
}

}  // namespace

Json with_systems_merged(const Json& messages) {
  Json merged = Json::array();
  std::string leading, waiting;
  bool is_leading = true;
  for (const Json& message : messages) {
    if (is_role(message, "system")) {
      std::string& place = is_leading ? leading : waiting;
      place = joined(place, text_of(message, "content"));
      continue;
    }
    if (is_leading && !leading.empty()) merged.push_back({{"role", "system"}, {"content", leading}});
    is_leading = false;
    merged.push_back(message);
    if (!waiting.empty() && is_role(message, "user")) {
      merged.back()["content"] = joined(waiting, text_of(message, "content"));
      waiting.clear();
    }
  }
  if (is_leading && !leading.empty()) merged.push_back({{"role", "system"}, {"content", leading}});
  if (!waiting.empty()) merged.push_back({{"role", "user"}, {"content", waiting}});
  return merged;
}

Json with_neighbours_merged(const Json& messages) {
  Json merged = Json::array();
  for (const Json& message : messages) {
    const bool is_plain = message.size() == 2 && message.contains("content");
    const bool is_same = !merged.empty() && merged.back().size() == 2 && is_plain &&
                         text_of(merged.back(), "role") == text_of(message, "role") && !is_role(message, "tool");
    if (is_same)
      merged.back()["content"] = joined(text_of(merged.back(), "content"), text_of(message, "content"));
    else
      merged.push_back(message);
  }
  return merged;
}

ApiResult<ChatPrompt> render_chat(const ServedModel& model, const ChatPromptInput& input) {
  const auto conversation = model.conversation();
  if (!conversation)
    return refuse(
        {.code = "template_error", .param = "messages", .message = "The model's chat template cannot be used."});
  const Json messages = without_empty_end(*input.messages);
  Json shown = messages;
  auto rendered = render_once(**conversation, input, messages, false);
  if (!rendered && !template_refusal(rendered.error()).empty()) {
    const Json merged = with_systems_merged(messages), joined_too = with_neighbours_merged(merged);
    // The gentlest change that the template takes. Refused in any form: the first words are about what the client sent.
    const std::pair<const Json*, bool> forms[] = {
        {&merged, false}, {&joined_too, false}, {&merged, true}, {&joined_too, true}};
    for (const auto& [form, may_fold] : forms) {
      auto again = render_once(**conversation, input, *form, may_fold);
      if (!again) continue;
      rendered = std::move(again);
      shown = *form;
      break;
    }
  }
  if (!rendered) return template_fault(rendered.error());
  ChatPrompt prompt;
  prompt.ids = model.tokenizer().encode_marked(rendered->text, rendered->spans);
  prompt.text = std::move(rendered->text);
  prompt.messages = json_text(shown);
  return prompt;
}

ApiResult<> check_fits(const ServedModel& model, size_t tokens, int needs_room, std::string_view param) {
  if (tokens + size_t(needs_room) > size_t(model.context()))
    return refuse(prompt_too_long(int(std::min<size_t>(tokens, 1 << 30)), model.context(), param));
  return {};
}

ApiResult<ChatPrompt> make_chat_prompt(const ServedModel& model, const ChatPromptInput& input) {
  ANEDVD_TRY(ChatPrompt prompt, render_chat(model, input));
  if (prompt.ids.empty()) return bad_value(input.param, "the chat template makes an empty prompt of it");
  const auto fits = check_fits(model, prompt.ids.size(), 1, input.param);
  if (fits) return prompt;
  if (!input.truncate) return refuse(fits.error());

  // Room for the answer: a sixteenth of the context, more if more is asked for, but never over a quarter.
  const int context = model.context();
  const int room = std::clamp(input.max_tokens, std::max(1, context / 16), std::max(1, context / 4));
  const int limit = context - room, whole = int(prompt.ids.size());
  Json messages = *input.messages;
  drop_about(model.tokenizer(), messages, whole - limit);
  ChatPromptInput shorter = input;
  shorter.messages = &messages;
  if (auto next = render_chat(model, shorter)) prompt = std::move(*next);
  while (int(prompt.ids.size()) > limit) {
    const size_t index = oldest_to_drop(messages);
    if (index != std::string::npos) {
      messages.erase(index);
    } else {
      Json& last = messages.back();
      const std::string kept =
          without_beginning(model.tokenizer(), text_of(last, "content"), size_t(int(prompt.ids.size()) - limit));
      if (kept.empty()) return refuse(fits.error());  // the system text alone is too long
      last["content"] = kept;
    }
    auto next = render_chat(model, shorter);
    // Some templates insist on a user's message first: then the next one goes too.
    if (!next && oldest_to_drop(messages) == std::string::npos) return refuse(next.error());
    if (next) prompt = std::move(*next);
  }
  prompt.dropped = whole - int(prompt.ids.size());
  return prompt;
}

std::vector<Token> encode_raw(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<Token> ids = tokenizer.encode(text, Specials::kAsTokens);
  if (tokenizer.adds_bos() && tokenizer.bos() && (ids.empty() || ids.front() != *tokenizer.bos()))
    ids.insert(ids.begin(), *tokenizer.bos());
  return ids;
}

}  // namespace anedvd
