// Words of MIL text.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace anedvd::sim {

enum class TokenKind { kName, kNumber, kString, kPunctuation, kEnd };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;  // within the source; of a string what stands between the quotes; "->" is one
};

class MilLexer {
 public:
  explicit MilLexer(std::string_view source) : source_(source) {}

  // The next token. Error (kBadFile): a byte that starts none, a string without an end, a name or number that is too long.
  Result<Token> next();

  int line() const { return line_; }

 private:
  void skip_space();
  Result<Token> take(TokenKind kind, size_t length);

  std::string_view source_;
  size_t at_ = 0;
  int line_ = 1;
};

}  // namespace anedvd::sim
