#include "text/jinja/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <utf8proc.h>

#include "base/words.h"
#include "text/jinja/text.h"

namespace anedvd::jinja {
namespace {

constexpr std::array<std::string_view, 26> kOperators = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                                         "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                                         ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  Lexer(std::string_view source, size_t& error_offset) : source_(source), error_offset_(error_offset) {}

  Result<std::vector<Token>> run() {
    while (position_ < source_.size()) ANEDVD_TRY_VOID(read_text_and_tag());
    tokens_.push_back({TokenKind::kEnd, static_cast<uint32_t>(source_.size()), "", 0, 0});
    return std::move(tokens_);
  }

 private:
  template <class... Args>
  tl::unexpected<Error> error_at(size_t offset, fmt::format_string<Args...> format, Args&&... args) {
    error_offset_ = offset;
    return fail(ErrorCode::kBadFile, format, std::forward<Args>(args)...);
  }

  char at(size_t i) const { return i < source_.size() ? source_[i] : '\0'; }
  bool looking_at(size_t i, std::string_view text) const {
    return source_.substr(std::min(i, source_.size()), text.size()) == text;
  }

  void push(TokenKind kind, size_t offset, std::string text = {}) {
    tokens_.push_back({kind, static_cast<uint32_t>(offset), std::move(text), 0, 0});
  }

  // Everything after a tag starts here: remembers whether the tag ended a line, which decides if lstrip may act on what follows.
  void set_position(size_t position) {
    line_starting_ = position > 0 && source_[position - 1] == '\n';
    position_ = position;
  }

  // The text before a tag, with what the tag's sign or lstrip_blocks takes away at its end.
  void push_data(size_t begin, size_t end, char sign, bool is_variable) {
    std::string_view text = source_.substr(begin, end - begin);
    if (sign == '-') {
      text = text.substr(0, trim_space_end(text, text.size()));
    } else if (sign != '+' && !is_variable) {
      const size_t newline = text.rfind('\n');
      const size_t line = newline == std::string_view::npos ? 0 : newline + 1;
      const bool at_line_start = line > 0 || line_starting_;
      if (at_line_start && skip_space(text, line) == text.size()) text = text.substr(0, line);
    }
    if (!text.empty()) push(TokenKind::kData, begin, std::string(text));
  }

  char sign_at(size_t i) const { return at(i) == '-' || at(i) == '+' ? at(i) : '\0'; }

  Result<> read_text_and_tag() {
    const size_t begin = position_;
    size_t tag = begin;
    for (;; ++tag) {
      tag = source_.find('{', tag);
      if (tag == std::string_view::npos) {
        push(TokenKind::kData, begin, std::string(source_.substr(begin)));
        position_ = source_.size();
        return {};
      }
      if (at(tag + 1) == '%' || at(tag + 1) == '{' || at(tag + 1) == '#') break;
    }
    const char sign = sign_at(tag + 2);
    const size_t inside = tag + 2 + (sign ? 1 : 0);
    push_data(begin, tag, sign, at(tag + 1) == '{');
    if (at(tag + 1) == '#') return skip_comment(tag, inside);
    if (at(tag + 1) == '{') return read_tag(tag, inside, TokenKind::kVariableBegin);
    if (const size_t body = raw_body(inside)) return read_raw(tag, body);
    return read_tag(tag, inside, TokenKind::kBlockBegin);
  }

  // Where a {# or %} ends, given the position of its closing mark's first character (perhaps a sign): past what it strips.
  size_t after_close(size_t mark, std::string_view close) const {
    if (at(mark) == '-') return skip_space(source_, mark + 1 + close.size());
    if (at(mark) == '+') return mark + 1 + close.size();
    const size_t end = mark + close.size();
    return at(end) == '\n' ? end + 1 : end;
  }

  Result<> skip_comment(size_t tag, size_t inside) {
    size_t close = source_.find("#}", inside);
    if (close == std::string_view::npos) return error_at(tag, "a comment is not closed; #}} is missing");
    const bool has_sign = close > inside && (at(close - 1) == '-' || at(close - 1) == '+');
    set_position(after_close(close - (has_sign ? 1 : 0), "#}"));
    return {};
  }

  // If the tag is {% raw %}: where its body begins, else 0.
  size_t raw_body(size_t inside) const {
    size_t i = skip_space(source_, inside);
    if (!looking_at(i, "raw")) return 0;
    i = skip_space(source_, i + 3);
    if (looking_at(i, "-%}")) return skip_space(source_, i + 3);
    return looking_at(i, "%}") ? i + 2 : 0;
  }

