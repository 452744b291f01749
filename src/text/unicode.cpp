#include "text/unicode.h"

#include <utf8proc.h>

namespace anedvd {
namespace {

bool is_wide_space(char32_t code) {  // White_Space above ASCII: PropList.txt
  switch (code) {
    case 0x85:
    case 0xA0:
    case 0x1680:
    case 0x2028:
    case 0x2029:
    case 0x202F:
    case 0x205F:
    case 0x3000: return true;
    default: return code >= 0x2000 && code <= 0x200A;
  }
}

ClassMask category_classes(utf8proc_category_t category) {
  switch (category) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LT: return kUpperLetter;
    case UTF8PROC_CATEGORY_LL: return kLowerLetter;
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO: return kOtherLetter;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME: return kMark;
    case UTF8PROC_CATEGORY_ND: return kDecimal;
    case UTF8PROC_CATEGORY_NL: return kOtherNumber | kLetterNumber;
    case UTF8PROC_CATEGORY_NO: return kOtherNumber;
    case UTF8PROC_CATEGORY_PC: return kPunctuation | kConnector;
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO: return kPunctuation;
    case UTF8PROC_CATEGORY_SM:
    case UTF8PROC_CATEGORY_SC:
    case UTF8PROC_CATEGORY_SK:
    case UTF8PROC_CATEGORY_SO: return kSymbol;
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO: return kControlCode;
    default: return 0;
  }
}

constexpr std::array<ClassMask, 128> ascii_classes() {
  std::array<ClassMask, 128> table{};
  for (unsigned c = 0; c < 128; ++c) {
    const char byte = static_cast<char>(c);
    ClassMask mask = 0;
    if (byte >= 'A' && byte <= 'Z') {
      mask = kUpperLetter | kAsciiLetter;
    } else if (byte >= 'a' && byte <= 'z') {
      mask = kLowerLetter | kAsciiLetter;
    } else if (byte >= '0' && byte <= '9') {
      mask = kDecimal | kAsciiDigit;
    } else if (c < 0x20 || c == 0x7F) {
      mask = kControlCode;
    } else if (c != ' ') {
      mask = kAsciiPunct;
      const bool symbol = std::string_view("$+<=>^~|`").find(byte) != std::string_view::npos;
      mask |= symbol ? kSymbol : kPunctuation;
      if (symbol) mask |= byte == '`' ? kBacktick : kAsciiSymbol;
      if (byte == '/') mask |= kSlash;
      if (byte == '_') mask |= kConnector;
    }
    if (c == ' ' || (c >= 9 && c <= 13)) mask |= kSpace;
    if (c == ' ') mask |= kPlainSpace;
    if (c == '\r' || c == '\n') mask |= kNewline;
    table[c] = mask;
  }
  return table;
}

}  // namespace

namespace unicode_detail {

constexpr std::array<ClassMask, 128> kAsciiClasses = ascii_classes();

Char wide_char_at(std::string_view text, size_t at) {
  const uint32_t length = utf8_length(text, at);
  if (length == 0) return {0xFFFD, kBroken, 1};
  char32_t code = static_cast<unsigned char>(text[at]) & (0x7Fu >> length);
  for (uint32_t i = 1; i < length; ++i) code = code << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3Fu);
  return {code, classes_of(code), length};
}

}  // namespace unicode_detail

uint32_t utf8_length(std::string_view text, size_t at) {
  if (at >= text.size()) return 0;
  const auto byte = [&](size_t i) -> unsigned {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
  };
  const auto follows = [&](size_t i, unsigned low, unsigned high) { return byte(i) >= low && byte(i) <= high; };
  const unsigned first = byte(0);
  // Table 3-7 of the Unicode standard: which second bytes keep a sequence well-formed.
  if (first < 0x80) return 1;
  if (first < 0xC2) return 0;
  if (first < 0xE0) return follows(1, 0x80, 0xBF) ? 2 : 0;
  if (first < 0xF0) {
    const unsigned low = first == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = first == 0xED ? 0x9F : 0xBF;
    return follows(1, low, high) && follows(2, 0x80, 0xBF) ? 3 : 0;
  }
  if (first > 0xF4) return 0;
  const unsigned low = first == 0xF0 ? 0x90 : 0x80;
  const unsigned high = first == 0xF4 ? 0x8F : 0xBF;
  return follows(1, low, high) && follows(2, 0x80, 0xBF) && follows(3, 0x80, 0xBF) ? 4 : 0;
}

void append_utf8(char32_t code, std::string& out) {
  const auto push = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    push(code);
  } else if (code < 0x800) {
    push(0xC0 | code >> 6);
    push(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    push(0xE0 | code >> 12);
    push(0x80 | (code >> 6 & 0x3F));
    push(0x80 | (code & 0x3F));
  } else {
    push(0xF0 | code >> 18);
    push(0x80 | (code >> 12 & 0x3F));
    push(0x80 | (code >> 6 & 0x3F));
    push(0x80 | (code & 0x3F));
  }
}

ClassMask classes_of(char32_t code) {
  if (code < 0x80) return unicode_detail::kAsciiClasses[code];
  const ClassMask mask = category_classes(utf8proc_category(static_cast<utf8proc_int32_t>(code)));
  return is_wide_space(code) ? mask | kSpace : mask;
}

}  // namespace anedvd
