// The merges of a BPE vocabulary: pairs of tokens in one flat hash table.
#pragma once

#include <cstdint>
#include <vector>

#include "text/merge_symbols.h"
#include "text/tokenizer.h"

namespace anedvd {

class MergeTable {
 public:
  // Room for `merges` entries. Call add() for at most so many, then only const functions.
  void reserve(size_t merges);
  // Of repeated pairs the first counts.
  void add(Token left, Token right, uint32_t rank, Token result);

  // rank == kNoMerge: the pair is no merge.
  Joined<Token> find(Token left, Token right) const;

  // Merges `tokens` in place, from position `start` to the end.
  void apply(std::vector<Token>& tokens, size_t start) const;

 private:
  struct Slot {
    uint64_t pair = UINT64_MAX;  // left << 32 | right; UINT64_MAX: free
    uint32_t rank = 0;
    Token token = -1;
  };
  std::vector<Slot> slots_;
  uint64_t mask_ = 0;
};

}  // namespace anedvd
