// The page table of one sequence: grows by need, gives back what is cut off, starts from pages that others computed.
#pragma once

#include <span>
#include <vector>

#include "kv/page_pool.h"

namespace anedvd {

class SequenceCache {
 public:
  explicit SequenceCache(PagePool& pool) : pool_(&pool) {}
  SequenceCache(SequenceCache&&) = default;
  SequenceCache(const SequenceCache&) = delete;
  SequenceCache& operator=(const SequenceCache&) = delete;

  // Makes room for positions 0 … tokens − 1. On kNoMemory what was there stays.
  Result<> reserve(int tokens);

  // Keeps the pages that positions below `tokens` need.
  void truncate(int tokens);

  // Further pages, whole ones that are only read from here on.
  void append_shared(PageHandle page);

  // Page `i` is given up for one with the same contents.
  void replace(size_t i, const PageHandle& page);

  // A page of its own behind the others, with the contents of `from`: for a beginning of it.
  Result<> append_copy(const PageHandle& from);

  std::span<uint16_t* const> pages() const { return table_; }
  std::span<const PageHandle> handles() const { return handles_; }

 private:
  PagePool* pool_;
  std::vector<PageHandle> handles_;
  std::vector<uint16_t*> table_;  // what the handles hold
};

}  // namespace anedvd
