#include "text/bert_normalizer.h"

#include <utf8proc.h>

#include "text/normalize.h"
#include "text/unicode.h"

namespace anedvd {
namespace {

// CJK ideographs as BERT's basic tokenizer lists them; the fifth range starts at 2B920 there (it should be 2B820), and models were
// trained so.
bool is_ideograph(char32_t code) {
  return (code >= 0x4E00 && code <= 0x9FFF) || (code >= 0x3400 && code <= 0x4DBF) ||
         (code >= 0x20000 && code <= 0x2A6DF) || (code >= 0x2A700 && code <= 0x2B73F) ||
         (code >= 0x2B740 && code <= 0x2B81F) || (code >= 0x2B920 && code <= 0x2CEAF) ||
         (code >= 0xF900 && code <= 0xFAFF) || (code >= 0x2F800 && code <= 0x2FA1F);
}

bool is_nonspacing_mark(char32_t code) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code)) == UTF8PROC_CATEGORY_MN;
}

bool is_punctuation(const Char& c) { return (c.classes & (kPunctuation | kAsciiPunct)) != 0; }

// Applies edit(character, its bytes, out) to each character.
template <class Edit>
std::string edited(std::string_view text, Edit&& edit) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Char c = char_at(text, at);
    edit(c, text.substr(at, c.bytes), out);
    at += c.bytes;
  }
  return out;
}

std::string cleaned(std::string_view text) {
  return edited(text, [](const Char& c, std::string_view bytes, std::string& out) {
    // Tab and line ends are control characters that count as white space; vertical tab and form feed are dropped first.
    const bool line = c.code == '\t' || c.code == '\n' || c.code == '\r';
    if (c.code == 0 || c.code == 0xFFFD || (!line && c.classes & kControlCode)) return;
    if (c.classes & kSpace) {
      out.push_back(' ');
    } else {
      out.append(bytes);
    }
  });
}

// Without nonspacing marks (Mn).
std::string without_marks(std::string_view text) {
  return edited(text, [](const Char& c, std::string_view bytes, std::string& out) {
    if (c.code < 0x80 || !is_nonspacing_mark(c.code)) out.append(bytes);
  });
}

}  // namespace

std::string lower_cased(std::string_view text) {
  return edited(text, [](const Char& c, std::string_view bytes, std::string& out) {
    if (c.classes & kBroken) {
      out.append(bytes);
    } else if (c.code == 0x130) {
      out.append("i\u0307");
    } else {
      append_utf8(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c.code))), out);
    }
  });
}

std::string BertNormalizer::apply(std::string_view text) const {
  std::string out = clean_text ? cleaned(text) : std::string(text);
  if (split_ideographs) {
    out = edited(out, [](const Char& c, std::string_view bytes, std::string& to) {
      const bool alone = is_ideograph(c.code);
      if (alone) to.push_back(' ');
      to.append(bytes);
      if (alone) to.push_back(' ');
    });
  }
  if (strip_accents && !surely_normal(out, NormalForm::kNfd)) out = without_marks(normalize(out, NormalForm::kNfd));
  if (lowercase) out = lower_cased(out);
  return out;
}

std::vector<std::string_view> bert_words(std::string_view text) {
  std::vector<std::string_view> words;
  size_t start = 0;
  const auto finish = [&](size_t end) {
    if (end > start) words.push_back(text.substr(start, end - start));
  };
  for (size_t at = 0; at < text.size();) {
    const Char c = char_at(text, at);
    const bool space = (c.classes & kSpace) != 0;
    if (space || is_punctuation(c)) {
      finish(at);
      if (!space) words.push_back(text.substr(at, c.bytes));
      start = at + c.bytes;
    }
    at += c.bytes;
  }
  finish(text.size());
  return words;
}

}  // namespace anedvd
