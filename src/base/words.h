// Numbers and foreign text the way anedvd shows them to a person, the same everywhere: 1,234 · 98.3 MB · 131 tok/s · `\x1b[31m`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace anedvd {

// 1234567 → "1,234,567".
std::string with_commas(int64_t value);

// Bytes in powers of ten: 98342912 → "98.3 MB", 512 → "512 B", 4900000000 → "4.9 GB".
std::string size_words(uint64_t bytes);

// Three significant digits, commas above 999: 0.82, 9.51, 131, "1,430". Not a number is "–".
std::string three_digits(double value);

// A perplexity: four decimals, from 1,000 on commas instead: 15.2931, "33,815,522". Not a number is "–".
std::string perplexity_words(double value);

// An error with three significant digits: "3.55e-4", "0" for none.
std::string error_words(double value);

// "1 thread", "2,048 threads".
std::string count_words(int64_t count, std::string_view one);

// A duration in the unit that gives one to three digits before the point: "234 µs", "4.1 ms", "0.31 s", "12.9 s", "1:04".
std::string duration_words(double seconds);

// Text of unknown origin made safe for a terminal: control characters, broken UTF-8 and bidirectional controls become visible escapes
// (\n, \x1b, \u202e). At most max_bytes bytes are shown, then "…".
std::string visible(std::string_view text, size_t max_bytes = 200);

// The entry nearest to `word` within edit distance 2, or "": for "did you mean".
std::string nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace anedvd
