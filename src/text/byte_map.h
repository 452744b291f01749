// The byte alphabet of byte-level BPE (GPT-2): each byte is written as one visible character in vocabulary texts.
//
// Bytes ! … ~, ¡ … ¬ and ® … ÿ stand for themselves; the 68 others become U+0100, U+0101, … in byte order.
// So a space is Ġ (U+0120) and a line feed Ċ (U+010A).
#pragma once

#include <string>
#include <string_view>

namespace anedvd {

// The character that stands for a byte.
char32_t byte_to_mapped(unsigned char byte);

// Appends text in the alphabet, one character a byte: " a" → "Ġa".
void append_mapped(std::string_view bytes, std::string& out);

// Appends the bytes that a vocabulary text stands for. A text with any character outside the alphabet stands for its own bytes.
void append_unmapped(std::string_view mapped, std::string& out);

}  // namespace anedvd
