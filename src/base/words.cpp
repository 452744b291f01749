#include "base/words.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/core.h>

namespace anedvd {

std::string with_commas(int64_t value) {
  std::string digits = fmt::format("{}", value);
  const size_t first = value < 0 ? 1 : 0;
  for (size_t i = digits.size(); i > first + 3;) {
    i -= 3;
    digits.insert(i, ",");
  }
  return digits;
}

std::string size_words(uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  const double value = double(bytes);
  if (value < 999.95e3) return fmt::format("{:.1f} kB", value / 1e3);
  if (value < 999.95e6) return fmt::format("{:.1f} MB", value / 1e6);
  if (value < 999.95e9) return fmt::format("{:.1f} GB", value / 1e9);
  if (value < 999.95e12) return fmt::format("{:.1f} TB", value / 1e12);
  return fmt::format("{} TB", with_commas(std::llround(value / 1e12)));
}

std::string three_digits(double value) {
  if (!std::isfinite(value)) return "–";
  const double magnitude = std::fabs(value);
  if (magnitude >= 99.95) return with_commas(std::llround(value));
  if (magnitude >= 9.995) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

std::string perplexity_words(double value) {
  if (!std::isfinite(value)) return "–";
  return std::fabs(value) < 999.99995 ? fmt::format("{:.4f}", value) : with_commas(std::llround(value));
}

std::string error_words(double value) {
  if (value == 0) return "0";
  std::string words = fmt::format("{:.2e}", value);
  // No leading zeros and no plus in the exponent, of which C writes at least two digits.
  const size_t exponent = words.find('e');
  if (exponent == std::string::npos) return words;  // inf
  const size_t first = std::min(words.find_first_not_of("+-0", exponent + 1), words.size() - 1);
  return words.substr(0, exponent + 1) + (words[exponent + 1] == '-' ? "-" : "") + words.substr(first);
}

std::string count_words(int64_t count, std::string_view one) {
  return fmt::format("{} {}{}", with_commas(count), one, count == 1 ? "" : "s");
}

std::string duration_words(double seconds) {
  if (!std::isfinite(seconds)) return "–";
  if (seconds < 999.5e-6) return fmt::format("{} µs", three_digits(seconds * 1e6));
  if (seconds < 99.95e-3) return fmt::format("{} ms", three_digits(seconds * 1e3));
  if (seconds < 59.95) return fmt::format("{} s", three_digits(seconds));
  const int64_t whole = std::llround(seconds);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

namespace {

// Length of the well-formed UTF-8 sequence at the start of `text`, its code point in *cp; 0 if there is none.
size_t decode_utf8(std::string_view text, uint32_t* cp) {
  const auto byte = [&](size_t i) { return i < text.size() ? uint8_t(text[i]) : uint8_t(0); };
  const uint8_t lead = byte(0);
  const size_t length = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 0;
  if (length == 0 || lead > 0xf4 || length > text.size()) return 0;
  if (length == 1) {
    *cp = lead;
    return 1;
  }
  uint32_t value = lead & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    value = (value << 6) | (byte(i) & 0x3fu);
  }
  const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < smallest[length] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return 0;
  *cp = value;
  return length;
}

bool is_invisible(uint32_t cp) {
  return cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || cp == 0x200e || cp == 0x200f || (cp >= 0x202a && cp <= 0x202e) ||
         (cp >= 0x2028 && cp <= 0x2029) || (cp >= 0x2066 && cp <= 0x2069) || cp == 0xfeff;
}

}  // namespace

std::string visible(std::string_view text, size_t max_bytes) {
  std::string out;
  while (!text.empty()) {
    if (out.size() >= max_bytes) return out + "…";
    uint32_t cp = 0;
    const size_t length = decode_utf8(text, &cp);
    if (length == 0) {
      out += fmt::format("\\x{:02x}", uint8_t(text[0]));
      text.remove_prefix(1);
      continue;
    }
    if (!is_invisible(cp)) {
      out += text.substr(0, length);
    } else if (cp == '\n') {
      out += "\\n";
    } else if (cp == '\t') {
      out += "\\t";
    } else if (cp == '\r') {
      out += "\\r";
    } else {
      out += cp < 0x100 ? fmt::format("\\x{:02x}", cp) : fmt::format("\\u{:04x}", cp);
    }
    text.remove_prefix(length);
  }
  return out;
}

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  std::string best;
  size_t best_distance = 3;  // within edit distance 2
  for (const std::string& candidate : candidates) {
    // One row of the Levenshtein table at a time.
    std::vector<size_t> row(candidate.size() + 1);
    for (size_t j = 0; j <= candidate.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= word.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j <= candidate.size(); ++j) {
        const size_t substituted = diagonal + (word[i - 1] == candidate[j - 1] ? 0 : 1);
        diagonal = row[j];
        row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

}  // namespace anedvd
