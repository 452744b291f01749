#include "text/chatml.h"

namespace anedvd {
namespace {

constexpr std::string_view kStart = "<|im_start|>";
constexpr std::string_view kEnd = "<|im_end|>";

void append(const std::vector<Token>& tokens, std::vector<Token>& out) {
  out.insert(out.end(), tokens.begin(), tokens.end());
}

// Template source writes a line feed as itself or, inside a string, as backslash n.
std::string unescape_line_feeds(std::string_view source) {
  std::string text;
  for (size_t i = 0; i < source.size(); ++i) {
    if (source.substr(i).starts_with("\\n")) {
      text.push_back('\n');
      ++i;
    } else {
      text.push_back(source[i]);
    }
  }
  return text;
}

}  // namespace

bool is_chatml(std::string_view chat_template) {
  return chat_template.find(kStart) != std::string_view::npos && chat_template.find(kEnd) != std::string_view::npos;
}

std::optional<std::string> chatml_default_system(std::string_view chat_template) {
  const std::string opening = std::string(kStart) + "system";
  for (size_t at = chat_template.find(opening); at != std::string_view::npos;
       at = chat_template.find(opening, at + 1)) {
    std::string_view rest = chat_template.substr(at + opening.size());
    const size_t line_end = rest.starts_with('\n') ? 1 : rest.starts_with("\\n") ? 2 : 0;
    if (line_end == 0) continue;
    rest.remove_prefix(line_end);
    const size_t close = rest.find(kEnd);
    if (close == std::string_view::npos) return std::nullopt;
    const std::string_view text = rest.substr(0, close);
    // A quote or a brace means that the text is put together by the template.
    if (!text.empty() && text.find_first_of("'\"{}") == std::string_view::npos) return unescape_line_feeds(text);
  }
  return std::nullopt;
}

Result<std::vector<Token>> chatml_prompt(const Tokenizer& tokenizer, std::span<const ChatmlMessage> messages,
                                         const ChatmlOptions& options) {
  const auto start = tokenizer.find(kStart);
  const auto end = tokenizer.find(kEnd);
  if (!start || !end) {
    return fail(ErrorCode::kUnsupported, "chat prompt: the vocabulary has no {}; use a raw prompt or another template",
                start ? kEnd : kStart);
  }
  std::vector<Token> out;
  if (tokenizer.adds_bos() && tokenizer.bos()) out.push_back(*tokenizer.bos());
  const std::vector<Token> line_feed = tokenizer.encode("\n", Specials::kAsText);
  const auto turn = [&](std::string_view role, std::string_view content) {
    out.push_back(*start);
    append(tokenizer.encode(std::string(role).append("\n").append(content), Specials::kAsText), out);
    out.push_back(*end);
    append(line_feed, out);
  };
  const bool has_system = !messages.empty() && messages.front().role == "system";
  if (options.default_system && !has_system) turn("system", *options.default_system);
  for (const ChatmlMessage& message : messages) turn(message.role, message.content);
  if (options.generation_prompt) {
    out.push_back(*start);
    append(tokenizer.encode("assistant\n", Specials::kAsText), out);
  }
  return out;
}

}  // namespace anedvd
