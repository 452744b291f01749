#include "ane/sim/mil_lexer.h"

#include "base/words.h"

namespace anedvd::sim {
namespace {

constexpr size_t kMaxWord = 512;  // real names and numbers stay below 80

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Length of the number at the start: decimal or hexadecimal, with fraction and exponent. 0: none.
size_t number_length(std::string_view text) {
  size_t i = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  if (i >= text.size() || (!is_digit(text[i]) && text[i] != '.')) return 0;
  const bool is_hex = text.substr(i).starts_with("0x") || text.substr(i).starts_with("0X");
  if (is_hex) i += 2;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_exponent = is_hex ? (c == 'p' || c == 'P') : (c == 'e' || c == 'E');
    if (is_exponent && i + 1 < text.size() && (text[i + 1] == '-' || text[i + 1] == '+')) {
      ++i;
      continue;
    }
    const bool is_hex_digit = is_hex && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'));
    if (!is_digit(c) && c != '.' && !is_exponent && !is_hex_digit) break;
  }
  return i;
}

}  // namespace

void MilLexer::skip_space() {
  for (; at_ < source_.size(); ++at_) {
    const char c = source_[at_];
    if (c == '\n') ++line_;
    if (c != ' ' && c != '\n' && c != '\t' && c != '\r') return;
  }
}

Result<Token> MilLexer::take(TokenKind kind, size_t length) {
  if (length > kMaxWord) return fail(ErrorCode::kBadFile, "line {}: a word of {} bytes", line_, length);
  const Token token{kind, source_.substr(at_, length)};
  at_ += length;
  return token;
}

Result<Token> MilLexer::next() {
  skip_space();
  if (at_ == source_.size()) return Token{};
  const std::string_view rest = source_.substr(at_);
  if (rest.starts_with("->")) return take(TokenKind::kPunctuation, 2);
  if (is_letter(rest[0])) {
    size_t length = 1;
    while (length < rest.size() && (is_letter(rest[length]) || is_digit(rest[length]) || rest[length] == '.')) ++length;
    return take(TokenKind::kName, length);
  }
  if (const size_t length = number_length(rest); length > 0) return take(TokenKind::kNumber, length);
  if (rest[0] == '"') {
    const size_t end = rest.find_first_of("\"\\\n", 1);
    if (end == std::string_view::npos || rest[end] != '"')
      return fail(ErrorCode::kBadFile, "line {}: a string without an end, or with a backslash", line_);
    ++at_;
    ANEDVD_TRY(const Token token, take(TokenKind::kString, end - 1));
    ++at_;
    return token;
  }
  if (std::string_view("()[]{}<>,;=").find(rest[0]) != std::string_view::npos) return take(TokenKind::kPunctuation, 1);
  return fail(ErrorCode::kBadFile, "line {}: unexpected \"{}\"", line_, visible(rest.substr(0, 1)));
}

}  // namespace anedvd::sim
