// Locales and character classes: only "C" exists here.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <cwchar>

#include <locale.h>

#include "imports.h"

namespace machrun {
namespace {

// struct _RuneLocale up to the three tables of the first 256 characters (<runetype.h>).
struct RuneLocale {
  char magic[8], encoding[32];
  void *to_rune, *to_bytes;
  uint32_t invalid;
  uint32_t types[256];
  int32_t lower[256], upper[256];
  char rest[4096];
};
RuneLocale runes;

int lower_of(int c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; }
int upper_of(int c) { return c >= 'a' && c <= 'z' ? c - 32 : c; }
int lower_l(int c, void*) { return lower_of(c); }
int upper_l(int c, void*) { return upper_of(c); }

// Bits of <_ctype.h>.
uint32_t type_of(int c) {
  constexpr uint32_t kAlpha = 0x100, kControl = 0x200, kDigit = 0x400, kGraph = 0x800, kLower = 0x1000, kPunct = 0x2000,
                     kSpace = 0x4000, kUpper = 0x8000, kHex = 0x10000, kBlank = 0x20000, kPrint = 0x40000;
  if (c > 127) return 0;
  const bool lower = c >= 'a' && c <= 'z', upper = c >= 'A' && c <= 'Z', digit = c >= '0' && c <= '9';
  uint32_t out = 0;
  if (lower || upper) out |= kAlpha | kGraph | kPrint | (lower ? kLower : kUpper);
  if (digit) out |= kDigit | kGraph | kPrint | kHex;
  if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')) out |= kHex;
  if (c < 32 || c == 127) out |= kControl;
  if (c == ' ' || (c >= 9 && c <= 13)) out |= kSpace;
  if (c == ' ' || c == '\t') out |= kBlank;
  if (c == ' ') out |= kPrint;
  if (c > 32 && c < 127 && !lower && !upper && !digit) out |= kPunct | kGraph | kPrint;
  return out;
}

int mask_rune(int c, unsigned long mask) { return c >= 0 && c < 256 ? int(runes.types[c] & mask) : 0; }
int mask_rune_l(int c, unsigned long mask, void*) { return mask_rune(c, mask); }

void* new_locale(int, const char* name, void*) {
  if (name != nullptr && *name != '\0' && std::strcmp(name, "C") != 0 && std::strcmp(name, "POSIX") != 0)
    return nullptr;
  return ::newlocale(LC_ALL_MASK, "C", nullptr);
}
int free_locale(void*) { return 0; }
void* use_locale(void*) { return nullptr; }
void* locale_facts(void*) { return ::localeconv(); }
int bytes_a_character(void*) { return 1; }

size_t time_l(char* out, size_t bytes, const char* format, const tm* when, void*) {
  return std::strftime(out, bytes, format, when);
}
double to_double_l(const char* text, char** end, void*) { return std::strtod(text, end); }
float to_float_l(const char* text, char** end, void*) { return std::strtof(text, end); }
// long double has 64 bits there.
double to_long_double(const char* text, char** end) { return std::strtod(text, end); }
double to_long_double_l(const char* text, char** end, void*) { return std::strtod(text, end); }

size_t length_l(const char* text, size_t bytes, mbstate_t*, void*) { return std::mbrlen(text, bytes, nullptr); }
size_t to_wide_l(wchar_t* out, const char* text, size_t bytes, void*, void*) {
  return std::mbrtowc(out, text, bytes, nullptr);
}
size_t to_wides_l(wchar_t* out, const char** text, size_t bytes, size_t count, void*, void*) {
  return ::mbsnrtowcs(out, text, bytes, count, nullptr);
}
size_t to_wides_all_l(wchar_t* out, const char** text, size_t count, void*, void*) {
  return std::mbsrtowcs(out, text, count, nullptr);
}
int one_wide_l(wchar_t* out, const char* text, size_t bytes, void*) { return std::mbtowc(out, text, bytes); }
size_t from_wide_l(char* out, wchar_t wide, void*, void*) { return std::wcrtomb(out, wide, nullptr); }
size_t from_wides_l(char* out, const wchar_t** wide, size_t count, size_t bytes, void*, void*) {
  return ::wcsnrtombs(out, wide, count, bytes, nullptr);
}

}  // namespace

void add_text(Table& table) {
  for (int c = 0; c < 256; ++c) {
    runes.types[c] = type_of(c);
    runes.lower[c] = lower_of(c);
    runes.upper[c] = upper_of(c);
  }
  table["__DefaultRuneLocale"] = &runes;
  put(table, "___maskrune", mask_rune);
  put(table, "___maskrune_l", mask_rune_l);
  put(table, "___toupper", upper_of);
  put(table, "___tolower", lower_of);
  put(table, "____toupper_l", upper_l);
  put(table, "____tolower_l", lower_l);
  put(table, "____mb_cur_max_l", bytes_a_character);
  put(table, "_newlocale", new_locale);
  put(table, "_freelocale", free_locale);
  put(table, "_uselocale", use_locale);
  put(table, "_localeconv_l", locale_facts);
  put(table, "_strftime_l", time_l);
  put(table, "_strtod_l", to_double_l);
  put(table, "_strtof_l", to_float_l);
  put(table, "_strtold", to_long_double);
  put(table, "_strtold_l", to_long_double_l);
  put(table, "_mbrlen_l", length_l);
  put(table, "_mbrtowc_l", to_wide_l);
  put(table, "_mbsnrtowcs_l", to_wides_l);
  put(table, "_mbsrtowcs_l", to_wides_all_l);
  put(table, "_mbtowc_l", one_wide_l);
  put(table, "_wcrtomb_l", from_wide_l);
  put(table, "_wcsnrtombs_l", from_wides_l);
}

}  // namespace machrun
