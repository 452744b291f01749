#include "text/byte_map.h"

#include <array>
#include <cstdint>

#include "text/unicode.h"

namespace anedvd {
namespace {

constexpr char32_t kFirstStandIn = 0x100;
constexpr int kStandIns = 68;

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Tables {
  std::array<uint16_t, 256> to_mapped{};
  std::array<int16_t, kFirstStandIn + kStandIns> to_byte{};  // -1: not in the alphabet
};

constexpr Tables make_tables() {
  Tables tables;
  for (auto& byte : tables.to_byte) byte = -1;
  uint16_t next = kFirstStandIn;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const uint16_t mapped = stands_for_itself(byte) ? static_cast<uint16_t>(byte) : next++;
    tables.to_mapped[byte] = mapped;
    tables.to_byte[mapped] = static_cast<int16_t>(byte);
  }
  return tables;
}

constexpr Tables kTables = make_tables();
static_assert(kTables.to_mapped[' '] == 0x120 && kTables.to_mapped['\n'] == 0x10A && kTables.to_byte.back() == 0xAD);

// The byte that the character at `at` stands for (-1: none); `length` becomes the character's size.
int unmapped_at(std::string_view text, size_t at, uint32_t& length) {
  const auto first = static_cast<unsigned char>(text[at]);
  length = 1;
  if (first < 0x80) return kTables.to_byte[first];
  // All other characters of the alphabet (U+00A1 … U+0143) are two bytes long.
  if (first < 0xC2 || first > 0xC5 || at + 1 >= text.size()) return -1;
  const auto second = static_cast<unsigned char>(text[at + 1]);
  if ((second & 0xC0) != 0x80) return -1;
  length = 2;
  const size_t code = (first & 0x1Fu) << 6 | (second & 0x3Fu);
  return code < kTables.to_byte.size() ? kTables.to_byte[code] : -1;
}

}  // namespace

char32_t byte_to_mapped(unsigned char byte) { return kTables.to_mapped[byte]; }

void append_mapped(std::string_view bytes, std::string& out) {
  for (const char byte : bytes) append_utf8(byte_to_mapped(static_cast<unsigned char>(byte)), out);
}

void append_unmapped(std::string_view mapped, std::string& out) {
  const size_t start = out.size();
  uint32_t length = 0;
  for (size_t at = 0; at < mapped.size(); at += length) {
    const int byte = unmapped_at(mapped, at, length);
    if (byte < 0) {
      out.resize(start);
      out.append(mapped);
      return;
    }
    out.push_back(static_cast<char>(byte));
  }
}

}  // namespace anedvd
