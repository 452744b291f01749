#include "text/jinja/library/letter_case.h"

#include <algorithm>
#include <array>

#include <utf8proc.h>

namespace anedvd::jinja {
namespace {

struct Expansion {
  char32_t from;
  std::string_view upper, title;
};

// The letters whose capital is more than one character (Unicode SpecialCasing.txt; the common ones).
constexpr std::array<Expansion, 8> kExpansions = {{{0xDF, "SS", "Ss"},
                                                   {0x149, "\u02BCN", "\u02BCN"},
                                                   {0x1F0, "J\u030C", "J\u030C"},
                                                   {0xFB00, "FF", "Ff"},
                                                   {0xFB01, "FI", "Fi"},
                                                   {0xFB02, "FL", "Fl"},
                                                   {0xFB03, "FFI", "Ffi"},
                                                   {0xFB04, "FFL", "Ffl"}}};

utf8proc_int32_t as_utf8proc(char32_t code) { return static_cast<utf8proc_int32_t>(code); }
auto category(char32_t code) { return utf8proc_category(as_utf8proc(code)); }
bool is_cased(char32_t code) { return is_upper(code) || is_lower(code) || is_title(code); }

void append_upper(TextBuilder& out, char32_t code, Trust trust, bool title) {
  const auto* row =
      std::find_if(kExpansions.begin(), kExpansions.end(), [&](const Expansion& e) { return e.from == code; });
  if (row != kExpansions.end()) return out.append(title ? row->title : row->upper, trust);
  out.append_code_point(
      static_cast<char32_t>(title ? utf8proc_totitle(as_utf8proc(code)) : utf8proc_toupper(as_utf8proc(code))), trust);
}

// Σ at the end of a word becomes ς (Unicode's Final_Sigma, without its skipping of apostrophes).
char32_t lower_sigma(std::string_view bytes, size_t begin, bool after_letter) {
  const size_t next = begin + 2;
  const bool before_letter = next < bytes.size() && is_cased(character_at(bytes, next).code);
  return after_letter && !before_letter ? 0x3C2 : 0x3C3;
}

}  // namespace

bool is_upper(char32_t code) {
  return code < 0x80 ? code >= 'A' && code <= 'Z'
                     : category(code) == UTF8PROC_CATEGORY_LU || (code >= 0x2160 && code <= 0x216F);
}
bool is_lower(char32_t code) {
  if (code < 0x80) return code >= 'a' && code <= 'z';
  return category(code) == UTF8PROC_CATEGORY_LL || code == 0xAA || code == 0xBA || (code >= 0x2170 && code <= 0x217F);
}
bool is_title(char32_t code) { return code >= 0x80 && category(code) == UTF8PROC_CATEGORY_LT; }
bool is_letter(char32_t code) {
  return code < 0x80 ? is_upper(code) || is_lower(code)
                     : category(code) >= UTF8PROC_CATEGORY_LU && category(code) <= UTF8PROC_CATEGORY_LO;
}
bool is_decimal(char32_t code) {
  return code < 0x80 ? code >= '0' && code <= '9' : category(code) == UTF8PROC_CATEGORY_ND;
}
bool is_digit(char32_t code) {
  const bool superscript =
      code == 0xB2 || code == 0xB3 || code == 0xB9 || code == 0x2070 || (code >= 0x2074 && code <= 0x2079);
  return is_decimal(code) || superscript || (code >= 0x2080 && code <= 0x2089) || (code >= 0x2460 && code <= 0x2468);
}
bool is_numeric(char32_t code) {
  return is_digit(code) ||
         (code >= 0x80 && category(code) >= UTF8PROC_CATEGORY_ND && category(code) <= UTF8PROC_CATEGORY_NO);
}

void append_case(TextBuilder& out, const Text& text, LetterCase how) {
  bool after_letter = false;
  size_t run = 0;
  for (size_t i = 0; i < text.bytes.size();) {
    const Character c = character_at(text.bytes, i);
    while (run < text.runs.size() && text.runs[run].end <= i) ++run;
    const Trust trust = text.runs.empty() ? text.trust : text.runs[run].trust;
    const bool first = how == LetterCase::kTitle ? !after_letter : i == 0;
    const bool to_upper = how == LetterCase::kUpper || (how == LetterCase::kSwap && is_lower(c.code)) ||
                          ((how == LetterCase::kCapitalize || how == LetterCase::kTitle) && first);
    const bool to_lower = !to_upper && (how != LetterCase::kSwap || is_upper(c.code));
    if (!c.valid) {
      out.append(std::string_view(text.bytes).substr(i, c.size), trust);
    } else if (to_upper) {
      append_upper(out, c.code, trust, how == LetterCase::kCapitalize || how == LetterCase::kTitle);
    } else if (!to_lower) {
      out.append_code_point(c.code, trust);
    } else if (how == LetterCase::kFold && c.code == 0xDF) {
      out.append("ss", trust);
    } else if (c.code == 0x3A3) {
      out.append_code_point(how == LetterCase::kFold ? 0x3C3 : lower_sigma(text.bytes, i, after_letter), trust);
    } else if (c.code == 0x130) {
      out.append("i\u0307", trust);
    } else {
      out.append_code_point(static_cast<char32_t>(utf8proc_tolower(as_utf8proc(c.code))), trust);
    }
    after_letter = is_cased(c.code);
    i += c.size;
  }
}

void append_title_filter(TextBuilder& out, const Text& text) {
  constexpr std::string_view kStarts = "-({[<";
  size_t word = 0;
  const std::string_view bytes = text.bytes;
  const auto end_word = [&](size_t end) {
    if (end == word) return;
    TextBuilder part;
    part.append(text, word, end);
    append_case(out, part.finish(), LetterCase::kCapitalize);
  };
  for (size_t i = 0; i < bytes.size();) {
    const Character c = character_at(bytes, i);
    const bool divides = (c.valid && is_space(c.code)) ||
                         (c.code < 0x80 && kStarts.find(static_cast<char>(c.code)) != std::string_view::npos);
    if (divides) {
      end_word(i);
      out.append(text, i, i + c.size);
      word = i + c.size;
    }
    i += c.size;
  }
  end_word(bytes.size());
}

}  // namespace anedvd::jinja
