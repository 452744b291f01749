// SentencePiece's precompiled character map: which byte sequences a normalizer replaces by which.
//
//   [u32 bytes of the trie][trie: a double array of u32 units][replacement strings, each ended by a zero byte]
//
// At each place the longest sequence in the trie is replaced; other characters stay. A broken byte becomes U+FFFD.
// Trie units are those of darts-clone: bit 31 marks a value, bits 0–7 the label, bit 8 "has a value child", bits 10–30 the offset,
// which bit 9 scales by 256.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace anedvd {

class Charsmap {
 public:
  // kBadFile: sizes that do not fit, replacements without an end. An empty map changes nothing but broken bytes.
  static Result<Charsmap> parse(std::string bytes, std::string_view where);

  std::string apply(std::string_view text) const;

  struct Replacement {
    size_t length = 0;      // bytes of the text that it replaces; 0: none
    std::string_view text;  // borrowed from the map
  };
  // The longest entry at byte `at`.
  Replacement find(std::string_view text, size_t at) const;

 private:
  std::vector<uint32_t> units_;
  std::string texts_;
};

}  // namespace anedvd
