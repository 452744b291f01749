#include "api/generation/chat_prompt.h"

#include <algorithm>
#include <optional>
#include <vector>

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

// Shorter forms of a conversation: the oldest messages go first, those of the system and the last one stay.
class Shortened {
 public:
  Shortened(const ServedModel& model, const ChatPromptInput& input, size_t limit)
      : model_(model), input_(input), limit_(limit) {
    for (size_t i = 0; i < input.messages->size(); ++i) {
      const bool stays = i + 1 == input.messages->size() || is_role((*input.messages)[i], "system");
      (stays ? staying_ : movable_).push_back(i);
    }
  }

  // The longest form within the limit; if not even the last message alone is, with that one's beginning cut off. nullopt: the system's text is
  // too long alone.
  ApiResult<std::optional<ChatPrompt>> longest() {
    size_t fits = 0, too_many = movable_.size() + 1;
    bool is_bounded = false;
    std::optional<ChatPrompt> best;
    while (fits + 1 < too_many) {
      // From few to many: what a form costs is bounded by the context, not by the conversation.
      const size_t kept =
          is_bounded ? fits + (too_many - fits) / 2 : std::min(std::max<size_t>(2 * fits, 1), too_many - 1);
      if (try_newest(kept, best)) {
        fits = kept;
      } else {
        too_many = kept;
        is_bounded = true;
      }
    }
    if (best) return best;
    return last_cut();
  }

 private:
  Json newest(size_t kept) const {
    std::vector<size_t> indices = staying_;
    indices.insert(indices.end(), movable_.end() - std::ptrdiff_t(kept), movable_.end());
    std::sort(indices.begin(), indices.end());
    Json messages = Json::array();
    for (const size_t index : indices) messages.push_back((*input_.messages)[index]);
    return messages;
  }

  // Whether the `kept` newest fit; then they are in `best`. Some templates insist on a user's message first, and a tool's result says nothing without
  // its call: then a message or two more go.
  bool try_newest(size_t kept, std::optional<ChatPrompt>& best) const {
    for (int more = 0; more < kMostMore && kept > 0; ++more, --kept) {
      if (is_role((*input_.messages)[movable_[movable_.size() - kept]], "tool")) continue;
      auto prompt = render(newest(kept));
      if (!prompt) continue;
      if (prompt->ids.size() > limit_) return false;
      best = std::move(*prompt);
      return true;
    }
    return true;  // no form; a longer one may be
  }

  ApiResult<std::optional<ChatPrompt>> last_cut() const {
    Json messages = newest(0);
    ANEDVD_TRY(ChatPrompt prompt, render(messages));
    while (prompt.ids.size() > limit_) {
      Json& last = messages.back();
      const std::string kept =
          without_beginning(model_.tokenizer(), text_of(last, "content"), prompt.ids.size() - limit_);
      if (kept.empty()) return std::optional<ChatPrompt>();
      last["content"] = kept;
      ANEDVD_TRY(prompt, render(messages));
    }
    return std::optional<ChatPrompt>(std::move(prompt));
  }

  ApiResult<ChatPrompt> render(const Json& messages) const {
    ChatPromptInput shorter = input_;
    shorter.messages = &messages;
    return render_chat(model_, shorter);
  }

  static constexpr int kMostMore = 4;

  const ServedModel& model_;
  const ChatPromptInput& input_;
  const size_t limit_;
  std::vector<size_t> staying_, movable_;  // indices of messages
};

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
  ANEDVD_TRY(std::optional<ChatPrompt> shorter, Shortened(model, input, size_t(context - room)).longest());
  if (!shorter) return refuse(fits.error());
  shorter->dropped = int(prompt.ids.size()) - int(shorter->ids.size());
  return std::move(*shorter);
}

std::vector<Token> encode_raw(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<Token> ids = tokenizer.encode(text, Specials::kAsTokens);
  add_bos(tokenizer, ids);
  return ids;
}

}  // namespace anedvd
