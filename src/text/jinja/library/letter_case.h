// Upper, lower and title case of texts, and what kind of letter a character is, by Unicode (utf8proc) and with Python's special cases.
#pragma once

#include "text/jinja/text.h"

namespace anedvd::jinja {

enum class LetterCase : uint8_t { kUpper, kLower, kFold, kSwap, kCapitalize, kTitle };

void append_case(TextBuilder& out, const Text& text, LetterCase how);
// The `title` filter: a new word starts only behind white space and -({[<, so "it's" stays one word.
void append_title_filter(TextBuilder& out, const Text& text);

bool is_upper(char32_t code);
bool is_lower(char32_t code);
bool is_title(char32_t code);
bool is_letter(char32_t code);
bool is_decimal(char32_t code);  // Nd
bool is_digit(char32_t code);    // Nd and superscripts, circled digits
bool is_numeric(char32_t code);  // N*

}  // namespace anedvd::jinja
