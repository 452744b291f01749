// Code points and what the pre-tokenizers need to know of them: UTF-8 decoding that accepts any bytes, and classes as bits.
//
// A byte that does not belong to well-formed UTF-8 (overlong forms, surrogates, values above U+10FFFF, cut sequences) is a character
// of its own, one byte long and in no class, so nothing is ever lost or replaced on the way to the byte tokens.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace anedvd {

using ClassMask = uint32_t;

// General categories are those of utf8proc; kSpace is the White_Space property.
constexpr ClassMask kUpperLetter = 1u << 0;  // Lu Lt
constexpr ClassMask kLowerLetter = 1u << 1;  // Ll
constexpr ClassMask kOtherLetter = 1u << 2;  // Lm Lo
constexpr ClassMask kMark = 1u << 3;         // Mn Mc Me
constexpr ClassMask kDecimal = 1u << 4;      // Nd
constexpr ClassMask kOtherNumber = 1u << 5;  // Nl No
constexpr ClassMask kPunctuation = 1u << 6;  // Pc Pd Ps Pe Pi Pf Po
constexpr ClassMask kSymbol = 1u << 7;       // Sm Sc Sk So
constexpr ClassMask kSpace = 1u << 8;
constexpr ClassMask kNewline = 1u << 9;       // CR LF only
constexpr ClassMask kSlash = 1u << 10;        // /
constexpr ClassMask kPlainSpace = 1u << 11;   // U+0020 only
constexpr ClassMask kAsciiLetter = 1u << 12;  // A-Z a-z
constexpr ClassMask kAsciiDigit = 1u << 13;   // 0-9
constexpr ClassMask kAsciiPunct = 1u << 14;   // !-/ :-@ [-` {-~
constexpr ClassMask kAsciiSymbol = 1u << 15;  // $ + < = > ^ ~ | (what \p{P} leaves out of ASCII, but for the backtick)
constexpr ClassMask kBacktick = 1u << 16;
constexpr ClassMask kConnector = 1u << 17;     // Pc, which \w counts as a word character
constexpr ClassMask kControlCode = 1u << 18;   // Cc Cf Co Cs
constexpr ClassMask kLetterNumber = 1u << 20;  // Nl, beside kOtherNumber
constexpr ClassMask kBroken = 1u << 19;        // a byte that is no part of well-formed UTF-8

constexpr ClassMask kLetter = kUpperLetter | kLowerLetter | kOtherLetter;
constexpr ClassMask kNumber = kDecimal | kOtherNumber;

struct Char {
  char32_t code = 0;      // for a broken byte: U+FFFD
  ClassMask classes = 0;  // 0 at the end of the text and for unassigned code points
  uint32_t bytes = 0;     // 0 only at the end of the text
};

namespace unicode_detail {
extern const std::array<ClassMask, 128> kAsciiClasses;
Char wide_char_at(std::string_view text, size_t at);
}  // namespace unicode_detail

// The character that starts at byte `at`; bytes == 0 when `at` is the end.
inline Char char_at(std::string_view text, size_t at) {
  if (at >= text.size()) return {};
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte < 0x80) return {byte, unicode_detail::kAsciiClasses[byte], 1};
  return unicode_detail::wide_char_at(text, at);
}

// Length of the well-formed sequence that starts at `at` (1–4), or 0 if there is none.
uint32_t utf8_length(std::string_view text, size_t at);

// Appends a code point (≤ U+10FFFF, no surrogate) as UTF-8.
void append_utf8(char32_t code, std::string& out);

// Classes of any code point.
ClassMask classes_of(char32_t code);

}  // namespace anedvd
