// Template source to tokens, with the white-space rules of trim_blocks and lstrip_blocks.
//
//   Hello {%- if x %}⏎  world     →   data "Hello" · block{ if x }block · data "  world"
//
// Line ends become \n first and one at the very end goes, as Jinja does. A tag's brackets must balance before %} or }} ends it, so
// {{ {'a': {}} }} works. Reads the grammar of Jinja 3.1 (jinja2.lexer); line statements do not exist here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace anedvd::jinja {

enum class TokenKind : uint8_t {
  kData,
  kVariableBegin,
  kVariableEnd,
  kBlockBegin,
  kBlockEnd,
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEnd
};

struct Token {
  TokenKind kind;
  uint32_t offset;   // byte in the normalised source
  std::string text;  // data; name; a string's value; the operator
  int64_t integer = 0;
  double real = 0;

  bool is(std::string_view op) const { return kind == TokenKind::kOperator && text == op; }
  bool is_name(std::string_view name) const { return kind == TokenKind::kName && text == name; }
};

constexpr size_t kMaxSourceBytes = size_t{4} << 20;  // the largest real template is 30 KB

// "line 3, column 7" of a byte of the source; columns count characters.
std::string place_words(std::string_view source, size_t offset);

// The source with its line ends made \n and one trailing line end dropped: what offsets refer to.
std::string normalise_source(std::string_view source);

// All tokens of a normalised source, kEnd last. Errors carry no place; `error_offset` receives it.
Result<std::vector<Token>> tokenize(std::string_view source, size_t& error_offset);

}  // namespace anedvd::jinja
