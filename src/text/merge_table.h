// The merges of a BPE vocabulary and the algorithm that applies them.
//
// A word is a list of tokens; the neighbouring pair with the lowest rank (leftmost on ties) becomes one token, until no pair is in the
// table. Short words are merged by scanning; long ones with a heap over a linked list, so that a word of n tokens costs O(n log n):
// a prompt of 200,000 equal letters is one word.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "text/tokenizer.h"

namespace anedvd {

class MergeTable {
 public:
  struct Merge {
    uint32_t rank = UINT32_MAX;  // UINT32_MAX: not a merge
    Token token = -1;            // what the pair becomes
  };

  // Room for `merges` entries. Call add() for each, then only const functions.
  void reserve(size_t merges);
  // Of repeated pairs the first counts.
  void add(Token left, Token right, uint32_t rank, Token result);

  Merge find(Token left, Token right) const;

  // Merges `tokens` in place, from position `start` to the end.
  void apply(std::vector<Token>& tokens, size_t start) const;

  size_t size() const { return count_; }

 private:
  void apply_scanning(std::vector<Token>& tokens, size_t start) const;
  void apply_with_heap(std::vector<Token>& tokens, size_t start) const;

  struct Slot {
    uint64_t pair = UINT64_MAX;  // left << 32 | right; UINT64_MAX: free
    uint32_t rank = 0;
    Token token = -1;
  };
  std::vector<Slot> slots_;
  uint64_t mask_ = 0;
  size_t count_ = 0;
};

}  // namespace anedvd