  Result<> read_raw(size_t tag, size_t body) {
    set_position(body);
    for (size_t i = source_.find("{%", body); i != std::string_view::npos; i = source_.find("{%", i + 1)) {
      const char sign = sign_at(i + 2);
      size_t word = skip_space(source_, i + 2 + (sign ? 1 : 0));
      if (!looking_at(word, "endraw")) continue;
      word = skip_space(source_, word + 6);
      const size_t close = word + (at(word) == '-' || at(word) == '+' ? 1 : 0);
      if (!looking_at(close, "%}")) continue;
      push_data(body, i, sign, false);
      set_position(after_close(word, "%}"));
      return {};
    }
    return error_at(tag, "a raw block is not closed; {{% endraw %}} is missing");
  }

  Result<> read_tag(size_t tag, size_t inside, TokenKind begin) {
    const bool is_block = begin == TokenKind::kBlockBegin;
    const std::string_view close = is_block ? "%}" : "}}";
    push(begin, tag);
    brackets_.clear();
    position_ = inside;
    while (position_ < source_.size()) {
      if (brackets_.empty()) {
        const char sign = at(position_);
        const bool has_sign = sign == '-' || (sign == '+' && is_block);
        if (looking_at(position_ + (has_sign ? 1 : 0), close)) {
          push(is_block ? TokenKind::kBlockEnd : TokenKind::kVariableEnd, position_);
          if (is_block) {
            set_position(after_close(position_, close));
          } else {
            set_position(has_sign ? skip_space(source_, position_ + 3) : position_ + 2);
          }
          return {};
        }
      }
      ANEDVD_TRY_VOID(read_token());
    }
    return error_at(tag, "this tag is not closed; {} is missing", close);
  }

  Result<> read_token() {
    const size_t begin = position_;
    const size_t after_space = skip_space(source_, begin);
    if (after_space > begin) {
      position_ = after_space;
      return {};
    }
    const char c = at(begin);
    if (is_digit(c)) return read_number();
    if (c == '\'' || c == '"') return read_string();
    if (const size_t end = name_end(begin); end > begin) {
      push(TokenKind::kName, begin, std::string(source_.substr(begin, end - begin)));
      position_ = end;
      return {};
    }
    for (const std::string_view op : kOperators) {
      if (!looking_at(begin, op)) continue;
      ANEDVD_TRY_VOID(balance(op, begin));
      push(TokenKind::kOperator, begin, std::string(op));
      position_ = begin + op.size();
      return {};
    }
    return error_at(begin, "unexpected character '{}'",
                    visible(source_.substr(begin, character_at(source_, begin).size)));
  }

  Result<> balance(std::string_view op, size_t offset) {
    if (op == "(" || op == "[" || op == "{") {
      brackets_ += op == "(" ? ')' : op == "[" ? ']' : '}';
    } else if (op == ")" || op == "]" || op == "}") {
      if (brackets_.empty()) return error_at(offset, "unexpected '{}'", op);
      if (brackets_.back() != op[0]) return error_at(offset, "unexpected '{}', expected '{}'", op, brackets_.back());
      brackets_.pop_back();
    }
    return {};
  }

