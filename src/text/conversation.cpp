#include "text/conversation.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/words.h"
#include "text/hf_tokenizer.h"
#include "text/template_sources.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kChatml =
    "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + (message.content or '') + '<|im_end|>\n' "
    "}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

constexpr std::string_view kPlainName = "plain";
constexpr std::string_view kPlain =
    "{{ bos_token }}{% for message in messages %}{{ message.role | capitalize }}: {{ message.content or '' }}\n\n{% "
    "endfor %}"
    "{% if add_generation_prompt %}Assistant:{% endif %}";

Result<std::string> read_template_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad()) return fail(ErrorCode::kIo, "{}: cannot be read", path.string());
  return text;
}

std::string names_of(const std::vector<NamedTemplate>& templates) {
  std::string names = "chatml, plain";
  for (const NamedTemplate& named : templates) names += ", " + visible(named.name, 40);
  return names;
}

std::tm local_now() {
  const std::time_t now = std::time(nullptr);
  std::tm result{};
  ::localtime_r(&now, &result);
  return result;
}

const std::string* text_of(const Json& message, const char* key) {
  if (!message.is_object()) return nullptr;
  const auto value = message.find(key);
  return value != message.end() && value->is_string() ? value->get_ptr<const std::string*>() : nullptr;
}

// The messages without a leading system turn, its text put at the head of the first user message; nullopt if there is nothing to fold.
std::optional<Json> fold_system(const Json& messages) {
  if (!messages.is_array() || messages.empty()) return std::nullopt;
  const std::string* role = text_of(messages[0], "role");
  const std::string* system = text_of(messages[0], "content");
  if (role == nullptr || *role != "system" || system == nullptr) return std::nullopt;
  Json folded = Json::array();
  bool done = false;
  for (size_t i = 1; i < messages.size(); ++i) {
    Json message = messages[i];
    const std::string* sender = text_of(message, "role");
    const std::string* content = text_of(message, "content");
    if (!done && sender != nullptr && *sender == "user" && content != nullptr) {
      message["content"] = *system + "\n\n" + *content;
      done = true;
    }
    folded.push_back(std::move(message));
  }
  if (!done) return std::nullopt;
  return folded;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\r\f\v";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// Ends the text inside its last message. White space at the message's end goes, as templates strip it in other turns.
bool end_inside(RenderedText& rendered, std::string_view message) {
  const std::string_view wanted = trimmed(message);
  const size_t at = rendered.text.rfind(wanted);
  if (at == std::string::npos) return false;
  const size_t end = at + wanted.size();
  rendered.text.resize(end);
  while (!rendered.spans.empty() && rendered.spans.back().begin >= end) rendered.spans.pop_back();
  if (!rendered.spans.empty()) rendered.spans.back().end = std::min(rendered.spans.back().end, end);
  return true;
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> make_tokenizer(const TensorSource& source) {
  if (source.kind() == SourceKind::kHuggingFace) return make_hf_tokenizer(source.path());
  return make_gguf_tokenizer(source.config(), source.path().string());
}

Result<Conversation> Conversation::make(const TensorSource& source, const Tokenizer& tokenizer,
                                        std::string_view choice) {
  const std::string file = source.path().string();
  ANEDVD_TRY(auto specials, find_special_tokens(source, tokenizer));
  ANEDVD_TRY(const std::vector<NamedTemplate> templates, find_templates(source));
  const auto parsed = [&](std::string_view text, const std::string& name, std::string origin) -> Result<Conversation> {
    ANEDVD_TRY(ChatTemplate chat_template, ChatTemplate::parse(text, name));
    return Conversation(std::move(chat_template), std::move(origin), specials);
  };
  if (choice == "chatml") return parsed(kChatml, "chatml", "chatml");
  if (choice == kPlainName) return parsed(kPlain, "plain", std::string(kPlainName));
  const std::string_view wanted = choice.empty() ? "default" : choice;
  const auto named =
      std::find_if(templates.begin(), templates.end(), [&](const NamedTemplate& t) { return t.name == wanted; });
  if (named != templates.end())
    return parsed(named->source, visible(file) + ": chat template",
                  choice.empty() ? "the model's own" : std::string(choice));
  if (!choice.empty()) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(choice, error))
      return fail(ErrorCode::kNotFound,
                  "--chat-template {}: neither a file nor a name; give a template file, or one of {}",
                  visible(choice, 80), names_of(templates));
    ANEDVD_TRY(const std::string text, read_template_file(choice));
    return parsed(text, visible(choice, 80), std::string(choice));
  }
  const bool has_chatml = tokenizer.find("<|im_start|>") && tokenizer.find("<|im_end|>");
  warn("{}: no chat template; using {}, --chat-template chooses another", visible(file),
       has_chatml ? "ChatML" : "a plain transcript");
  return has_chatml ? parsed(kChatml, "chatml", "chatml") : parsed(kPlain, "plain", std::string(kPlainName));
}

std::vector<std::string> Conversation::turn_starts() const {
  if (origin_ != kPlainName) return {};
  return {"\n\nUser:", "\n\nSystem:", "\n\nAssistant:", "\n\nTool:"};
}

Result<RenderedText> Conversation::render_as_is(const ConversationInput& input) const {
  ChatInput chat;
  chat.messages = input.messages;
  chat.tools = input.tools;
  chat.extra = input.extra;
  chat.special_tokens = special_tokens_;
  chat.add_generation_prompt = input.add_generation_prompt && !input.continue_last;
  chat.now = local_now();
  return template_.render_marked(chat);
}

Result<RenderedText> Conversation::render(const ConversationInput& input) const {
  auto rendered = render_as_is(input);
  if (!rendered && input.may_fold_system && !template_refusal(rendered.error()).empty() && input.messages != nullptr) {
    if (const std::optional<Json> folded = fold_system(*input.messages)) {
      ConversationInput again = input;
      again.messages = &*folded;
      // Still refused: it was not the system role that was wrong, so the first error tells more.
      if (auto second = render_as_is(again)) rendered = std::move(second);
    }
  }
  if (!rendered || !input.continue_last || input.messages == nullptr || input.messages->empty()) return rendered;
  const std::string* last = text_of(input.messages->back(), "content");
  if (last == nullptr || !end_inside(*rendered, *last))
    return fail(ErrorCode::kUsage,
                "messages: the chat template does not keep the last message as it is, so it cannot be continued");
  return rendered;
}

Result<std::vector<Token>> Conversation::encode(const Tokenizer& tokenizer, const ConversationInput& input) const {
  ANEDVD_TRY(const RenderedText rendered, render(input));
  return tokenizer.encode_marked(rendered.text, rendered.spans);
}

}  // namespace anedvd
