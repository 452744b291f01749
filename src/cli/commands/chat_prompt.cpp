#include "cli/commands/chat_prompt.h"

#include <algorithm>

namespace anedvd {

std::vector<Token> PromptParts::joined() const {
  std::vector<Token> all = head;
  all.insert(all.end(), body.begin(), body.end());
  all.insert(all.end(), tail.begin(), tail.end());
  return all;
}

std::optional<PromptParts> chatml_prompt(const Tokenizer& tokenizer, std::string_view system, std::string_view user) {
  const auto start = tokenizer.find("<|im_start|>");
  const auto end = tokenizer.find("<|im_end|>");
  if (!start || !end || !tokenizer.is_control(*start) || !tokenizer.is_control(*end)) return std::nullopt;
  const auto append = [&](std::string_view text, std::vector<Token>& out) {
    const std::vector<Token> ids = tokenizer.encode(text, Specials::kAsText);
    out.insert(out.end(), ids.begin(), ids.end());
  };
  PromptParts parts;
  if (tokenizer.adds_bos() && tokenizer.bos() && tokenizer.bos() != start) parts.head.push_back(*tokenizer.bos());
  if (!system.empty()) {
    parts.head.push_back(*start);
    append("system\n" + std::string(system), parts.head);
    parts.head.push_back(*end);
    append("\n", parts.head);
  }
  parts.head.push_back(*start);
  // One stretch of text: how its first characters are split may depend on the newline before them.
  append("user\n" + std::string(user), parts.body);
  const std::vector<Token> role = tokenizer.encode("user\n", Specials::kAsText);
  if (parts.body.size() >= role.size() && std::equal(role.begin(), role.end(), parts.body.begin())) {
    parts.head.insert(parts.head.end(), role.begin(), role.end());
    parts.body.erase(parts.body.begin(), parts.body.begin() + std::ptrdiff_t(role.size()));
  }
  parts.tail.push_back(*end);
  append("\n", parts.tail);
  parts.tail.push_back(*start);
  append("assistant\n", parts.tail);
  return parts;
}

PromptParts raw_prompt(const Tokenizer& tokenizer, std::string_view text) {
  PromptParts parts;
  if (tokenizer.adds_bos() && tokenizer.bos()) parts.head.push_back(*tokenizer.bos());
  parts.body = tokenizer.encode(text, Specials::kAsTokens);
  return parts;
}

size_t shorten(PromptParts& parts, int max_seq, int room) {
  const size_t limit = size_t(std::max(1, max_seq - room));
  if (parts.size() <= limit) return 0;
  const size_t gone = std::min(parts.size() - limit, parts.body.size());
  parts.body.erase(parts.body.begin(), parts.body.begin() + std::ptrdiff_t(gone));
  return gone;
}

}  // namespace anedvd
