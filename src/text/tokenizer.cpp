#include "text/tokenizer.h"

namespace anedvd {

std::string text_of(const Tokenizer& tokenizer, std::span<const Token> ids, bool with_control) {
  std::string text;
  size_t i = 0;
  // Control tokens that are not shown stand before the text.
  for (; i < ids.size() && text.empty(); ++i) tokenizer.append_bytes(ids[i], text, with_control);
  if (tokenizer.drops_first_space() && text.starts_with(' ')) text.erase(0, 1);
  for (; i < ids.size(); ++i) tokenizer.append_bytes(ids[i], text, with_control);
  return text;
}

void add_bos(const Tokenizer& tokenizer, std::vector<Token>& ids) {
  const std::optional<Token> bos = tokenizer.bos();
  if (tokenizer.adds_bos() && bos && (ids.empty() || ids.front() != *bos)) ids.insert(ids.begin(), *bos);
}

}  // namespace anedvd