  // The end of the name that starts at `begin`, or `begin`. Beyond ASCII: letters, marks, numbers and connectors, as in Python.
  size_t name_end(size_t begin) const {
    size_t i = begin;
    while (i < source_.size()) {
      const Character c = character_at(source_, i);
      if (!c.valid) break;
      if (c.code < 0x80) {
        const char a = static_cast<char>(c.code);
        if (!(is_digit(a) || a == '_' || (a >= 'a' && a <= 'z') || (a >= 'A' && a <= 'Z'))) break;
      } else {
        const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c.code));
        const bool word =
            (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NL) || category == UTF8PROC_CATEGORY_PC;
        if (!word) break;
      }
      i += c.size;
    }
    return i;
  }

  // Digits with single underscores between them; the position behind, or `begin`.
  size_t digits_end(size_t begin) const {
    size_t i = begin;
    while (is_digit(at(i))) {
      ++i;
      if (at(i) == '_' && is_digit(at(i + 1))) ++i;
    }
    return i;
  }

  Result<> read_number() {
    const size_t begin = position_;
    size_t end = digits_end(begin);
    const size_t whole_end = end;
    bool is_float = false;
    if (begin == 0 || at(begin - 1) != '.') {
      if (at(end) == '.' && is_digit(at(end + 1))) {
        end = digits_end(end + 1);
        is_float = true;
      }
      if (at(end) == 'e' || at(end) == 'E') {
        const size_t digits = end + 1 + (at(end + 1) == '+' || at(end + 1) == '-' ? 1 : 0);
        if (is_digit(at(digits))) {
          end = digits_end(digits);
          is_float = true;
        }
      }
    }
    if (!is_float) return read_integer(begin, whole_end);
    const std::string digits = without_underscores(begin, end);
    double value = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (read.ec != std::errc()) return error_at(begin, "the number {} is out of range", visible(digits, 40));
    push(TokenKind::kFloat, begin);
    tokens_.back().real = value;
    position_ = end;
    return {};
  }

  std::string without_underscores(size_t begin, size_t end) const {
    std::string digits(source_.substr(begin, end - begin));
    std::erase(digits, '_');
    return digits;
  }

  Result<> read_integer(size_t begin, size_t end) {
    int base = 10;
    size_t first = begin;
    if (at(begin) == '0') {
      const char mark = static_cast<char>(at(begin + 1) | 0x20);
      const int other = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 10;
      size_t stop = begin + 2;
      const auto in_base = [&](char c) {
        const char low = static_cast<char>(c | 0x20);
        return other == 16 ? is_digit(c) || (low >= 'a' && low <= 'f') : c >= '0' && c < '0' + other;
      };
      if (other != 10) {
        while (in_base(at(stop)) || (at(stop) == '_' && in_base(at(stop + 1)))) ++stop;
      }
      if (other != 10 && stop > begin + 2) {
        base = other;
        first = begin + 2;
        end = stop;
      } else {  // "0" alone: 012 is 0 and then 12, which the parser refuses
        end = begin + 1;
        while (at(end) == '0' || (at(end) == '_' && at(end + 1) == '0')) ++end;
      }
    }
    const std::string digits = without_underscores(first, end);
    int64_t value = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (read.ec != std::errc()) return error_at(begin, "the number {} does not fit 64 bits", visible(digits, 40));
    push(TokenKind::kInteger, begin);
    tokens_.back().integer = value;
    position_ = end;
    return {};
  }

  Result<> read_string() {
    const size_t begin = position_;
    const char quote = at(begin);
    std::string value;
    size_t i = begin + 1;
    while (i < source_.size() && at(i) != quote) {
      if (at(i) != '\\') {
        value += at(i++);
        continue;
      }
      if (i + 1 >= source_.size()) break;
      ANEDVD_TRY(i, read_escape(i, value));
    }
    if (i >= source_.size()) return error_at(begin, "this string is not closed; {} is missing", quote);
    push(TokenKind::kString, begin, std::move(value));
    position_ = i + 1;
    return {};
  }

  // One escape at `i` (a backslash with something behind it), as Python reads it in a str literal. Returns the position behind.
  Result<size_t> read_escape(size_t i, std::string& value) {
    const char c = at(i + 1);
    constexpr std::string_view kFrom = "abfnrtv\\'\"", kTo = "\a\b\f\n\r\t\v\\'\"";
    if (const size_t known = kFrom.find(c); known != std::string_view::npos) {
      value += kTo[known];
      return i + 2;
    }
    if (c == '\n') return i + 2;
    if (c >= '0' && c <= '7') {
      size_t end = i + 1;
      char32_t code = 0;
      for (; end < i + 4 && at(end) >= '0' && at(end) <= '7'; ++end)
        code = code * 8 + static_cast<char32_t>(at(end) - '0');
      append_utf8(value, code);
      return end;
    }
    const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (c == 'N') return error_at(i, "\\N{{name}} is not supported; write \\u and the number");
    if (digits == 0) {
      value += '\\';
      return i + 1;
    }
    uint32_t code = 0;
    const std::string_view hex = source_.substr(i + 2, digits);
    const auto read = std::from_chars(hex.data(), hex.data() + hex.size(), code, 16);
    if (hex.size() != digits || read.ec != std::errc() || read.ptr != hex.data() + hex.size()) {
      return error_at(i, "\\{} needs {} hexadecimal digits", c, digits);
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return error_at(i, "\\{}{} is no character", c, hex);
    append_utf8(value, code);
    return i + 2 + digits;
  }

  std::string_view source_;
  size_t& error_offset_;
  size_t position_ = 0;
  bool line_starting_ = true;
  std::string brackets_;  // what must close, innermost last
  std::vector<Token> tokens_;
};

}  // namespace

std::string place_words(std::string_view source, size_t offset) {
  const std::string_view before = source.substr(0, std::min(offset, source.size()));
  const size_t newline = before.rfind('\n');
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t start = newline == std::string_view::npos ? 0 : newline + 1;
  return fmt::format("line {}, column {}", line, 1 + count_characters(before.substr(start)));
}

std::string normalise_source(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
    } else if (i + 1 == source.size() || source[i + 1] != '\n') {
      out += '\n';
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

Result<std::vector<Token>> tokenize(std::string_view source, size_t& error_offset) {
  return Lexer(source, error_offset).run();
}

}  // namespace anedvd::jinja
