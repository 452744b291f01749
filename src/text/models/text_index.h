// A hash table over a list of texts, made for being built fast: a quarter to half a million entries before the first token is out.
//
// Slots are 32 bits wide: the entry's number and, in the bits that are left, a tag of its hash, so that other entries' texts are seldom
// read. Building hashes a block of texts ahead and fetches their slots together, since each lies in another cache line.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace anedvd {

// A 64-bit hash of bytes. Look-ups compare the texts, so collisions cost time only.
uint64_t hash_bytes(std::string_view bytes);

class TextIndex {
 public:
  // Indexes entries 0 … count − 1 (count < 2³¹); text_of(i) gives their texts, which are not kept.
  template <class TextOf>
  void build(size_t count, const TextOf& text_of) {
    slots_.assign(std::bit_ceil(std::max<size_t>(count * 2, 16)), 0);
    mask_ = slots_.size() - 1;
    number_bits_ = static_cast<uint32_t>(std::bit_width(count));
    constexpr size_t kBlock = 32;
    std::array<uint64_t, kBlock> hashes;
    for (size_t first = 0; first < count; first += kBlock) {
      const size_t block = std::min(kBlock, count - first);
      for (size_t i = 0; i < block; ++i) {
        hashes[i] = hash_bytes(text_of(first + i));
        __builtin_prefetch(&slots_[hashes[i] & mask_], 1);
      }
      for (size_t i = 0; i < block; ++i) insert(hashes[i], first + i);
    }
  }

  // The first entry in build order for which is_it(entry) holds among those with the text's hash, or npos.
  template <class IsIt>
  size_t find(std::string_view text, const IsIt& is_it) const {
    if (slots_.empty()) return npos;
    const uint64_t hash = hash_bytes(text);
    for (uint64_t at = hash & mask_; slots_[at] != 0; at = (at + 1) & mask_) {
      if ((slots_[at] ^ tag_of(hash)) >> number_bits_ != 0) continue;
      const size_t entry = (slots_[at] & ((1u << number_bits_) - 1)) - 1;
      if (is_it(entry)) return entry;
    }
    return npos;
  }

  static constexpr size_t npos = SIZE_MAX;

 private:
  // Bits above those of the entry's number.
  uint32_t tag_of(uint64_t hash) const { return static_cast<uint32_t>(hash >> 32) & ~((1u << number_bits_) - 1); }

  // Equal texts stay in build order: a later one lands further along.
  void insert(uint64_t hash, size_t entry) {
    uint64_t at = hash & mask_;
    while (slots_[at] != 0) at = (at + 1) & mask_;
    slots_[at] = tag_of(hash) | static_cast<uint32_t>(entry + 1);
  }

  std::vector<uint32_t> slots_;  // 0: free, else tag | entry + 1
  uint64_t mask_ = 0;
  uint32_t number_bits_ = 0;
};

}  // namespace anedvd
