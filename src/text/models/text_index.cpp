#include "text/models/text_index.h"

#include <cstring>

namespace anedvd {
namespace {

template <class Word>
uint64_t read(const char* at) {
  Word word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Both halves of the product (the step that wyhash is built of).
uint64_t fold(uint64_t x, uint64_t y) {
  const auto product = static_cast<unsigned __int128>(x) * y;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace

uint64_t hash_bytes(std::string_view bytes) {
  constexpr uint64_t kA = 0x9E3779B97F4A7C15u;
  constexpr uint64_t kB = 0xE7037ED1A0B428DBu;
  const char* at = bytes.data();
  const size_t size = bytes.size();
  // Texts are short: up to 16 bytes are read as two words that may overlap, so there is no loop and no tail.
  if (size <= 16) {
    uint64_t low = 0;
    uint64_t high = 0;
    if (size >= 8) {
      low = read<uint64_t>(at);
      high = read<uint64_t>(at + size - 8);
    } else if (size >= 4) {
      low = read<uint32_t>(at);
      high = read<uint32_t>(at + size - 4);
    } else if (size > 0) {
      low = static_cast<unsigned char>(at[0]);
      high = static_cast<uint64_t>(static_cast<unsigned char>(at[size / 2])) << 8 |
             static_cast<unsigned char>(at[size - 1]);
    }
    return fold(fold(low ^ kA, high ^ kB) ^ size, kA);
  }
  uint64_t hash = kA ^ size;
  for (size_t i = 0; i + 8 < size; i += 8) hash = fold(hash ^ read<uint64_t>(at + i), kB);
  return fold(hash ^ read<uint64_t>(at + size - 8), kA);
}

}  // namespace anedvd
