// The page table of one sequence: grows by need, gives back what is cut off.
#pragma once

#include <span>
#include <vector>

#include "kv/page_pool.h"

namespace anedvd {

class SequenceCache {
 public:
  explicit SequenceCache(PagePool& pool) : pool_(pool) {}
  ~SequenceCache() { truncate(0); }
  SequenceCache(const SequenceCache&) = delete;
  SequenceCache& operator=(const SequenceCache&) = delete;

  // Makes room for positions 0 … tokens − 1. On kNoMemory what was there stays.
  Result<> reserve(int tokens);

  // Keeps the pages that positions below `tokens` need.
  void truncate(int tokens);

  std::span<uint16_t* const> pages() const { return pages_; }

 private:
  PagePool& pool_;
  std::vector<uint16_t*> pages_;
};

}  // namespace anedvd
