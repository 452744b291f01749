// Values as text: Python's str, repr and json.dumps.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "text/jinja/value.h"

namespace anedvd::jinja {

// Python's repr of a float: the shortest digits that read back, 1e16 and up or below 1e-4 with an exponent, always a point or exponent.
std::string float_words(double value);

// repr of a str: single quotes unless the text has one and no double one; what does not print becomes an escape.
void append_string_repr(std::string& out, std::string_view text);

struct JsonOptions {
  bool ensure_ascii = false;
  bool has_indent = false;
  std::string indent;  // of one level
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool sort_keys = false;
};

// json.dumps. The text counts as the user's if any string in it is.
Result<Value> to_json(Evaluator& evaluator, const Value& value, const JsonOptions& options);

// Python's printable characters.
bool is_printable(char32_t code);

// <, >, &, ' and " as HTML entities.
void append_escaped(TextBuilder& out, const Text& text);

}  // namespace anedvd::jinja
